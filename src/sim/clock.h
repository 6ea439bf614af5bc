#pragma once

#include <cstdint>
#include <numeric>

#include "base/units.h"

namespace bulkhead::sim {

/// A clock beside the core's. Times are kept in core cycles; a unit in another domain acts on its own edges. The
/// conversion is exact rational arithmetic, so that no host or optimisation level changes a result.
class ClockDomain {
  public:
    ClockDomain() = default;
    ClockDomain(std::int64_t domainMHz, std::int64_t coreMHz) {
        const std::int64_t g = std::gcd(domainMHz, coreMHz);
        domain_ = static_cast<std::uint64_t>(domainMHz / g);
        core_ = static_cast<std::uint64_t>(coreMHz / g);
    }

    /// The core cycle in which an edge of this clock shows: the first at or after it. Several edges of a faster clock
    /// show in one core cycle.
    Cycles coreAt(std::uint64_t edge) const { return domain_ == core_ ? edge : (edge * core_ + domain_ - 1) / domain_; }
    /// The first edge that shows in this core cycle or later.
    std::uint64_t edgeAt(Cycles core) const {
        return domain_ == core_ || core == 0 ? core : (core - 1) * domain_ / core_ + 1;
    }

  private:
    // 64 bits are enough for 2^50 cycles of any clock below 16 GHz.
    std::uint64_t domain_ = 1, core_ = 1;
};

}  // namespace bulkhead::sim
