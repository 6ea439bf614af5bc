#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// The N oldest warps of an SM that can run. Each scheduler has its share of the places and gives them to warps of its
/// own; it has one at least, or its warps would never run. A warp that waits at a barrier hands its place on, or a
/// block with more warps than places would never get past it.
class OldestWarps {
  public:
    OldestWarps(int limit, std::uint32_t schedulers) : limit_(limit), own_(schedulers, 0) {
        for (std::uint32_t slot = 0; slot < kMaxWarps; ++slot) own_[slot % own_.size()] |= bitOf(slot);
    }

    void started(std::uint32_t slot, std::uint64_t age) {
        age_[slot] = age;
        running_ |= bitOf(slot);
        choose();
    }
    void resumed(std::uint32_t slot) {
        running_ |= bitOf(slot);
        choose();
    }
    /// It waits at a barrier, or has ended.
    void stopped(std::uint32_t slot) {
        running_ &= ~bitOf(slot);
        choose();
    }

    int limit() const { return limit_; }
    void setLimit(int limit) {
        limit_ = limit;
        choose();
    }
    WarpMask chosen() const { return chosen_; }
    WarpMask notChosen() const { return running_ & ~chosen_; }

  private:
    void choose() {
        const int schedulers = static_cast<int>(own_.size());
        chosen_ = 0;
        for (int scheduler = 0; scheduler < schedulers; ++scheduler)
            chosen_ |= oldest(running_ & own_[static_cast<std::size_t>(scheduler)],
                              std::max(1, (limit_ + schedulers - 1 - scheduler) / schedulers));
    }
    WarpMask oldest(WarpMask of, int places) const {
        if (std::popcount(of) <= places) return of;
        std::uint8_t slots[kMaxWarps];
        int count = 0;
        for (; of; of &= of - 1) slots[count++] = static_cast<std::uint8_t>(std::countr_zero(of));
        std::nth_element(slots, slots + places, slots + count,
                         [&](std::uint8_t a, std::uint8_t b) { return age_[a] < age_[b]; });
        WarpMask chosen = 0;
        for (int i = 0; i < places; ++i) chosen |= bitOf(slots[i]);
        return chosen;
    }

    int limit_;
    std::vector<WarpMask> own_;  ///< by scheduler
    WarpMask running_ = 0, chosen_ = 0;
    std::uint64_t age_[kMaxWarps] = {};
};

}  // namespace bulkhead::sim
