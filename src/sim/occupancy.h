#pragma once

#include <string_view>

#include "arch/device_profile.h"
#include "sim/exec/warp.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {

struct Occupancy {
    BlockNeeds needs;  ///< of one block
    std::uint32_t blocksPerSm = 0;
    std::string_view limit;  ///< what runs out first: "threads", "blocks", "registers", "shared memory"
    OnChipDivision onChip;
};

/// A carve-out that is preferred by the parameter of the profile, else by the launch: a percentage of the largest.
constexpr int kNoCarveout = -1;

/// How many blocks of this launch an SM holds. Throws Error if not even one fits.
Occupancy occupancyOf(const arch::DeviceProfile&, const Code&, Dim3 block, std::uint32_t dynamicShared,
                      int carveoutPercent = kNoCarveout);

/// How many clusters of so many blocks the GPU, or its SMs in the mask (empty: all), holds at once.
std::uint64_t clustersFitting(const arch::DeviceProfile&, const Occupancy&, std::uint64_t blocks,
                              const std::vector<bool>& sms = {});

}  // namespace bulkhead::sim
