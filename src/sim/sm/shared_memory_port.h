#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/units.h"

namespace bulkhead::sim {

/// What an SM's shared memory gives in a cycle. Loads, stores and bulk copies take theirs as they come, products of
/// warpgroups what is left: so far ahead as they are queued, others take what they leave idle before they put them off.
class SharedMemoryPort {
  public:
    explicit SharedMemoryPort(std::uint64_t bytesPerCycle) : width_(bytesPerCycle) {}

    std::uint64_t width() const { return width_; }

    void take(Cycles now, std::uint64_t bytes) {
        if (free_ != 0) [[unlikely]]  // there are products
            takeBeside(now, bytes);
    }
    /// For something that is queued now and starts then. Returns when it has them.
    Cycles takeLater(Cycles now, Cycles start, std::uint64_t bytes) {
        const std::uint64_t at = start * width_, begin = std::max(free_, now * width_);
        while (!gaps_.empty() && gaps_.front().end <= now * width_) gaps_.pop_front();
        if (begin < at) gaps_.push_back({begin, at});
        free_ = std::max(free_, at) + bytes;
        return (free_ + width_ - 1) / width_;
    }

  private:
    [[gnu::noinline]] void takeBeside(Cycles now, std::uint64_t bytes) {
        const std::uint64_t at = now * width_;
        if (free_ <= at) {
            gaps_.clear();
            free_ = at + bytes;
            return;
        }
        for (; bytes && !gaps_.empty(); gaps_.pop_front()) {
            Gap& gap = gaps_.front();
            gap.begin = std::max(gap.begin, at);
            if (gap.begin >= gap.end) continue;
            const std::uint64_t taken = std::min(bytes, gap.end - gap.begin);
            bytes -= taken;
            gap.begin += taken;
            if (gap.begin < gap.end) return;
        }
        free_ += bytes;
    }
    /// In which nobody takes anything, in bytes that could have passed until it begins and until it ends.
    struct Gap {
        std::uint64_t begin, end;
    };

    std::uint64_t width_;
    std::uint64_t free_ = 0;  ///< when nobody takes anything any more, likewise
    std::deque<Gap> gaps_;    ///< before
};

}  // namespace bulkhead::sim
