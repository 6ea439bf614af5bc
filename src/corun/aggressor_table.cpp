#include "base/error.h"
#include "base/suggest.h"
#include "corun/aggressors/patterns.h"

namespace bulkhead::corun {
namespace {

constexpr unsigned kFewWarps = 1, kSweepWarps = 16, kAllWarps = 32;

AggressorType aimed(std::string_view name, std::string_view description,
                    std::unique_ptr<AccessPattern> (*make)(const PatternSite&),
                    std::uint64_t (*targets)(const arch::AddressMap&) = nullptr, bool aimsAtVictim = false) {
    return {name, description, "visitLines", kFewWarps, true, make, targets, aimsAtVictim};
}

AggressorType copies(std::string_view name, std::string_view description,
                     std::unique_ptr<Actor> (*make)(const Stage&, const AggressorSpec&)) {
    return {.name = name,
            .description = description,
            .kernel = nullptr,
            .warps = kFewWarps,
            .needsMap = false,
            .make = nullptr,
            .makeActor = make};
}

/// A third more than an SM has of shared memory. Drivers say nothing of L1D, but where it is one array with shared
/// memory it is no larger than that, and where it is not it is smaller.
Bytes bytesOfL1(gpu::Context& context) {
    return static_cast<Bytes>(attributeOf(context, driver::DeviceAttribute::sharedBytesPerSm)) * 4 / 3;
}

}  // namespace

const std::vector<AggressorType>& aggressors() {
    static const std::vector<AggressorType> all = {
        {"compute", "computes and touches no memory", "compute", kAllWarps, false, computing},
        {"evict-sequential", "chases pointers sequentially through arrays as large as the L2", "chaseRing", kAllWarps,
         false, chasingInOrder},
        {"evict-random", "chases pointers in random order through arrays as large as the L2", "chaseRing", kAllWarps,
         false, chasingAtRandom},
        {.name = "fill-l1",
         .description = "reads as much as L1D holds, through it, again and again",
         .kernel = "sweep",
         .warps = kSweepWarps,
         .needsMap = false,
         .make = fillingL1,
         .bytes = bytesOfL1},
        {"stream-read", "reads memory at full rate", "sweep", kSweepWarps, false, reading},
        {"stream-write", "writes memory at full rate", "sweep", kSweepWarps, false, writing},
        {"stream-read-write", "reads and writes every word at full rate", "sweep", kSweepWarps, false,
         readingAndWriting},
        {"stream-atomic", "adds to memory atomically at full rate", "sweep", kSweepWarps, false, addingAtomically},
        aimed("set-by-set", "fills one L2 set after another", visitingSetBySet),
        aimed("rotating-sets", "fetches one line into every L2 set, then another into each, and so on",
              visitingSetsInTurn),
        aimed("map-guided", "refills every way of every L2 set with the fewest lines", visitingFewest),
        aimed("slice", "reads lines of one L2 slice only", visitingASlice,
              [](const arch::AddressMap& map) -> std::uint64_t { return map.slices(); }),
        aimed("bank", "reads lines of one DRAM bank only", visitingABank,
              [](const arch::AddressMap& map) { return std::uint64_t{map.channels()} * map.banksPerChannel(); }),
        aimed("channel", "reads lines of one DRAM channel only", visitingAChannel,
              [](const arch::AddressMap& map) -> std::uint64_t { return map.channels(); }),
        copies("copy-in", "copies from the host to the GPU, without a kernel", copyingIn),
        copies("copy-out", "copies from the GPU to the host, without a kernel", copyingOut),
        aimed("hot-sets", "fills the L2 sets that the victim uses most", visitingHotSets, nullptr, true),
    };
    return all;
}

const AggressorType& findAggressor(std::string_view name) {
    std::vector<std::string> names;
    for (const AggressorType& type : aggressors()) {
        if (type.name == name) return type;
        names.emplace_back(type.name);
    }
    throw Error("no aggressor {}{}; bulkhead stress --list shows them", name, didYouMean(name, names));
}

const Ring& AccessPattern::ring() const {
    static const Ring none;
    return none;
}

}  // namespace bulkhead::corun
