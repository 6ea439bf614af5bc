#pragma once

#include <cstdint>
#include <vector>

#include "sim/exec/matrix_type.h"
#include "sim/exec/program.h"

namespace bulkhead::sim {

constexpr int kMostRows = 32, kMostColumns = 256;
constexpr int kMostDepth = 128;  ///< elements of a row of A that are stored, or rows of B

/// Elements of A and B of one instruction as they are written, each in a word of its own.
struct MatrixElements {
    alignas(64) std::uint32_t a[kMostRows][kMostDepth];
    alignas(64) std::uint32_t b[kMostDepth][kMostColumns];
};

/// Of a warpgroup's D a warp has these rows.
inline int rowsOf(const MatrixSite& site) {
    return site.ofWarpgroup ? 16 : site.m;
}

/// A: stored elements are all of them, or half of a sparse row.
void readA(const Instr&, Warp&, const MatrixSite&, MatrixElements&);
void readB(const Instr&, Warp&, const MatrixSite&, MatrixElements&);

/// What B of the last product was. The four warps of a warpgroup come one after the other and have the same: it need
/// not be taken apart again.
class KnownB {
  public:
    void forget() { isKnown_ = false; }
    /// Whether it is that of the product before; it is this from now on.
    bool isSame(const Instr&, Warp&, const MatrixSite&, bool widens);

  private:
    struct Form {
        MatrixType type;
        std::uint16_t columns, depth;
        bool isTransposed, negates, widens;
        bool operator==(const Form&) const = default;
    };
    bool isKnown_ = false;
    Form form_{};
    std::vector<std::uint8_t> bytes_, next_;
};

}  // namespace bulkhead::sim
