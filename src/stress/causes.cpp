#include "stress/causes.h"

#include <algorithm>

namespace bulkhead::stress {
namespace {

double grown(std::uint64_t before, std::uint64_t after) {
    return after > before ? static_cast<double>(after - before) : 0;
}

}  // namespace

void SwitchWatch::contextSwitched(Cycles at, std::uint32_t toGroup) {
    switches_.emplace_back(at, toGroup);
}

Cycles SwitchWatch::awayBetween(Cycles from, Cycles to, Cycles switchCycles) const {
    std::uint32_t active = 0;
    auto next = switches_.begin();
    for (; next != switches_.end() && next->first <= from; ++next) active = next->second;
    const std::uint32_t home = active;
    Cycles away = 0, since = from;
    for (; next != switches_.end() && next->first <= to; ++next) {
        if (active != home) away += next->first - since;
        if (active == home) away += std::min(switchCycles, next->first - since);  // the way out
        active = next->second;
        since = next->first;
    }
    return away + (active != home ? to - since : 0);
}

Causes explainPair(const sim::Gpu& gpu, const SwitchWatch& watch, const Pair& pair) {
    const arch::DeviceProfile& profile = gpu.profile();
    const sim::Counters &alone = pair.alone.counters, &together = pair.together.counters;
    const double coreMHz = static_cast<double>(profile.clock.coreMHz);
    const double extra = (pair.together.seconds - pair.alone.seconds) * coreMHz * 1e6;
    Causes causes;
    if (extra <= 0) return causes;
    const auto cycleAt = [&](std::uint64_t ns) {
        return static_cast<Cycles>(static_cast<double>(ns) * coreMHz * 1e-3);
    };
    causes.timeSlicing = static_cast<double>(
        watch.awayBetween(cycleAt(pair.together.startNs), cycleAt(pair.together.endNs),
                          static_cast<Cycles>(static_cast<double>(profile.sharing.switchUs) * coreMHz)));
    causes.setConflicts =
        grown(alone.l2Misses, together.l2Misses) * static_cast<double>(profile.dram.latency - profile.l2.hitLatency);
    causes.mshr = grown(alone.l2StallMshr + alone.l2StallLine + alone.l1StallMshr + alone.l1StallLine,
                        together.l2StallMshr + together.l2StallLine + together.l1StallMshr + together.l1StallLine);
    causes.crossbar = grown(alone.portWait + alone.l2StallResponse + alone.l1StallQueue,
                            together.portWait + together.l2StallResponse + together.l1StallQueue);
    causes.rowConflicts = grown(alone.dramRowConflicts, together.dramRowConflicts) *
                          static_cast<double>(profile.dram.tRP) * coreMHz /
                          static_cast<double>(profile.clock.memoryMHz);
    // A kernel with many accesses in flight waits for several at once: its waits are worth less than their sum.
    const double known = causes.total();
    if (known > extra) {
        const double part = extra / known;
        causes = {causes.setConflicts * part, causes.mshr * part, causes.crossbar * part, causes.rowConflicts * part, 0,
                  causes.timeSlicing * part};
    } else {
        causes.bus = extra - known;
    }
    return causes;
}

}  // namespace bulkhead::stress
