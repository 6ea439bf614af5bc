#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/device_profile.h"
#include "base/units.h"

namespace bulkhead::sim {

/// What executes an SM's instructions, of each kind some. One takes an instruction, and the next some cycles later.
class FunctionalUnits {
  public:
    explicit FunctionalUnits(const std::array<std::size_t, arch::kUnits>& counts) {
        for (std::size_t kind = 0; kind < arch::kUnits; ++kind) free_[kind].assign(counts[kind], 0);
    }

    std::size_t count(unsigned kind) const { return free_[kind].size(); }
    /// When the first of a kind is free.
    Cycles freeAt(unsigned kind) const { return freeAt_[kind]; }
    /// The first of a kind is busy until then.
    void occupy(unsigned kind, Cycles until) { postpone(kind, 0, until); }
    /// One of a kind that was to be free at `from` stays busy.
    void prolong(unsigned kind, Cycles from, Cycles until) {
        std::size_t unit = 0;
        while (free_[kind][unit] != from) ++unit;
        if (until > from) postpone(kind, unit, until);
    }

  private:
    void postpone(unsigned kind, std::size_t unit, Cycles until) {
        Cycles* const free = free_[kind].data();
        const std::size_t count = free_[kind].size();
        for (; unit + 1 < count && free[unit + 1] < until; ++unit) free[unit] = free[unit + 1];
        free[unit] = until;
        freeAt_[kind] = free[0];
    }

    std::vector<Cycles> free_[arch::kUnits];  ///< when each will be, the first one first
    Cycles freeAt_[arch::kUnits] = {};
};

}  // namespace bulkhead::sim
