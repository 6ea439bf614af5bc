#include "sim/sampler.h"

#include <algorithm>

#include "base/error.h"

namespace bulkhead::sim {

void expectSampling(const std::string& scheduler) {
    if (scheduler != "gto" && scheduler != "lrr")
        throw Error("--sample: the scheduler must be gto or lrr; {} decides by what it has seen of the whole launch",
                    scheduler);
}

Sampler::Sampler(const SimShared& shared, Units& units, const Cycles& now)
    : shared_(shared), units_(units), now_(now), warming_(shared, units) {}

/// Whether not all of it must be timed, as what it does depends on time or on its neighbours.
bool Sampler::mayLeaveOut(const Launch& launch, bool alone) const {
    return alone && launch.spec.sms.empty() && !launch.spec.gridWorkspace && !launch.spec.code->readsTimeOrPlace;
}

Sampler::Way Sampler::begin(const Launch& launch, bool alone) {
    if (launch_ || !mayLeaveOut(launch, alone)) return Way::timed;
    launch_ = &launch;
    const std::uint64_t blocks = launch.spec.grid.count();
    const std::uint64_t wave = std::uint64_t{launch.record.occupancy.blocksPerSm} * shared_.config.sm.count;
    if (!history_.wantsTiming(launch)) {
        way_ = Way::untimed;
        pending_ = {0, blocks};
    } else if (GridSample::worthwhile(blocks, wave) && !history_.dependent(launch) &&
               launch.spec.cluster.count() == 1) {  // a gap may end within a cluster
        way_ = Way::timedInPart;
        grid_.emplace(blocks, wave, launch.record.id, now_);
    } else {
        return way_ = Way::timed;
    }
    warming_.begin(launch.context, launch.record.id);
    untimed_.emplace(launch.context, wave, now_, &warming_);
    untimed_->add(pending_.first, pending_.end);
    return way_;
}

void Sampler::reached() {
    pending_ = grid_->reached(now_, units_.warpInstructions(launch_->record.id));
    untimed_->add(pending_.first, pending_.end);
}

UntimedBlocks::Outcome Sampler::execute(std::uint64_t instructions, bool others) {
    const Counters before = untimed_->counted();
    const auto count = [&] { units_.count(launch_->record.id, untimed_->counted() - before); };
    UntimedBlocks::Outcome outcome;
    try {
        const std::uint64_t allowed = ~std::uint64_t{0} - before.warpInstructions;
        outcome = untimed_->run(before.warpInstructions + std::min(instructions, allowed), others);
    } catch (const LaunchError&) {
        count();
        throw;
    }
    count();
    if (outcome == UntimedBlocks::Outcome::waiting && !waited_) {
        waited_ = true;
        history_.blocksDepend(*launch_);
    }
    if (outcome == UntimedBlocks::Outcome::done) {
        pending_ = {};
        if (waited_ && grid_) grid_->giveUp(now_, units_.warpInstructions(launch_->record.id));
    }
    return outcome;
}

Sampler::Result Sampler::endUntimed(const Launch& launch) {
    Counters work = untimed_->counted();
    work.bytesL1 = warming_.bytes();
    LaunchHistory::Guess guess = history_.guess(launch, work);
    guess.counters.setExecuted(work);
    return {guess.cycles, {0, guess.cycles.halfWidth}, guess.counters};
}

Sampler::Result Sampler::end(const Launch& launch, Cycles when) {
    const Cycles timed = when - launch.record.started;
    const std::uint64_t blocks = launch.spec.grid.count();
    if (launch_ != &launch) return {{static_cast<double>(timed), 0}, {blocks, 0}, std::nullopt};
    if (way_ == Way::untimed) return endUntimed(launch);

    const Counters counted = units_.counters(launch.record.id);
    Result result{{static_cast<double>(timed), 0}, {blocks, 0}, std::nullopt};
    Counters profile = counted;
    if (grid_ && untimed_->counted().blocks) {
        const Counters& untimed = untimed_->counted();
        result.cycles = grid_->estimate(when);
        result.cycles.value += static_cast<double>(shared_.config.launch.setup);
        result.sample = {blocks - untimed.blocks, result.cycles.halfWidth};
        const auto all = static_cast<double>(counted.warpInstructions);
        profile = scaled(counted, all / (all - static_cast<double>(untimed.warpInstructions)));
        profile.setExecuted(counted);
        result.counters = profile;
        profile.bytesL1 = counted.bytesL1 + warming_.bytes();
    }
    history_.timed(launch, result.cycles, profile);
    return result;
}

void Sampler::forget(const Launch& launch) {
    if (launch_ != &launch) return;
    launch_ = nullptr;
    way_ = Way::timed;
    grid_.reset();
    untimed_.reset();
    pending_ = {};
    waited_ = false;
}

}  // namespace bulkhead::sim
