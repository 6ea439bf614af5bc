#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "corun/actor.h"
#include "sim/gpu.h"
#include "sim/observer.h"

namespace bulkhead::corun {

/// Notes when contexts have a simulated GPU, and where on it launches run.
class MachineWatch final : public sim::Observer {
  public:
    void contextSwitched(Cycles at, std::uint32_t toGroup) override;
    void blockStarted(Cycles, std::uint32_t sm, std::uint32_t slot, std::uint32_t launch, std::uint64_t block) override;
    void launchEnded(Cycles, std::uint32_t launch) override;

    /// Cycles between two moments in which the context that has the GPU at a third one did not have it.
    Cycles awayBetween(Cycles from, Cycles to, Cycles home, Cycles switchCycles) const;
    /// None where no block of it has started.
    std::set<unsigned> multiprocessors(sim::LaunchId) const;
    /// In the order in which they ended.
    const std::vector<sim::LaunchId>& ended() const { return ended_; }

  private:
    std::vector<std::pair<Cycles, std::uint32_t>> switches_;
    std::map<sim::LaunchId, std::set<unsigned>> multiprocessors_;
    std::vector<sim::LaunchId> ended_;
};

/// What is known of a run whose clock is the GPU's: fills in what happened on the machine between its times.
void addMachineSide(ActorRun&, const sim::Gpu&, const MachineWatch&);
/// From the first launch's start to the last one's end. Nothing where there are none.
std::optional<ActorRun> runOfLaunches(const std::vector<sim::LaunchId>&, const sim::Gpu&, const MachineWatch&);

}  // namespace bulkhead::corun
