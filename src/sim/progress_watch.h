#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/block_dispatcher.h"
#include "sim/launch.h"
#include "sim/numbered.h"
#include "sim/streams.h"
#include "sim/time_slicer.h"
#include "sim/units.h"

namespace bulkhead::sim {

/// Finds launches that can never end.
///
/// A warp that comes back to a state it was in, while nothing happened that it could be waiting for, will do so for
/// ever. When that holds for every warp, no launch can end any more. States are compared only once nothing has happened
/// for a whole interval, so that ordinary kernels pay nothing.
class ProgressWatch {
  public:
    ProgressWatch(const Simulation&, const Units&, const TimeSlicer&, const Streams&, const BlockDispatcher&,
                  const Numbered<Launch>&);

    Cycles due() const { return due_; }
    /// Launches that go round in circles; to be called when it is due.
    std::vector<FailedLaunch> check();
    /// Launches that have not ended, when nothing can happen any more.
    std::vector<FailedLaunch> stuck() const;

  private:
    static constexpr Cycles kInterval = 50'000;

    std::uint64_t effects() const { return sim_.effects() + units_.effects(slicer_.active()); }
    bool everyWarpLoops() const;
    void snapshot();
    void stopWatching();
    const std::string& kernelOf(LaunchId launch) const { return launches_[launch].record.kernel; }

    const Simulation& sim_;
    const Units& units_;
    const TimeSlicer& slicer_;
    const Streams& streams_;
    const BlockDispatcher& dispatcher_;
    const Numbered<Launch>& launches_;
    Cycles due_ = kInterval;
    SmGroup* watched_ = nullptr;  ///< whose warps are compared with states that were noted
    Cycles begun_ = 0;            ///< when they were
    std::uint64_t seenEffects_ = 0;
};

}  // namespace bulkhead::sim
