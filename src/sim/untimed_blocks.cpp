#include "sim/untimed_blocks.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace bulkhead::sim {

UntimedBlocks::UntimedBlocks(const LaunchContext& launch, std::uint64_t resident, const Cycles& now,
                             AccessListener* listener)
    : launch_(launch),
      now_(now),
      listener_(listener),
      effects_(now, PendingEffects::Shows::atOnce),
      capacity_(std::max<std::uint64_t>(resident, 1)) {}

void UntimedBlocks::add(std::uint64_t first, std::uint64_t end) {
    next_ = first;
    end_ = end;
}

void UntimedBlocks::start(Resident& r) {
    const BlockPlace at = placeOf(next_++, launch_.grid, launch_.cluster);
    if (at.rank == 0) cluster_ = Cluster::wanted(launch_) ? std::make_shared<Cluster>(launch_) : nullptr;
    r.block.emplace(launch_, at.index, 0, &now_, &effects_, cluster_.get(), at.rank);
    r.cluster = cluster_;
    r.spun = false;
    r.waiting = 0;
    if (r.warps.size() != r.block->warps) r.warps = std::vector<Warp>(r.block->warps);
    for (std::uint32_t w = 0; w < r.block->warps; ++w) r.warps[w].start(*r.block, w, w);
    ++counted_.blocks;
    ++changes_;
}

UntimedBlocks::Outcome UntimedBlocks::run(std::uint64_t mostInstructions, bool others) {
    most_ = mostInstructions;
    for (;;) {
        if (round()) return Outcome::done;
        if (overLimit()) return Outcome::limited;
        if (changes_ != roundBegan_) continue;
        if (others) return Outcome::waiting;
        expectProgress();
    }
}

/// Every block has its turn, and those have their first that find room. Goes on with the round that a limit has ended.
/// True if all have ended.
bool UntimedBlocks::round() {
    if (turn_ == 0) roundBegan_ = changes_;
    while (turn_ < residents_.size()) {
        giveTurn(*residents_[turn_++]);
        if (overLimit()) return false;
    }
    const auto runs = [](const auto& resident) { return resident->block->liveWarps > 0; };
    const auto ended = std::partition(residents_.begin(), residents_.end(), runs);
    for (auto resident = ended; resident != residents_.end(); ++resident)
        if (Cluster* cluster = (*resident)->block->cluster) cluster->end((*resident)->block->rank);
    std::move(ended, residents_.end(), std::back_inserter(spare_));
    residents_.erase(ended, residents_.end());
    // A cluster's blocks are there together.
    const std::uint64_t together = launch_.cluster.count();
    while (next_ < end_ && (residents_.size() < capacity_ || next_ % together != 0)) {
        if (spare_.empty()) spare_.push_back(std::make_unique<Resident>());
        Resident& resident = *spare_.back();
        start(resident);
        giveTurn(resident);
        if (resident.block->liveWarps > 0) {
            residents_.push_back(std::move(spare_.back()));
            spare_.pop_back();
        } else if (Cluster* cluster = resident.block->cluster) {
            cluster->end(resident.block->rank);
        }
        turn_ = residents_.size();
        if (overLimit()) return false;
    }
    turn_ = 0;
    return residents_.empty() && next_ == end_;
}

void UntimedBlocks::giveTurn(Resident& r) {
    const std::uint64_t begin = counted_.warpInstructions;
    std::uint64_t changes = changes_, changedAt = begin, patience = r.spun ? kLeastPatience : kFirstPatience;
    r.spun = false;
    while (r.block->liveWarps > 0) {
        bool moved = false;
        for (std::uint32_t w = 0; w < r.warps.size(); ++w) {
            if (!r.canMove(w)) continue;
            moved = true;
            runWarp(r, w, std::min(patience, kStretch));
        }
        const std::uint64_t steps = counted_.warpInstructions;
        if (changes_ != changes) {
            changes = changes_;
            changedAt = steps;
        }
        if (!moved || overLimit() || steps - begin > kTurn) return;
        if (steps - changedAt < patience) continue;
        r.spun = spins(r);
        if (r.spun) return;
        changedAt = counted_.warpInstructions;
        patience = std::min(2 * patience, kPatience);
    }
}

/// Whether all of its warps that can move come back to the same state at once: they wait for another block.
bool UntimedBlocks::spins(Resident& r) {
    const std::uint64_t before = changes_;
    takeSnapshots(r);
    for (std::uint32_t w = 0; w < r.warps.size(); ++w) {
        if (r.canMove(w)) watchWarp(r, w, kStretch);
        if (changes_ != before || (r.canMove(w) && !r.loops[w])) return false;
    }
    return true;
}

void UntimedBlocks::takeSnapshots(Resident& r) {
    r.snapshots.resize(r.warps.size());
    r.loops.assign(r.warps.size(), false);
    for (std::uint32_t w = 0; w < r.warps.size(); ++w)
        if (r.canMove(w)) r.warps[w].snapshot(r.snapshots[w]);
}

void UntimedBlocks::runWarp(Resident& r, std::uint32_t warp, std::uint64_t steps) {
    Warp& w = r.warps[warp];
    for (; steps; --steps) {
        const unsigned slots = w.next().slots;
        const Step step = w.step();
        counted_.warpInstructions += slots;
        counted_.threadInstructions += std::uint64_t{step.lanes} * slots;
        if (step.kind == StepKind::compute || step.kind == StepKind::control) continue;
        note(r, warp, step);
        if (!r.canMove(warp)) return;
    }
}

/// What a step did beyond its own registers.
void UntimedBlocks::note(Resident& r, std::uint32_t warp, const Step& step) {
    switch (step.kind) {
        case StepKind::memory:
        case StepKind::changePhase:
        case StepKind::awaitPhase: {
            ++counted_.memoryInstructions;
            const auto accesses = r.warps[warp].accesses();
            const bool changed = r.warps[warp].takeChange();
            if (changed || (!accesses.empty() && accesses.front().kind == AccessKind::store)) ++changes_;
            if (listener_)
                for (const Access& access : accesses) listener_->accessed(access);
            return;
        }
        case StepKind::barrierWait:
            r.waiting |= std::uint64_t{1} << warp;
            ++changes_;
            return;
        case StepKind::clusterWait:
            ++changes_;
            return;
        case StepKind::barrierPass:
        case StepKind::finished:
            r.waiting &= ~step.released;
            ++changes_;
            return;
        default:
            return;
    }
}

template <class Visit>
void UntimedBlocks::eachMovable(Visit&& visit) {
    for (const auto& resident : residents_)
        for (std::uint32_t w = 0; w < resident->warps.size(); ++w)
            if (resident->canMove(w)) visit(*resident, w);
}

/// Nothing has happened for a round: either something will, or these blocks never end. A warp that comes back to a
/// state that it was in, while nothing has happened, will do so for ever (see ProgressWatch).
void UntimedBlocks::expectProgress() {
    bool movable = false;
    eachMovable([&](Resident&, std::uint32_t) { movable = true; });
    if (!movable) {
        const Resident& r = *residents_.front();
        const auto waits = [&](const Warp& w) { return !w.finished(); };
        const auto first = std::find_if(r.warps.begin(), r.warps.end(), waits);
        throw LaunchError(
            LaunchError::Cause::deadlock,
            first->explainBarrier(static_cast<std::uint32_t>(std::count_if(r.warps.begin(), r.warps.end(), waits))));
    }
    const std::uint64_t before = changes_;
    for (std::uint64_t steps = kPatience; changes_ == before && !overLimit(); steps *= 2)
        if (watch(steps))
            eachMovable([](Resident& r, std::uint32_t w) {
                throw LaunchError(LaunchError::Cause::noProgress,
                                  r.warps[w].explainLoop("nothing is left that could end it"));
            });
}

/// Whether every warp comes back to its state within so many steps, and nothing happens meanwhile.
bool UntimedBlocks::watch(std::uint64_t steps) {
    const std::uint64_t before = changes_;
    for (const auto& resident : residents_) takeSnapshots(*resident);
    eachMovable([&](Resident& r, std::uint32_t w) {
        if (changes_ == before && !overLimit()) watchWarp(r, w, steps);
    });
    bool all = changes_ == before;
    eachMovable([&](Resident& r, std::uint32_t w) { all = all && r.loops[w]; });
    return all;
}

void UntimedBlocks::watchWarp(Resident& r, std::uint32_t warp, std::uint64_t steps) {
    Warp& w = r.warps[warp];
    const std::uint64_t before = changes_;
    for (; steps && changes_ == before && !r.loops[warp]; --steps) {
        const unsigned slots = w.next().slots;
        const Step step = w.step();
        counted_.warpInstructions += slots;
        counted_.threadInstructions += std::uint64_t{step.lanes} * slots;
        note(r, warp, step);
        if (changes_ == before && w.pc() == r.snapshots[warp].pc) r.loops[warp] = w.matches(r.snapshots[warp]);
    }
}

}  // namespace bulkhead::sim
