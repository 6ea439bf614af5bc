#include "sim/sm/ciao.h"

#include <algorithm>
#include <bit>

#include "sim/sim_context.h"

namespace bulkhead::sim {

Ciao::Ciao(const SchedulerConfig& config, Means means)
    : Gto(config),
      sim_(*config.sim),
      sm_(config.sm),
      figures_(config.sim->config.ciao),
      means_(means),
      detector_(figures_.vtaTags, figures_.counterBits, config.warps),
      pairs_(config.warps),
      untilLow_(figures_.lowEpoch),
      untilHigh_(figures_.highEpoch) {
    watchesCache_ = countsInstructions_ = true;
    redirects_ = means.isolation;
    throttles_ = means.throttling;
}

std::uint32_t Ciao::activeWarps() const {
    return static_cast<std::uint32_t>(std::popcount(resident_ & allowed_));
}

void Ciao::warpStarted(std::uint32_t slot, std::uint64_t age) {
    Gto::warpStarted(slot, age);
    resident_ |= bitOf(slot);
}

void Ciao::warpFinished(std::uint32_t slot) {
    resident_ &= ~bitOf(slot);
    waiting_ &= ~bitOf(slot);
    isolated_ &= ~bitOf(slot);
    allowed_ |= bitOf(slot);
    std::erase(stalled_, static_cast<std::uint8_t>(slot));
    pairs_.ended(slot);
    keepSomeoneRunning();
}

void Ciao::warpWaits(std::uint32_t slot) {
    waiting_ |= bitOf(slot);
    keepSomeoneRunning();
}

/// The warp at the front of the warp list is examined first where it is stalled, then where it is isolated. Stalled
/// warps stand at the front in the reverse order of their stalling (III-C), and none of them issues; behind them the
/// front is the warp that issues.
void Ciao::endLowEpoch(std::uint32_t front) {
    untilLow_ += figures_.lowEpoch;
    const auto last = std::find_if(stalled_.rbegin(), stalled_.rend(),
                                   [&](std::uint8_t warp) { return mayBeReleased(pairs_[warp].stalledFor); });
    if (last != stalled_.rend()) reactivate(*last);
    if ((isolated_ & bitOf(front)) && mayBeReleased(pairs_[front].isolatedFor)) redirectBack(front);
}

/// An isolated warp is stalled where it interferes at shared memory (III-C, and W1 and W3 of Figure 6): with another
/// one that is isolated. The two caches do not affect each other, so what the list has of it from L1D is past.
void Ciao::endHighEpoch(std::uint32_t front) {
    untilHigh_ += figures_.highEpoch;
    if (!detector_.scoreExceeds(figures_.highCutoff, front, activeWarps())) return;
    const std::uint32_t interfering = detector_.mostInterfering(front);
    if (interfering == InterferenceList::kNobody || interfering == front) return;
    if (!(resident_ & allowed_ & bitOf(interfering))) return;
    if (means_.isolation && !(isolated_ & bitOf(interfering))) {
        isolate(interfering, front);
    } else if (means_.throttling && (!means_.isolation || (isolated_ & bitOf(front)))) {
        stall(interfering, front);
    }
}

/// Whether the warp for whose sake another is held back has ended, or suffers no longer.
bool Ciao::mayBeReleased(std::uint8_t interfered) const {
    return interfered == PairList::kEnded || !detector_.scoreExceeds(figures_.lowCutoff, interfered, activeWarps());
}

void Ciao::tell(Decision decision, std::uint32_t warp, std::uint8_t interfered) const {
    const bool somebody = interfered != PairList::kNobody && interfered != PairList::kEnded;
    if (sim_.observer) sim_.observer->decided(sim_.now(), sm_, {decision, warp, somebody ? interfered : kNobody});
}

void Ciao::isolate(std::uint32_t warp, std::uint32_t interfered) {
    isolated_ |= bitOf(warp);
    pairs_[warp].isolatedFor = static_cast<std::uint8_t>(interfered);
    tell(Decision::isolate, warp, pairs_[warp].isolatedFor);
}

void Ciao::redirectBack(std::uint32_t warp) {
    isolated_ &= ~bitOf(warp);
    tell(Decision::redirectBack, warp, pairs_[warp].isolatedFor);
    pairs_[warp].isolatedFor = PairList::kNobody;
}

void Ciao::stall(std::uint32_t warp, std::uint32_t interfered) {
    allowed_ &= ~bitOf(warp);
    pairs_[warp].stalledFor = static_cast<std::uint8_t>(interfered);
    stalled_.push_back(static_cast<std::uint8_t>(warp));
    tell(Decision::stall, warp, pairs_[warp].stalledFor);
    keepSomeoneRunning();
}

void Ciao::reactivate(std::uint32_t warp) {
    std::erase(stalled_, static_cast<std::uint8_t>(warp));
    allowed_ |= bitOf(warp);
    tell(Decision::reactivate, warp, pairs_[warp].stalledFor);
    pairs_[warp].stalledFor = PairList::kNobody;
}

/// Epochs end with instructions. When all active warps wait at a barrier, or none is left, only a stalled one can go
/// on: perhaps it is the one that the barrier waits for.
void Ciao::keepSomeoneRunning() {
    while (!stalled_.empty() && !(resident_ & allowed_ & ~waiting_)) reactivate(stalled_.back());
}

std::unique_ptr<WarpScheduler> makeCiaoT(const SchedulerConfig& config) {
    return std::make_unique<Ciao>(config, Ciao::Means{.isolation = false, .throttling = true});
}
std::unique_ptr<WarpScheduler> makeCiaoP(const SchedulerConfig& config) {
    return std::make_unique<Ciao>(config, Ciao::Means{.isolation = true, .throttling = false});
}
std::unique_ptr<WarpScheduler> makeCiaoC(const SchedulerConfig& config) {
    return std::make_unique<Ciao>(config, Ciao::Means{.isolation = true, .throttling = true});
}

}  // namespace bulkhead::sim
