#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/sim_context.h"
#include "sim/sm_group.h"

namespace bulkhead::sim {

/// Groups of contexts that take turns. While another group has work, the one that has the GPU keeps it for a quantum;
/// one without work gives way at once. A launch that is queued behind another is work while it is being set up. A
/// switch waits until nothing is in flight, and then takes its time.
class TimeSlicer {
  public:
    /// `tookOver` is called when another group has got the GPU.
    TimeSlicer(SimContext&, std::function<void()> tookOver);

    std::uint32_t add(std::unique_ptr<SmGroup>);
    const std::vector<std::unique_ptr<SmGroup>>& groups() const { return groups_; }

    /// The group that has the GPU; null if there is none at all.
    SmGroup* active() const { return groups_.empty() ? nullptr : groups_[active_].get(); }
    /// The same, but null while its SMs issue nothing because a switch is under way.
    SmGroup* issuing() const { return issuing_; }
    /// Whether only the group that has the GPU has work.
    bool alone() const { return issuing_ && issuing_->hasWork() && !nextWithWork(); }

    /// To be called whenever a group gets its first or loses its last work.
    void consider();
    /// Whether a switch waits for what is in flight.
    bool draining() const { return draining_; }
    /// To be called when nothing is in flight any more: to the next group, or back to the same one if the others have
    /// lost their work meanwhile.
    void leave();

  private:
    std::optional<std::uint32_t> nextWithWork() const;
    void setActive(std::uint32_t group);
    void drain();
    void endQuantum(std::uint32_t quantum);
    void switchTo(std::uint32_t group);

    SimContext& sim_;
    std::function<void()> tookOver_;
    Cycles quantumCycles_, switchCycles_;
    std::vector<std::unique_ptr<SmGroup>> groups_;
    std::uint32_t active_ = 0;
    SmGroup* issuing_ = nullptr;
    bool draining_ = false;  ///< until nothing is in flight
    bool quantumRunning_ = false;
    std::uint32_t quantum_ = 0;  ///< generation: an old timer means nothing
};

}  // namespace bulkhead::sim
