#pragma once

#include <memory>

#include "base/random.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

/// Makes a few timings longer or shorter, as an interrupt or a clock that changes does.
inline TimingFilter perturbed(double share, std::uint64_t seed) {
    const auto random = std::make_shared<Random>(seed);
    return [random, share](Times& times) {
        for (std::uint32_t& t : times)
            if (random->uniform() < share) t = static_cast<std::uint32_t>(t * (0.6 + 1.2 * random->uniform()));
    };
}

}  // namespace bulkhead::dissect
