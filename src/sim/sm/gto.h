#pragma once

#include <bit>
#include <vector>

#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// Greedy then oldest: stays with a warp while it can issue, then takes the oldest that can. Policies that throttle,
/// redirect or bypass derive from it, and leave the order of the rest to it.
class Gto : public WarpScheduler {
  public:
    explicit Gto(const SchedulerConfig& config) : greedy_(static_cast<std::size_t>(config.schedulers), 0) {}

    int pick(int scheduler, WarpMask eligible) final {
        int& greedy = greedy_[static_cast<std::size_t>(scheduler)];
        if (eligible >> greedy & 1) return greedy;
        int oldest = std::countr_zero(eligible);
        for (WarpMask rest = eligible & (eligible - 1); rest; rest &= rest - 1) {
            const int slot = std::countr_zero(rest);
            if (age_[slot] < age_[oldest]) oldest = slot;
        }
        return greedy = oldest;
    }
    void warpStarted(std::uint32_t slot, std::uint64_t age) override { age_[slot] = age; }

  protected:
    std::uint64_t ageOf(std::uint32_t slot) const { return age_[slot]; }

  private:
    std::vector<int> greedy_;
    std::uint64_t age_[kMaxWarps] = {};
};

}  // namespace bulkhead::sim
