#include "sim/occupancy.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"

namespace bulkhead::sim {
namespace {

std::int64_t roundUp(std::int64_t value, std::int64_t to) {
    return (value + to - 1) / to * to;
}

/// The smallest that is enough.
std::int64_t carveoutFor(const arch::DeviceProfile::Sm& sm, std::int64_t bytes) {
    const auto enough = std::lower_bound(sm.carveouts.begin(), sm.carveouts.end(), bytes);
    return enough == sm.carveouts.end() ? sm.sharedBytes : *enough;
}

/// Bytes of shared memory that a launch is to have; none where it is as it comes, or there is nothing to choose.
std::optional<std::int64_t> preferredCarveout(const arch::DeviceProfile::Sm& sm, int percent) {
    if (!sm.onChipBytes) return std::nullopt;
    if (sm.carveout >= 0) return sm.carveout;
    if (percent == kNoCarveout) return std::nullopt;
    return sm.sharedBytes * percent / 100;
}

}  // namespace

Occupancy occupancyOf(const arch::DeviceProfile& profile, const Code& code, Dim3 block, std::uint32_t dynamicShared,
                      int carveoutPercent) {
    const auto& sm = profile.sm;
    const auto threads = static_cast<std::int64_t>(block.count());
    const std::int64_t most = code.maxThreadsPerBlock
                                  ? std::min<std::int64_t>(sm.maxThreadsPerBlock, code.maxThreadsPerBlock)
                                  : sm.maxThreadsPerBlock;
    if (threads == 0) throw Error("{}: a block of ({},{},{}) has no threads", code.name, block.x, block.y, block.z);
    // The product may not fit 64 bits.
    if (static_cast<double>(block.x) * block.y * block.z > static_cast<double>(most))
        throw Error("{}: a block of {:.0f} threads is too large: at most {}", code.name,
                    static_cast<double>(block.x) * block.y * block.z, most);
    if (block.z > 64) throw Error("{}: a block is at most 64 threads deep, not {}", code.name, block.z);
    const std::int64_t shared = roundUp(std::int64_t{code.sharedBytes} + dynamicShared, sm.sharedGranularity);
    if (shared > sm.maxSharedPerBlock)
        throw Error("{}: {} bytes of shared memory a block are too many: at most {}", code.name, shared,
                    sm.maxSharedPerBlock);
    const std::int64_t perThread =
        std::min<std::int64_t>(std::max<std::int64_t>(code.registersPerThread, 1), sm.maxRegistersPerThread);
    const std::int64_t warps = (threads + kLanes - 1) / kLanes;
    const std::int64_t registers = warps * roundUp(perThread * kLanes, sm.registerGranularity);
    if (registers > sm.registers)
        throw Error("{}: a block of {} threads with {} registers each needs {} registers: an SM has {}", code.name,
                    threads, perThread, registers, sm.registers);

    Occupancy result;
    result.needs = {static_cast<std::uint32_t>(warps), static_cast<std::uint32_t>(registers),
                    static_cast<std::uint32_t>(shared)};
    const std::optional<std::int64_t> preferred = preferredCarveout(sm, carveoutPercent);
    const std::int64_t sharedOfSm = preferred ? carveoutFor(sm, std::max(*preferred, shared)) : sm.sharedBytes;
    const std::pair<std::int64_t, std::string_view> limits[] = {
        {profile.maxWarps() / warps, "threads"},
        {sm.maxBlocks, "blocks"},
        {sm.registers / registers, "registers"},
        {shared ? sharedOfSm / shared : sm.maxBlocks + 1, "shared memory"},
    };
    const auto tightest = *std::min_element(std::begin(limits), std::end(limits),
                                            [](const auto& a, const auto& b) { return a.first < b.first; });
    if (tightest.first == 0) throw Error("{}: not one block fits an SM: {} run out", code.name, tightest.second);
    result.blocksPerSm = static_cast<std::uint32_t>(tightest.first);
    result.limit = tightest.second;
    std::int64_t carveout = sharedOfSm;
    if (sm.onChipBytes && !preferred) carveout = carveoutFor(sm, shared * tightest.first);
    result.onChip = {.l1Bytes = static_cast<Bytes>(sm.onChipBytes ? sm.onChipBytes - carveout : profile.l1.bytes),
                     .sharedBytes = static_cast<std::uint32_t>(carveout),
                     .preferred = preferred.has_value()};
    return result;
}

std::uint64_t clustersFitting(const arch::DeviceProfile& profile, const Occupancy& occupancy, std::uint64_t blocks,
                              const std::vector<bool>& sms) {
    std::uint64_t clusters = 0;
    for (const std::vector<std::uint32_t>& gpc : profile.clusterNeighbours()) {
        const auto usable = static_cast<std::uint64_t>(
            std::count_if(gpc.begin(), gpc.end(), [&](std::uint32_t sm) { return sms.empty() || sms[sm]; }));
        // Each block of a cluster has another SM.
        if (usable >= blocks) clusters += usable * occupancy.blocksPerSm / blocks;
    }
    return clusters;
}

}  // namespace bulkhead::sim
