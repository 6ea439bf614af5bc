#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "gpu/launch_log.h"

namespace bulkhead::libcuda {

/// Tells on standard error, now and then, how far a program is that simulates for long: BULKHEAD_PROGRESS=1 always, 0
/// never; without it, on a terminal.
class Progress {
  public:
    static Progress& instance();  ///< never destroyed

    void launchStarted(std::uint32_t launch);
    void launchEnded(std::uint32_t launch);
    /// Called by the simulation.
    void look(const gpu::LaunchCounters&);

  private:
    using Clock = std::chrono::steady_clock;
    Progress();
    std::string line(const gpu::LaunchCounters&) const;
    double secondsSince(Clock::time_point) const;

    const bool terminal_;
    const bool shown_;
    const Clock::time_point begun_ = Clock::now();
    double due_;
    std::uint64_t ended_ = 0;
    std::map<std::uint32_t, Clock::time_point> running_;  ///< launches, and when they started
};

}  // namespace bulkhead::libcuda
