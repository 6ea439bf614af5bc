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

    /// The first edge of this clock at or after a core time.
    std::uint64_t edgeAt(Cycles core) const {
        return domain_ == core_ ? core : divideUp(core, domain_, core_);
    }
    /// The first core cycle at or after an edge of this clock.
    Cycles coreAt(std::uint64_t edge) const {
        return domain_ == core_ ? edge : divideUp(edge, core_, domain_);
    }

    /// The edge on which something may start that is possible from core time `now` on but not before edge `free`. An
    /// edge between the last core cycle and this one is not lost.
    std::uint64_t startAt(Cycles now, std::uint64_t free) const {
        const std::uint64_t edge = edgeAt(now);
        return free >= edge || coreAt(free) == now ? free : edge;
    }

  private:
    // 64 bits are enough for 2^50 cycles of any clock below 16 GHz.
    static std::uint64_t divideUp(std::uint64_t value, std::uint64_t by, std::uint64_t over) {
        return (value * by + over - 1) / over;
    }
    std::uint64_t domain_ = 1, core_ = 1;
};

}  // namespace bulkhead::sim
