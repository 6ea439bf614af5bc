#pragma once

#include <cstdint>
#include <vector>

#include "sim/launch.h"
#include "sim/numbered.h"
#include "sim/time_slicer.h"
#include "sim/units.h"

namespace bulkhead::sim {

/// Ends launches after the time that each was given, and all after a number of instructions.
class LaunchLimits {
  public:
    LaunchLimits(const SimContext&, const Units&, const TimeSlicer&, Numbered<Launch>&);

    void limitInstructions(std::uint64_t warpInstructions);
    bool instructionsReached() const { return reached_; }

    void started(Launch&);
    void ended(const Launch&);
    /// Where the instructions have been used up: what ends a launch as it starts.
    LaunchError outOfInstructions(const Launch&) const;
    static LaunchError outOfTime(const Launch&);
    /// Warp instructions that may still be executed.
    std::uint64_t instructionsLeft() const;
    /// Launches that run, if no more may be executed.
    std::vector<FailedLaunch> checkInstructions();

    Cycles due() const { return due_; }
    /// Launches that are over a limit; to be called when it is due.
    std::vector<FailedLaunch> check();

  private:
    static constexpr Cycles kInstructionInterval = 1'000;

    void checkDeadlines(std::vector<FailedLaunch>&);
    std::uint64_t executed() const;
    template <class Visit>
    void eachRunning(Visit&&) const;

    const SimContext& sim_;
    const Units& units_;
    const TimeSlicer& slicer_;
    Numbered<Launch>& launches_;
    Cycles due_ = kNever;  ///< the earlier of the two below
    Cycles earliestDeadline_ = kNever, nextCount_ = kNever;
    std::uint64_t instructionLimit_ = 0;   ///< of warps
    std::uint64_t endedInstructions_ = 0;  ///< by launches that are over
    bool reached_ = false;
};

}  // namespace bulkhead::sim
