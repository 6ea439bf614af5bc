#include "sim/progress_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace bulkhead::sim {
namespace {

/// What the first SM says that knows something of the launch.
std::string firstReason(const SmGroup& group, LaunchId launch, std::string (Sm::*explain)(std::uint32_t) const) {
    for (const auto& sm : group.sms())
        if (std::string why = (*sm.*explain)(launch); !why.empty()) return why;
    return {};
}

}  // namespace

ProgressWatch::ProgressWatch(const Simulation& sim, const Units& units, const TimeSlicer& slicer,
                             const Streams& streams, const BlockDispatcher& dispatcher,
                             const Numbered<Launch>& launches)
    : sim_(sim), units_(units), slicer_(slicer), streams_(streams), dispatcher_(dispatcher), launches_(launches) {}

std::vector<FailedLaunch> ProgressWatch::stuck() const {
    std::vector<FailedLaunch> failed;
    const SmGroup* group = slicer_.active();
    if (!group) return failed;
    for (LaunchId id : group->running) {
        std::string why = firstReason(*group, id, &Sm::explainStuck);
        if (why.empty()) why = fmt::format("kernel {} can make no progress", kernelOf(id));
        failed.push_back({id, LaunchError(LaunchError::Cause::deadlock, why)});
    }
    return failed;
}

std::vector<FailedLaunch> ProgressWatch::check() {
    due_ = sim_.now() + kInterval;
    const bool nothingToCome = slicer_.alone() && !streams_.pending() && !dispatcher_.scheduled();
    if (!nothingToCome || effects() != seenEffects_) {
        seenEffects_ = effects();
        stopWatching();
        return {};
    }
    if (!watched_) {
        snapshot();
        return {};
    }
    if (!everyWarpLoops()) {
        // A longer period than an interval: begin again with the state of now, and give it twice as long.
        due_ = sim_.now() + 2 * (due_ - begun_);
        snapshot();
        return {};
    }
    stopWatching();
    std::vector<FailedLaunch> failed;
    for (LaunchId id : slicer_.active()->running) {
        std::string why = firstReason(*slicer_.active(), id, &Sm::explainLoop);
        if (why.empty())
            why = fmt::format("no progress: kernel {} waits for one that goes round in circles", kernelOf(id));
        failed.push_back({id, LaunchError(LaunchError::Cause::noProgress, why)});
    }
    return failed;
}

/// Warps that have ended, and wait until what they wrote has arrived, are none that loop.
bool ProgressWatch::everyWarpLoops() const {
    const auto& sms = slicer_.active()->sms();
    return std::ranges::all_of(sms, [](const auto& sm) { return sm->allWarpsLoop(); }) &&
           std::ranges::any_of(sms, [](const auto& sm) { return sm->someWarpLoops(); });
}

void ProgressWatch::snapshot() {
    watched_ = slicer_.active();
    for (const auto& sm : watched_->sms()) sm->watchWarps();
    begun_ = sim_.now();
}

void ProgressWatch::stopWatching() {
    if (!watched_) return;
    for (const auto& sm : watched_->sms()) sm->stopWatching();
    watched_ = nullptr;
}

}  // namespace bulkhead::sim
