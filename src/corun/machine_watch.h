#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "corun/actor.h"
#include "gpu/launch_log.h"
#include "sim/observer.h"

namespace bulkhead::corun {

/// Notes when contexts have a GPU that counts launches, and where on it those run.
class MachineWatch final : public sim::Observer {
  public:
    void contextSwitched(Cycles at, std::uint32_t toGroup) override;
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch, std::uint64_t block) override;
    void launchEnded(Cycles, std::uint32_t launch) override;

    /// Cycles between two moments in which the context that has the GPU at a third one did not have it.
    Cycles awayBetween(Cycles from, Cycles to, Cycles home, Cycles switchCycles) const;
    /// None where no block of it has started.
    std::set<unsigned> sms(std::uint32_t launch) const;
    /// In the order in which they ended.
    const std::vector<std::uint32_t>& ended() const { return ended_; }

  private:
    std::vector<std::pair<Cycles, std::uint32_t>> switches_;
    std::map<std::uint32_t, std::set<unsigned>> sms_;
    std::vector<std::uint32_t> ended_;
};

/// What is known of a run whose clock is the GPU's: fills in what happened on the machine between its times.
void addMachineSide(ActorRun&, const gpu::LaunchCounters&, const MachineWatch&);
/// From the first launch's start to the last one's end. Nothing where there are none.
std::optional<ActorRun> runOfLaunches(const std::vector<gpu::Launch>&, const gpu::LaunchCounters&, const MachineWatch&);

}  // namespace bulkhead::corun
