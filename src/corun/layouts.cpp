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

/// SMs of an aggressor that names none: so many as it asks for, from `first` on. None: any.
std::vector<unsigned> ofAggressor(const AggressorSpec& aggressor, unsigned first, bool apart, unsigned all) {
    const unsigned count = aggressor.sms;
    if (count == 0) return apart ? range(first, all) : std::vector<unsigned>();
    if (count > all - first) throw Error("{} SMs for the aggressor: only {} are free", count, all - first);
    return range(first, first + count);
}

}  // namespace

void completeLayouts(CoRunSpec& spec, const CacheGeometry& shape) {
    const unsigned all = shape.sms;
    auto* const victim = find<VictimSpec>(spec);
    auto* const aggressor = find<AggressorSpec>(spec);
    if (!victim || !aggressor) return;
    const SharingWay& way = findSharing(spec.sharing.way);
    if (way.confines && (aggressor->sms > 0 || !aggressor->layout.sms.empty()))
        throw Error("sharing by {} chooses the SMs: leave out the aggressor's SMs", way.name);
    // Time slices are exclusive: nobody shares an SM with another context.
    const bool apart = !spec.shareSms && all > 1 && !way.timeSliced;
    const unsigned ofVictim = isWalk(victim->name) ? 1 : std::max(1u, all / 2);
    if (victim->layout.blocks == 0) {
        victim->layout.blocks = isWalk(victim->name) ? 1 : ofVictim;
        victim->layout.warps = isWalk(victim->name) ? 1 : 32;
    }
    if (victim->layout.sms.empty() && apart) victim->layout.sms = range(0, ofVictim);
    if (aggressor->layout.sms.empty())
        aggressor->layout.sms = ofAggressor(*aggressor, apart ? ofVictim : 0, apart, all);
    if (aggressor->layout.warps == 0) aggressor->layout.warps = findAggressor(aggressor->kind).warps;
    aggressor->leavesRoom = !apart && !way.timeSliced;
}

}  // namespace bulkhead::corun
