#include "corun/machine_watch.h"

#include <algorithm>

namespace bulkhead::corun {

void MachineWatch::blockStarted(Cycles, std::uint32_t sm, std::uint32_t, std::uint32_t launch, std::uint64_t) {
    sms_[launch].insert(sm);
}

void MachineWatch::launchEnded(Cycles, std::uint32_t launch) {
    ended_.push_back(launch);
}

std::set<unsigned> MachineWatch::sms(std::uint32_t launch) const {
    const auto found = sms_.find(launch);
    return found == sms_.end() ? std::set<unsigned>() : found->second;
}

std::optional<ActorRun> runOfLaunches(const std::vector<gpu::Launch>& launches, const gpu::LaunchCounters& counters,
                                      const MachineWatch& watch) {
    if (launches.empty()) return std::nullopt;
    Cycles first = launches.front().started, last = 0;
    std::set<unsigned> sms;
    ActorRun run;
    for (const gpu::Launch& launch : launches) {
        first = std::min(first, launch.started);
        last = std::max(last, launch.ended);
        run.counters += launch.counters;
        sms.merge(watch.sms(launch.id));
    }
    const auto ns = [&](Cycles at) { return static_cast<std::uint64_t>(counters.seconds(at) * 1e9); };
    run.sms.assign(sms.begin(), sms.end());
    run.seconds = counters.seconds(last - first);
    run.cycles = last - first;
    run.startNs = ns(first);
    run.endNs = ns(last);
    return run;
}

}  // namespace bulkhead::corun
