#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/units.h"
#include "gpu/launch_log.h"

namespace bulkhead::gpu {

/// How much of some launches was timed on a GPU that samples; all of it on one that does not.
struct Sampled {
    std::uint64_t launches = 0, timedLaunches = 0;  ///< timed: at least some of its blocks
    std::uint64_t blocks = 0, timedBlocks = 0;
    /// Of the confidence interval (95 %) of their cycles: those of the launches added up, as if all were wrong in the
    /// same direction.
    double halfWidth = 0;

    Sampled& operator+=(const Launch&);
    /// "1234567 ± 2.1 %".
    std::string cycles(Cycles) const;
    /// "3 of 25 launches and 1200 of 40000 blocks were timed; counters other than instructions are estimates".
    std::string summary() const;
    nlohmann::ordered_json json() const;
};

}  // namespace bulkhead::gpu
