#pragma once

#include <bit>
#include <cstdint>

#include "arch/device_profile.h"

namespace bulkhead::sim {

/// Which set of L1D a line falls into: by the low bits of its number, or by the XOR of every group of as many bits, so
/// that what differs anywhere in the address differs in the set.
///
/// Sets that are no power of two are rows of 2^k: the fold of k bits chooses within a row, and the rest of the number,
/// to which its own quotient by the rows is added as a fold would, modulo the number of rows chooses the row. Any lines
/// from a multiple of the number of sets on, as many as there are sets, have a set each.
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
        const std::uint32_t within = bits_ == 0 ? 0 : folded(number);
        if (rows_ == 1) return within;
        const std::uint64_t rest = number >> bits_;
        return static_cast<std::uint32_t>((rest + rest / rows_) % rows_) << bits_ | within;
    }

  private:
    /// Half of the groups onto the other half, until one is left.
    std::uint32_t folded(std::uint64_t number) const {
        for (unsigned shift = widest_; shift > bits_; shift /= 2) number ^= number >> shift;
        return static_cast<std::uint32_t>(number ^ number >> bits_) & mask_;
    }

    std::uint32_t sets_, rows_, mask_;
    unsigned lineShift_, bits_, widest_ = 0;  ///< of a group, of half of the groups
    bool linear_;
};

}  // namespace bulkhead::sim
