#pragma once

#include <cstdint>
#include <span>

#include "sim/exec/matrix_elements.h"

namespace bulkhead::sim {

constexpr int kMostTerms = 32;         ///< elements of a row of A, of floats
constexpr int kMostFactorsDepth = 64;  ///< rows of B among which they choose

/// How sums are formed: all products and the accumulator are aligned to the largest exponent, cut off so many bits
/// behind its point, added exactly, and the sum is cut off (f32) or rounded to the nearest (f16).
struct TensorSum {
    int fractionBits = 25;
    int resultBits = 23;  ///< of an f32 result's fraction, the rest being zeros
};

/// How a matrix is taken.
struct TensorFactor {
    MatrixType type{};
    bool negates = false;
    bool widens = false;  ///< as a wider format has it, where none of its numbers is subnormal
};

/// D = A B + C in floats. A row of A has elements, each of which multiplies a row of B.
class TensorProduct {
  public:
    /// So many rows of D, stored elements of each of A's, columns of D, and rows of B.
    void resize(int rows, int stored, int columns, int depth) {
        rows_ = rows;
        stored_ = stored;
        columns_ = columns;
        depth_ = depth;
    }

    /// Elements that the caller has put there; what lies behind a row's last may be overwritten.
    void setA(MatrixElements&, const TensorFactor&);
    void setB(const MatrixElements&, const TensorFactor&);
    /// Which row of B an element of A multiplies.
    void setDepth(int row, int stored, int depth) { aDepth_[row][stored] = static_cast<std::uint8_t>(depth); }

    using Terms = std::span<const std::uint8_t>;
    /// Adds the products of these elements of A's rows to sums, which are bits of f32, or of f16.
    void multiply(Terms, std::uint32_t (*sums)[kMostColumns], const TensorSum&, bool half) const;

  private:
    bool multiplyBlock(int row, Terms, int column, std::uint32_t* sums, const TensorSum&, bool half) const;
    std::uint32_t slowElement(int row, Terms, int column, std::uint32_t c, const TensorSum&, bool half) const;

    int rows_ = 0, stored_ = 0, columns_ = 0, depth_ = 0;
    bool tameA_ = false, tameB_ = false;  ///< no infinities, no NaNs, and exponents whose sums f32 can scale by
    // Exponents are as written, which for subnormal numbers is the least one.
    alignas(64) float aValue_[kMostRows][kMostTerms];
    alignas(64) std::int16_t aExponent_[kMostRows][kMostTerms];
    std::uint8_t aDepth_[kMostRows][kMostTerms];
    alignas(64) float bValue_[kMostFactorsDepth][kMostColumns];
    alignas(64) std::int16_t bExponent_[kMostFactorsDepth][kMostColumns];
};

}  // namespace bulkhead::sim
