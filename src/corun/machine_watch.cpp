#include "corun/machine_watch.h"

#include <algorithm>

#include "arch/device_profile.h"

namespace bulkhead::corun {
namespace {

double cyclesPerNs(const arch::DeviceProfile& profile) {
    return static_cast<double>(profile.clock.coreMHz) * 1e-3;
}

}  // namespace

void MachineWatch::contextSwitched(Cycles at, std::uint32_t toGroup) {
    switches_.emplace_back(at, toGroup);
}

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

Cycles MachineWatch::awayBetween(Cycles from, Cycles to, Cycles home, Cycles switchCycles) const {
    const auto groupAt = [&](Cycles when) {
        std::uint32_t group = 0;
        for (const auto& [at, next] : switches_)
            if (at <= when) group = next;
        return group;
    };
    const std::uint32_t own = groupAt(home);
    std::uint32_t active = groupAt(from);
    Cycles away = 0, since = from;
    for (const auto& [at, next] : switches_) {
        if (at <= from) continue;
        if (at > to) break;
        away += active == own ? std::min(switchCycles, at - since) : at - since;  // the way out counts as well
        active = next;
        since = at;
    }
    return away + (active != own ? to - since : 0);
}

void addMachineSide(ActorRun& run, const gpu::LaunchCounters& counters, const MachineWatch& watch) {
    const arch::DeviceProfile& profile = counters.profile();
    const auto cycleAt = [&](std::uint64_t ns) {
        return static_cast<Cycles>(static_cast<double>(ns) * cyclesPerNs(profile));
    };
    const auto switchCycles =
        static_cast<Cycles>(static_cast<double>(profile.sharing.switchUs) * 1e3 * cyclesPerNs(profile));
    const Cycles start = cycleAt(run.startNs), end = cycleAt(run.endNs);
    // A run that was timed from outside may have had to wait for its first turn.
    const Cycles began = end - std::min(end, cycleAt(static_cast<std::uint64_t>(run.seconds * 1e9)));
    // It had the GPU at its end; at its start, which is rounded, perhaps not yet.
    run.awayCycles = watch.awayBetween(std::min(began, start), end, end, switchCycles);
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
    addMachineSide(run, counters, watch);
    return run;
}

}  // namespace bulkhead::corun
