#pragma once

#include <bit>
#include <vector>

#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// Greedy then oldest: stays with a warp while it can issue, then takes the oldest that can. Policies that throttle,
/// redirect or bypass derive from it, and leave the order of the rest to it.
class Gto : public WarpScheduler {
  public:
    explicit Gto(const SchedulerConfig& config) : greedy_(config.schedulers, 0) {}

    int pick(int scheduler, WarpMask eligible) final {
        int& greedy = greedy_[static_cast<std::size_t>(scheduler)];
        if (eligible >> greedy & 1) return greedy;
        int oldest = std::countr_zero(eligible);
        while (const WarpMask older = eligible & older_[oldest]) oldest = std::countr_zero(older);
        return greedy = oldest;
    }
    void warpStarted(std::uint32_t slot, std::uint64_t age) override {
        age_[slot] = age;
        for (WarpMask& older : older_) older &= ~bitOf(slot);
        older_[slot] = ~bitOf(slot);
    }

  protected:
    std::uint64_t ageOf(std::uint32_t slot) const { return age_[slot]; }

  private:
    std::vector<int> greedy_;
    std::uint64_t age_[kMaxWarps] = {};
    WarpMask older_[kMaxWarps] = {};  ///< by slot: those whose warps started before its own
};

}  // namespace bulkhead::sim
