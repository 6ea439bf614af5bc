#pragma once

#include <cstdint>

namespace bulkhead::sim {

/// Which launches a machine times.
enum class Timing : std::uint8_t {
    whole,       ///< all of them
    sampled,     ///< some launches and blocks; it estimates the others (Sampler)
    functional,  ///< none that can do without (FunctionalLaunches)
};

}  // namespace bulkhead::sim
