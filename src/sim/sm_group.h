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
    /// `logs`: one for each SM and each copy of it, or none.
    SmGroup(SimShared&, const CrossbarLatency&, const std::vector<ObserverLog*>& logs, std::uint32_t firstPort,
            const SchedulerChoice&);

    std::vector<LaunchId> running;       ///< launches that have started, by priority, then oldest first
    std::uint32_t expected = 0;          ///< launches that nothing but their own latency and set-up keeps from running
    std::vector<std::uint32_t> order;    ///< of SMs, for blocks
    bool orderIsWhole = false;           ///< each was to have one
    std::uint32_t nextPlace = 0;         ///< in it, that is tried first for the next block
    std::vector<std::size_t> nextOfGpc;  ///< the same for clusters, of each GPC's SMs

    bool hasWork() const { return !running.empty(); }
    /// Nor will have some by itself.
    bool idle() const { return running.empty() && !expected; }
    /// All of them; where SMs are separate (Separation), those of neighbours behind the others.
    const std::vector<std::unique_ptr<Sm>>& sms() const { return sms_; }
    /// SMs that launches can tell apart.
    std::uint32_t count() const { return count_; }
    Sm& sm(std::uint32_t number, LaunchId launch) const {
        return *sms_[number + count_ * separation_.copyOf(Resource::sms, launch)];
    }
    /// Whether an SM has room for such a block.
    bool fits(std::uint32_t number, const BlockNeeds& needs, const OnChipDivision& division) const {
        if (sms_.size() == count_) return sms_[number]->fits(needs, division);
        return sms_[number]->fitsBeside(*sms_[number + count_], needs, division);
    }

  private:
    const Separation& separation_;
    std::uint32_t count_;
    std::vector<std::unique_ptr<Sm>> sms_;
};

}  // namespace bulkhead::sim
