#pragma once

#include <cstdint>

namespace bulkhead::stress {

/// As in kernels/stress_device.h: what one block says of itself.
struct BlockLog {
    std::uint32_t multiprocessor = 0;
    std::uint32_t claimed = 0;
    std::uint64_t startNs = 0, endNs = 0;
    std::uint64_t cycles = 0;
    std::uint64_t accesses = 0, bytes = 0;
};
static_assert(sizeof(BlockLog) == 48);

}  // namespace bulkhead::stress
