#pragma once

#include <cstdint>

namespace bulkhead::corun {

/// As in kernels/stress_device.h: what one block says of itself.
struct BlockLog {
    std::uint32_t sm = 0;
    std::uint32_t claimed = 0;
    std::uint64_t startNs = 0, endNs = 0;
    std::uint64_t cycles = 0;
    std::uint64_t accesses = 0, bytes = 0;
};
static_assert(sizeof(BlockLog) == 48);

/// Likewise: how hard an aggressor works.
struct Dials {
    std::uint32_t dutyPercent = 100;
    std::uint32_t burst = 64;   ///< accesses between two looks at the stop flag
    std::uint32_t burstNs = 0;  ///< that a burst should take at least
};
static_assert(sizeof(Dials) == 12);

}  // namespace bulkhead::corun
