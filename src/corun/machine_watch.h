#pragma once

#include <map>
#include <set>
#include <vector>

#include "corun/actor.h"
#include "gpu/launch_log.h"
#include "sim/observer.h"

namespace bulkhead::corun {

/// Notes where on a GPU that counts launches those run.
class MachineWatch final : public sim::Observer {
  public:
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch, std::uint64_t block) override;
    void launchEnded(Cycles, std::uint32_t launch) override;

    /// None where no block of it has started.
    std::set<unsigned> sms(std::uint32_t launch) const;
    /// In the order in which they ended.
    const std::vector<std::uint32_t>& ended() const { return ended_; }

  private:
    std::map<std::uint32_t, std::set<unsigned>> sms_;
    std::vector<std::uint32_t> ended_;
};

/// From the first launch's start to the last one's end. Nothing where there are none.
std::optional<ActorRun> runOfLaunches(const std::vector<gpu::Launch>&, const gpu::LaunchCounters&, const MachineWatch&);

}  // namespace bulkhead::corun
