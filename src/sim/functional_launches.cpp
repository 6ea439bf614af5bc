#include "sim/functional_launches.h"

#include <algorithm>

namespace bulkhead::sim {

FunctionalLaunches::FunctionalLaunches(const SimShared& shared, Units& units, const Cycles& now)
    : shared_(shared), units_(units), now_(now) {}

bool FunctionalLaunches::takes(const Launch& launch) {
    return !launch.spec.code->readsTimeOrPlace && !launch.context.followsRunning;
}

void FunctionalLaunches::begin(const Launch& launch) {
    const std::uint64_t sms = launch.spec.sms.empty()
                                  ? shared_.config.sm.count
                                  : static_cast<std::uint64_t>(std::ranges::count(launch.spec.sms, true));
    launches_.try_emplace(
        launch.record.id,
        Running{UntimedGrid(launch.context, launch.record.occupancy.blocksPerSm * sms, now_, units_.team()), now_});
}

void FunctionalLaunches::forget(LaunchId launch) {
    if (launches_.erase(launch)) wake();
}

Cycles FunctionalLaunches::untilOf(const Running& r) const {
    const std::uint64_t rate = shared_.config.sm.issuesPerCycle();
    return r.begun + (r.grid.counted().warpInstructions + rate - 1) / rate;
}

Cycles FunctionalLaunches::due() const {
    Cycles earliest = kNever;
    for (const auto& [id, running] : launches_)
        if (canMove(running)) earliest = std::min(earliest, untilOf(running));
    return earliest;
}

/// They take turns.
FunctionalLaunches::Launches::iterator FunctionalLaunches::next() {
    const auto isDue = [&](const auto& entry) { return canMove(entry.second) && untilOf(entry.second) <= now_; };
    const auto after = std::find_if(launches_.upper_bound(last_), launches_.end(), isDue);
    return after != launches_.end() ? after : std::find_if(launches_.begin(), launches_.end(), isDue);
}

void FunctionalLaunches::wakeInVain() {
    inVain_ = true;
    wake();
}

FunctionalLaunches::Turn FunctionalLaunches::giveTurn(std::uint64_t instructions) {
    auto& [id, running] = *next();
    last_ = id;
    Turn turn;
    turn.launch = id;
    UntimedGrid& grid = running.grid;
    const Counters before = grid.counted();
    const std::uint64_t changes = grid.changes();
    auto outcome = UntimedGrid::Outcome::limited;
    try {
        outcome = grid.run(instructions, !inVain_);
    } catch (const LaunchError& error) {
        turn.error = error;
    }
    inVain_ = false;
    units_.count(id, grid.counted() - before);
    if (grid.changes() != changes) wake();
    if (outcome == UntimedGrid::Outcome::waiting) running.waitsWith = news_;
    turn.done = outcome == UntimedGrid::Outcome::done;
    turn.blocksLeft = grid.left();
    turn.until = untilOf(running);
    return turn;
}

}  // namespace bulkhead::sim
