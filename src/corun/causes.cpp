#include "corun/causes.h"

#include <algorithm>

namespace bulkhead::corun {
namespace {

double grown(std::uint64_t before, std::uint64_t after) {
    return after > before ? static_cast<double>(after - before) : 0;
}

}  // namespace

Causes explainPair(const arch::DeviceProfile& profile, const Pair& pair) {
    const sim::Counters &alone = pair.alone.counters, &together = pair.together.counters;
    const double coreMHz = static_cast<double>(profile.clock.coreMHz);
    const double extra = (pair.together.seconds - pair.alone.seconds) * coreMHz * 1e6;
    Causes causes;
    if (extra <= 0) return causes;
    causes.setConflicts =
        grown(alone.l2Misses, together.l2Misses) * static_cast<double>(profile.dram.latency - profile.l2.hitLatency);
    causes.mshr = grown(alone.l2StallMshr + alone.l2StallLine + alone.l1StallMshr + alone.l1StallLine,
                        together.l2StallMshr + together.l2StallLine + together.l1StallMshr + together.l1StallLine);
    causes.crossbar = grown(alone.portWait + alone.l2StallResponse + alone.l1StallQueue,
                            together.portWait + together.l2StallResponse + together.l1StallQueue);
    causes.rowConflicts = grown(alone.dramRowConflicts, together.dramRowConflicts) *
                          static_cast<double>(profile.dram.tRP) * coreMHz /
                          static_cast<double>(profile.clock.memoryMHz);
    // Time off the GPU overlaps with nothing. A kernel with many accesses in flight, though, waits for several at once:
    // those waits are worth less than their sum.
    const double slicing = std::min(extra, grown(pair.alone.awayCycles, pair.together.awayCycles));
    const double known = causes.total(), there = extra - slicing;
    if (known > there) {
        for (double* wait : {&causes.setConflicts, &causes.mshr, &causes.crossbar, &causes.rowConflicts})
            *wait *= there / known;
    } else if (pair.aggressor.bytes == 0) {
        causes.sms = there - known;
    } else {
        causes.bus = there - known;
    }
    causes.timeSlicing = slicing;
    return causes;
}

}  // namespace bulkhead::corun
