#pragma once

#include <cstdint>

namespace bulkhead::sim {

/// A matrix of wgmma in shared memory, as its descriptor gives it: pieces of 16 bytes along the depth, or, transposed,
/// along rows of A and columns of B. Where pieces lie is what the PTX ISA calls the canonical layouts.
class MatrixOperand {
  public:
    explicit MatrixOperand(std::uint64_t descriptor)
        : start_(static_cast<std::uint32_t>(descriptor & 0x3fff) << 4),
          leading_(static_cast<std::uint32_t>(descriptor >> 16 & 0x3fff) << 4),
          stride_(static_cast<std::uint32_t>(descriptor >> 32 & 0x3fff) << 4),
          swizzle_(static_cast<Swizzle>(descriptor >> 62)) {}

    /// Where the 16 bytes lie that hold element `across` (a row of A, a column of B) at bytes 16 * piece of its depth.
    std::uint32_t alongDepth(unsigned across, unsigned piece) const {
        const std::uint32_t group = start_ + across / 8 * stride_;
        if (swizzle_ == Swizzle::none) return group + across % 8 * 16 + piece * leading_;
        return swizzled(group + across % 8 * width() + piece * 16);
    }
    /// Transposed: where the 16 bytes lie that hold elements 8 * piece ... of `depth`.
    std::uint32_t acrossDepth(unsigned depth, unsigned piece) const {
        if (swizzle_ == Swizzle::none) return start_ + piece * stride_ + depth / 8 * leading_ + depth % 8 * 16;
        const unsigned pieces = width() / 16;
        return swizzled(start_ + piece / pieces * leading_ + piece % pieces * 16 + depth / 8 * stride_ +
                        depth % 8 * width());
    }

  private:
    enum class Swizzle : std::uint8_t { none, bytes128, bytes64, bytes32 };
    unsigned width() const { return 256u >> static_cast<unsigned>(swizzle_); }
    /// Eight rows of a pattern's width take turns: some bits of the row's number are added to those of the piece.
    std::uint32_t swizzled(std::uint32_t address) const {
        const std::uint32_t mask = (width() / 16 - 1) << 4;
        return address ^ (address >> 3 & mask);
    }

    std::uint32_t start_, leading_, stride_;
    Swizzle swizzle_;
};

}  // namespace bulkhead::sim
