#include "sim/launch_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace bulkhead::sim {

LaunchLimits::LaunchLimits(const SimContext& sim, const Units& units, const TimeSlicer& slicer,
                           Numbered<Launch>& launches)
    : sim_(sim), units_(units), slicer_(slicer), launches_(launches) {}

template <class Visit>
void LaunchLimits::eachRunning(Visit&& visit) const {
    for (const auto& group : slicer_.groups())
        for (LaunchId id : group->running) visit(launches_[id]);
}

void LaunchLimits::limitInstructions(std::uint64_t warpInstructions) {
    instructionLimit_ = warpInstructions;
    nextCount_ = sim_.now();
    due_ = std::min(due_, nextCount_);
}

void LaunchLimits::started(Launch& launch) {
    if (!launch.spec.maxCycles) return;
    launch.deadline = sim_.now() + launch.spec.maxCycles;
    earliestDeadline_ = std::min(earliestDeadline_, launch.deadline);
    due_ = std::min(due_, earliestDeadline_);
}

void LaunchLimits::ended(const Launch& launch) {
    endedInstructions_ += units_.warpInstructions(launch.record.id);
}

LaunchError LaunchLimits::outOfInstructions(const Launch& launch) const {
    return LaunchError(LaunchError::Cause::timeout,
                       fmt::format("kernel {} was ended by the limit of {} warp instructions", launch.record.kernel,
                                   instructionLimit_));
}

LaunchError LaunchLimits::outOfTime(const Launch& launch) {
    return LaunchError(LaunchError::Cause::timeout, fmt::format("kernel {} did not end within {} cycles",
                                                                launch.record.kernel, launch.spec.maxCycles));
}

std::vector<FailedLaunch> LaunchLimits::check() {
    std::vector<FailedLaunch> failed;
    if (sim_.now() >= earliestDeadline_) checkDeadlines(failed);
    if (sim_.now() >= nextCount_) {
        nextCount_ = sim_.now() + kInstructionInterval;
        std::ranges::move(checkInstructions(), std::back_inserter(failed));
    }
    due_ = std::min(earliestDeadline_, nextCount_);
    return failed;
}

void LaunchLimits::checkDeadlines(std::vector<FailedLaunch>& failed) {
    earliestDeadline_ = kNever;
    eachRunning([&](const Launch& launch) {
        if (launch.deadline > sim_.now()) {
            earliestDeadline_ = std::min(earliestDeadline_, launch.deadline);
            return;
        }
        failed.push_back({launch.record.id, outOfTime(launch)});
    });
}

std::uint64_t LaunchLimits::executed() const {
    std::uint64_t executed = endedInstructions_;
    eachRunning([&](const Launch& launch) { executed += units_.warpInstructions(launch.record.id); });
    return executed;
}

std::uint64_t LaunchLimits::instructionsLeft() const {
    if (!instructionLimit_) return ~std::uint64_t{0};
    return instructionLimit_ - std::min(instructionLimit_, executed());
}

std::vector<FailedLaunch> LaunchLimits::checkInstructions() {
    std::vector<FailedLaunch> failed;
    if (instructionsLeft()) return failed;
    reached_ = true;
    nextCount_ = kNever;
    eachRunning([&](const Launch& launch) { failed.push_back({launch.record.id, outOfInstructions(launch)}); });
    return failed;
}

}  // namespace bulkhead::sim
