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

}  // namespace

const std::vector<AggressorType>& aggressors() {
    static const std::vector<AggressorType> all = {
        {"compute", "computes and touches no memory", "compute", kAllWarps, false, computing},
        {"evict-sequential", "chases pointers through arrays as large as the cache, in order", "chaseRing", kAllWarps,
         false, chasingInOrder},
        {"evict-random", "the same in random order", "chaseRing", kAllWarps, false, chasingAtRandom},
        {"stream-read", "reads memory as fast as it can", "sweep", kSweepWarps, false, reading},
        {"stream-write", "writes memory as fast as it can", "sweep", kSweepWarps, false, writing},
        {"stream-read-write", "reads and writes every word", "sweep", kSweepWarps, false, readingAndWriting},
        {"stream-atomic", "adds to memory atomically", "sweep", kSweepWarps, false, addingAtomically},
        aimed("set-by-set", "fills one cache set after the other", visitingSetBySet),
        aimed("rotating-sets", "one line of every set, then the next of every set", visitingSetsInTurn),
        aimed("map-guided", "the fewest lines that fill every way of every set anew in each round", visitingFewest),
        aimed("slice", "lines of one L2 slice only", visitingASlice,
              [](const arch::AddressMap& map) -> std::uint64_t { return map.slices(); }),
        aimed("bank", "lines of one DRAM bank only", visitingABank,
              [](const arch::AddressMap& map) { return std::uint64_t{map.channels()} * map.banksPerChannel(); }),
        aimed("channel", "lines of one DRAM channel only", visitingAChannel,
              [](const arch::AddressMap& map) -> std::uint64_t { return map.channels(); }),
        aimed("hot-sets", "fills the sets that the victim uses most", visitingHotSets, nullptr, true),
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
