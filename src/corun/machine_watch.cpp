#include "corun/machine_watch.h"

#include <algorithm>

namespace bulkhead::corun {
namespace {

double cyclesPerNs(const sim::Gpu& machine) {
    return static_cast<double>(machine.profile().clock.coreMHz) * 1e-3;
}

Cycles cycleAt(const sim::Gpu& machine, std::uint64_t ns) {
    return static_cast<Cycles>(static_cast<double>(ns) * cyclesPerNs(machine));
}

}  // namespace

void MachineWatch::contextSwitched(Cycles at, std::uint32_t toGroup) {
    switches_.emplace_back(at, toGroup);
}

void MachineWatch::blockStarted(Cycles, std::uint32_t sm, std::uint32_t, std::uint32_t launch, std::uint64_t) {
    multiprocessors_[launch].insert(sm);
}

void MachineWatch::launchEnded(Cycles, std::uint32_t launch) {
    ended_.push_back(launch);
}

std::set<unsigned> MachineWatch::multiprocessors(sim::LaunchId launch) const {
    const auto found = multiprocessors_.find(launch);
    return found == multiprocessors_.end() ? std::set<unsigned>() : found->second;
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

void addMachineSide(ActorRun& run, const sim::Gpu& machine, const MachineWatch& watch) {
    const auto switchCycles =
        static_cast<Cycles>(static_cast<double>(machine.profile().sharing.switchUs) * 1e3 * cyclesPerNs(machine));
    const Cycles start = cycleAt(machine, run.startNs), end = cycleAt(machine, run.endNs);
    // A run that was timed from outside may have had to wait for its first turn.
    const Cycles began = end - std::min(end, cycleAt(machine, static_cast<std::uint64_t>(run.seconds * 1e9)));
    // It had the GPU at its end; at its start, which is rounded, perhaps not yet.
    run.awayCycles = watch.awayBetween(std::min(began, start), end, end, switchCycles);
}

std::optional<ActorRun> runOfLaunches(const std::vector<sim::LaunchId>& launches, const sim::Gpu& machine,
                                      const MachineWatch& watch) {
    if (launches.empty()) return std::nullopt;
    Cycles first = machine.record(launches.front()).started, last = 0;
    std::set<unsigned> multiprocessors;
    ActorRun run;
    for (const sim::LaunchId launch : launches) {
        const sim::LaunchRecord& record = machine.record(launch);
        first = std::min(first, record.started);
        last = std::max(last, record.ended);
        run.counters += machine.counters(launch);
        multiprocessors.merge(watch.multiprocessors(launch));
    }
    const auto ns = [&](Cycles at) { return static_cast<std::uint64_t>(machine.seconds(at) * 1e9); };
    run.multiprocessors.assign(multiprocessors.begin(), multiprocessors.end());
    run.seconds = machine.seconds(last - first);
    run.cycles = last - first;
    run.startNs = ns(first);
    run.endNs = ns(last);
    addMachineSide(run, machine, watch);
    return run;
}

}  // namespace bulkhead::corun
