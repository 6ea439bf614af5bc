#pragma once

#include <bit>
#include <cstdint>

#include "arch/device_profile.h"

namespace bulkhead::sim {

/// Which set of L1D a line falls into: by the low bits of its number, or by the XOR of every group of as many bits, so
/// that what differs anywhere in the address differs in the set.
///
/// Sets that are no power of two are an odd number of rows of 2^k: a line's number modulo the rows chooses the row, and
/// the fold of the quotient within it. Distances that are powers of two, as between rows of a matrix, fill all sets,
/// and so do lines one after the other.
class SetIndex {
  public:
    using Hash = arch::DeviceProfile::SetHash;

    SetIndex(Hash hash, std::uint64_t lineBytes, std::uint32_t sets)
        : sets_(sets),
          rows_(hash == Hash::linear || sets == 0 ? 1 : sets >> std::countr_zero(sets)),
          mask_(sets / rows_ - 1),
          lineShift_(static_cast<unsigned>(std::countr_zero(lineBytes))),
          bits_(hash == Hash::linear ? 0 : static_cast<unsigned>(std::popcount(mask_))),
          linear_(hash == Hash::linear) {
        if (bits_ == 0) return;
        for (widest_ = bits_; 2 * widest_ < 64; widest_ *= 2) {
        }
    }

    std::uint32_t of(std::uint64_t line) const {
        const std::uint64_t number = line >> lineShift_;
        if (linear_) return static_cast<std::uint32_t>(number % sets_);
        if (rows_ == 1) return folded(number);
        return static_cast<std::uint32_t>(number % rows_) << bits_ | folded(number / rows_);
    }

  private:
    /// Half of the groups onto the other half, until one is left.
    std::uint32_t folded(std::uint64_t number) const {
        if (bits_ == 0) return 0;
        for (unsigned shift = widest_; shift > bits_; shift /= 2) number ^= number >> shift;
        return static_cast<std::uint32_t>(number ^ number >> bits_) & mask_;
    }

    std::uint32_t sets_, rows_, mask_;
    unsigned lineShift_, bits_, widest_ = 0;  ///< of a group, of half of the groups
    bool linear_;
};

}  // namespace bulkhead::sim
