#include "gpu/sampled.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace bulkhead::gpu {

Sampled& Sampled::operator+=(const Launch& launch) {
    ++launches;
    timedLaunches += launch.timedBlocks != 0;
    blocks += launch.blocks;
    timedBlocks += launch.timedBlocks;
    halfWidth += launch.halfWidth;
    return *this;
}

std::string Sampled::cycles(Cycles cycles) const {
    return fmt::format("{} ± {:.1f} %", cycles, cycles ? 100 * halfWidth / static_cast<double>(cycles) : 0.0);
}

std::string Sampled::summary() const {
    return fmt::format(
        "{} of {} launches and {} of {} blocks were timed; counters other than instructions are estimates",
        timedLaunches, launches, timedBlocks, blocks);
}

nlohmann::ordered_json Sampled::json() const {
    return {{"launches", launches},        {"timed_launches", timedLaunches}, {"blocks", blocks},
            {"timed_blocks", timedBlocks}, {"cycles_half_width", halfWidth},  {"confidence", 0.95}};
}

}  // namespace bulkhead::gpu
