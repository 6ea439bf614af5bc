#pragma once

#include <cstdint>

#include "sim/exec/matrix_type.h"

namespace bulkhead::sim {

constexpr int kMostRows = 32, kMostColumns = 256;
constexpr int kMostTerms = 32;  ///< products that one element of a result sums up in floats
constexpr int kMostDepth = 64;  ///< rows of B among which they choose

/// A float as a tensor core takes it: the exponent as written, which for subnormal numbers is the least one.
struct TensorNumber {
    float value = 0;
    std::int16_t exponent = 0;  ///< kNoExponent for zero, kSpecialExponent for infinities and NaNs
};
constexpr std::int16_t kNoExponent = -10000, kSpecialExponent = 10000;

TensorNumber tensorNumber(MatrixType, std::uint32_t bits);
/// The same number with the exponent that it has in a wider format: subnormal ones become normal.
TensorNumber normalized(TensorNumber);

/// How sums are formed: all products and the accumulator are aligned to the largest exponent, cut off so many bits
/// behind its point, added exactly, and the sum is cut off (f32) or rounded to the nearest (f16).
struct TensorSum {
    int fractionBits = 25;
    int resultBits = 23;  ///< of an f32 result's fraction, the rest being zeros
};

/// D = A B + C in floats. A's rows hold terms, each of which multiplies a row of B.
class TensorProduct {
  public:
    /// So many rows of D with so many terms each, columns of D, and rows of B.
    void resize(int rows, int columns, int depth, int terms) {
        rows_ = rows;
        columns_ = columns;
        depth_ = depth;
        terms_ = terms;
    }

    void setA(int row, int term, TensorNumber number, int depth) {
        aValue_[row][term] = number.value;
        aExponent_[row][term] = number.exponent;
        aDepth_[row][term] = static_cast<std::uint8_t>(depth);
    }
    void setB(int depth, int column, TensorNumber number) {
        bValue_[depth][column] = number.value;
        bExponent_[depth][column] = number.exponent;
    }
    /// Once A is set, and before multiply.
    void prepareA();
    /// The same of B.
    void prepareB();

    /// Bits of f32 (or of f16, in 32-bit words) in and out: `of` the elements of a row, one after the other.
    void multiplyRow(int row, const std::uint32_t* c, std::uint32_t* d, const TensorSum&, bool half) const;

  private:
    void multiplyRowByBlocks(int row, const std::uint32_t* c, std::uint32_t* d, const TensorSum&, bool half) const;
    void multiplyRowWide(int row, const std::uint32_t* c, std::uint32_t* d, const TensorSum&, bool half) const;
    bool multiplyBlock(int row, int column, const std::uint32_t* c, std::uint32_t* d, const TensorSum&,
                       bool half) const;
    std::uint32_t slowElement(int row, int column, std::uint32_t c, const TensorSum&, bool half) const;

    int rows_ = 0, columns_ = 0, depth_ = 0, terms_ = 0;
    bool tameA_ = false, tameB_ = false;  ///< no infinities, no NaNs, and exponents whose sums f32 can scale by
    alignas(64) float aValue_[kMostRows][kMostTerms];
    alignas(64) std::int16_t aExponent_[kMostRows][kMostTerms];
    std::uint8_t aDepth_[kMostRows][kMostTerms];
    alignas(64) float bValue_[kMostDepth][kMostColumns];
    alignas(64) std::int16_t bExponent_[kMostDepth][kMostColumns];
};

}  // namespace bulkhead::sim
