#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/launch.h"
#include "sim/mem/memory_partition.h"
#include "sim/numbered.h"
#include "sim/observer_log.h"
#include "sim/sm/coalescer.h"
#include "sim/sm_group.h"
#include "sim/thread_team.h"

namespace bulkhead::sim {

/// The SMs and memory partitions of a simulated GPU. Each has a time of its own and advances apart from all others for
/// a window, which is no longer than the shortest way between two of them: nothing that one sends in a window reaches
/// another within it. At its end they exchange what they have sent, in the order of their numbers. So it makes no
/// difference in which order, or at once, they advance.
class Units {
  public:
    Units(SimShared&, Observer*, unsigned threads);
    ~Units();

    Cycles longestWindow() const { return latency_.shortest(); }
    ThreadTeam& team() { return team_; }

    std::unique_ptr<SmGroup> makeGroup(const SchedulerChoice&);
    void addLaunch() { counted_.add({}); }
    void forgetLaunch(LaunchId id) { counted_.forget(id); }

    /// The earliest time at which a unit has something to do, or kNever. `group` has the GPU.
    Cycles nextEvent(const SmGroup* group, bool issues) const;
    /// Lets a window, or a part of it, pass.
    void advanceTo(Cycles end, SmGroup* group, bool issues);
    /// Ends a window: what was sent is on its way to others.
    void exchange(SmGroup* group);
    /// Ends it for observers.
    void tellObserver();

    /// What an access to a line, by its physical address, does to L2's tags, without time.
    void touchL2(const Transaction&, AccessKind, LaunchId);
    /// What a copy from elsewhere, written to DRAM, leaves there.
    void keepCopiedInL2(const Transaction&);
    /// How many ways of an L2 set may hold persisting lines; and these are like any other from now on.
    void setPersistingWays(std::uint32_t ways);
    void resetPersisting();

    /// A request of a copy reaches its slice then.
    void sendCopied(RequestId, Cycles when);
    /// Visits what slices have answered to copies, in the order of partitions.
    template <class Visit>
    void takeCopied(Visit&& visit) {
        for (const auto& partition : partitions_) {
            for (const Message& message : partition->port().copied()) visit(message);
            partition->port().copied().clear();
        }
    }

    /// Requests under way.
    std::uint64_t requests(const SmGroup* group) const;
    std::uint64_t effects(const SmGroup* group) const;

    Counters counters(LaunchId) const;
    Counters totals() const;
    std::uint64_t warpInstructions(LaunchId) const;
    /// Gathers what units have counted: for launches that are over.
    void gatherCounters();
    /// What was executed without time.
    void count(LaunchId, const Counters&);
    /// In place of what was counted and gathered.
    void setCounters(LaunchId, const Counters&);

  private:
    void showEffects(SmGroup&);
    void deliver(SmGroup*);
    template <class Work>
    void share(std::size_t parts, const Work&);
    template <class Visit>
    void eachTally(Visit&&) const;

    SimShared& shared_;
    CrossbarLatency latency_;
    Observer* observer_;
    std::vector<std::unique_ptr<ObserverLog>> logs_;  ///< of SMs by number, then of partitions; none without observer
    std::vector<std::unique_ptr<MemoryPartition>> partitions_;
    std::vector<Sm*> sms_;  ///< by port
    ThreadTeam team_;
    std::vector<Sm*> busySms_;  ///< in this part of a window
    std::vector<MemoryPartition*> busyPartitions_;
    std::vector<Sm*> sendingSms_, receivingSms_;  ///< at the end of a window
    std::vector<MemoryPartition*> sendingPartitions_;
    std::vector<std::uint32_t> receivingPartitions_;
    std::vector<std::uint8_t> isReceiving_;  ///< by partition, then by port
    Numbered<Counters> counted_;             ///< by launch
    Counters total_;                         ///< of them
};

}  // namespace bulkhead::sim
