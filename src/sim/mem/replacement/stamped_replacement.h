#pragma once

#include <vector>

#include "sim/mem/replacement_policy.h"

namespace bulkhead::sim {

/// Lines in the order of a stamp, which counts the accesses of their set: LRU and FIFO differ in when it is renewed.
class StampedReplacement : public ReplacementPolicy {
  public:
    StampedReplacement(std::uint32_t sets, std::uint32_t ways)
        : ways_(ways), stamp_(std::size_t{sets} * ways, 0), clock_(sets, 0) {}

    void bring(std::uint32_t set, std::uint32_t way, std::uint64_t younger) final {
        stamp_[way] = ++clock_[set] + younger;
    }
    /// An empty way, whose stamp is 0, before all others.
    std::uint32_t victim(std::uint32_t set, std::span<const LineState> lines) final {
        const std::uint32_t base = set * ways_;
        std::uint32_t oldest = kNoWay;
        for (std::uint32_t i = 0; i < ways_; ++i)
            if (!lines[i].pending && (oldest == kNoWay || stamp_[base + i] < stamp_[oldest])) oldest = base + i;
        return oldest;
    }

    void forget(std::uint32_t way) final { stamp_[way] = 0; }

  protected:
    /// Never makes a line older.
    void renew(std::uint32_t set, std::uint32_t way) {
        const std::uint64_t now = ++clock_[set];
        if (now > stamp_[way]) stamp_[way] = now;
    }

  private:
    std::uint32_t ways_;
    std::vector<std::uint64_t> stamp_, clock_;
};

}  // namespace bulkhead::sim
