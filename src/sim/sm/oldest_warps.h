#pragma once

#include <algorithm>
#include <bit>

#include "sim/sm/warp_scheduler.h"

namespace bulkhead::sim {

/// The N oldest warps of an SM that can run. One that waits at a barrier hands its place on, or a block with more warps
/// than places would never get past it.
class OldestWarps {
  public:
    explicit OldestWarps(int limit) : limit_(limit) {}

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
        if (std::popcount(running_) <= limit_) {
            chosen_ = running_;
            return;
        }
        std::uint8_t slots[kMaxWarps];
        int count = 0;
        for (WarpMask rest = running_; rest; rest &= rest - 1)
            slots[count++] = static_cast<std::uint8_t>(std::countr_zero(rest));
        std::nth_element(slots, slots + limit_, slots + count,
                         [&](std::uint8_t a, std::uint8_t b) { return age_[a] < age_[b]; });
        chosen_ = 0;
        for (int i = 0; i < limit_; ++i) chosen_ |= bitOf(slots[i]);
    }

    int limit_;
    WarpMask running_ = 0, chosen_ = 0;
    std::uint64_t age_[kMaxWarps] = {};
};

}  // namespace bulkhead::sim
