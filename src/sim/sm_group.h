#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/launch.h"
#include "sim/observer_log.h"
#include "sim/sm/sm.h"

namespace bulkhead::sim {

/// The SMs as contexts that run side by side see them. Each group has SM state of its own: a switch changes which
/// group has the GPU.
class SmGroup {
  public:
    /// `logs`: one for each SM, or none.
    SmGroup(SimShared&, const CrossbarLatency&, const std::vector<ObserverLog*>& logs, std::uint32_t firstPort,
            const SchedulerChoice&);

    std::vector<LaunchId> running;  ///< launches that have started, by priority, then oldest first
    std::uint32_t nextSm = 0;       ///< the first to be tried for the next block

    bool hasWork() const { return !running.empty(); }
    const std::vector<std::unique_ptr<Sm>>& sms() const { return sms_; }

  private:
    std::vector<std::unique_ptr<Sm>> sms_;
};

}  // namespace bulkhead::sim
