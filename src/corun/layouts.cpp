#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "corun/corun.h"

namespace bulkhead::corun {
namespace {

std::vector<unsigned> range(unsigned first, unsigned last) {
    std::vector<unsigned> all(last - first);
    std::iota(all.begin(), all.end(), first);
    return all;
}

bool isWalk(const std::string& victim) {
    return victim == "random" || victim == "sequential" || victim == "latency";
}

/// Multiprocessors of an aggressor that names none: so many as it asks for, from `first` on. None: any.
std::vector<unsigned> ofAggressor(const AggressorSpec& aggressor, unsigned first, bool apart, unsigned all) {
    const unsigned count = aggressor.multiprocessors;
    if (count == 0) return apart ? range(first, all) : std::vector<unsigned>();
    if (count > all - first) throw Error("{} multiprocessors for the aggressor: there are {}", count, all - first);
    return range(first, first + count);
}

}  // namespace

void completeLayouts(CoRunSpec& spec, const CacheShape& shape) {
    const unsigned all = shape.multiprocessors;
    auto* const victim = find<VictimSpec>(spec);
    auto* const aggressor = find<AggressorSpec>(spec);
    if (!victim || !aggressor) return;
    const SharingWay& way = findSharing(spec.sharing.way);
    if (way.confines && (aggressor->multiprocessors > 0 || !aggressor->layout.multiprocessors.empty()))
        throw Error("the driver says which multiprocessors a green context has: the aggressor cannot choose");
    // Time slices are exclusive: nobody shares a multiprocessor with another context.
    const bool apart = !spec.shareMultiprocessors && all > 1 && !way.timeSliced;
    const unsigned ofVictim = isWalk(victim->name) ? 1 : std::max(1u, all / 2);
    if (victim->layout.blocks == 0) {
        victim->layout.blocks = isWalk(victim->name) ? 1 : ofVictim;
        victim->layout.warps = isWalk(victim->name) ? 1 : 32;
    }
    if (victim->layout.multiprocessors.empty() && apart) victim->layout.multiprocessors = range(0, ofVictim);
    if (aggressor->layout.multiprocessors.empty())
        aggressor->layout.multiprocessors = ofAggressor(*aggressor, apart ? ofVictim : 0, apart, all);
    if (aggressor->layout.warps == 0) aggressor->layout.warps = findAggressor(aggressor->kind).warps;
    aggressor->leavesRoom = !apart && !way.timeSliced;
}

}  // namespace bulkhead::corun
