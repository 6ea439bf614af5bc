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
    Running& running =
        launches_
            .try_emplace(launch.record.id,
                         Running{UntimedBlocks(launch.context, launch.record.occupancy.blocksPerSm * sms, now_), now_})
            .first->second;
    running.blocks.add(0, launch.spec.grid.count());
}

void FunctionalLaunches::forget(LaunchId launch) {
    if (launches_.erase(launch)) wake();
}

Cycles FunctionalLaunches::untilOf(const Running& r) const {
    const auto& sm = shared_.config.sm;
    const std::uint64_t rate = std::uint64_t{sm.count} * sm.schedulers * sm.issueWidth;
    return r.begun + (r.blocks.counted().warpInstructions + rate - 1) / rate;
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
    UntimedBlocks& blocks = running.blocks;
    const Counters before = blocks.counted();
    const std::uint64_t changes = blocks.changes();
    auto outcome = UntimedBlocks::Outcome::limited;
    try {
        outcome = blocks.run(before.warpInstructions + instructions, !inVain_);
    } catch (const LaunchError& error) {
        turn.error = error;
    }
    inVain_ = false;
    units_.count(id, blocks.counted() - before);
    if (blocks.changes() != changes) wake();
    if (outcome == UntimedBlocks::Outcome::waiting) running.waitsWith = news_;
    turn.done = outcome == UntimedBlocks::Outcome::done;
    turn.blocksLeft = blocks.left();
    turn.until = untilOf(running);
    return turn;
}

}  // namespace bulkhead::sim
