#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/insight.h"
#include "sim/observers.h"
#include "sim/timeline.h"

namespace bulkhead::metrics {

/// What someone asked to see of a simulated run beside its results: a trace of what ran where and when, and why it went
/// as it did.
class Watching {
  public:
    Watching(const arch::DeviceProfile&, bool timeline, bool insight);
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;

    /// That watches the same run.
    void add(sim::Observer& other) { all_.add(other); }
    sim::Observer& observer() { return all_; }

    void nameLaunch(std::uint32_t launch, const std::string& kernel) {
        if (timeline_) timeline_->nameLaunch(launch, kernel);
    }
    /// For Perfetto and chrome://tracing.
    std::string timeline() const { return timeline_ ? timeline_->json() : std::string(); }
    /// Tables, whose titles begin with what was run.
    std::vector<Result> insight(const std::string& run) const;

  private:
    std::optional<sim::Timeline> timeline_;
    std::optional<sim::Insight> insight_;
    sim::Observers all_;
};

/// As a page if the file's name ends so, with the trace, or else as JSON without it.
void writeInsight(const std::string& file, const std::string& title, const std::vector<Result>&,
                  const std::string& trace);

}  // namespace bulkhead::metrics
