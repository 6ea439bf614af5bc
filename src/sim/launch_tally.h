#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/counters.h"

namespace bulkhead::sim {

/// What units that advance together have counted for each launch since it was last asked for. Few launches run at a
/// time, so that looking one up is mostly a comparison.
class LaunchTally {
  public:
    /// Good until the tally is taken.
    Counters& of(std::uint32_t launch) {
        if (last_ && last_->launch == launch) return last_->counters;
        return find(launch);
    }

    /// Visits what was counted since.
    template <class Visit>
    void each(Visit&& visit) const {
        for (const auto& share : shares_) visit(share->launch, share->counters);
    }
    /// The same, and begins anew.
    template <class Visit>
    void take(Visit&& visit) {
        each(visit);
        shares_.clear();
        last_ = nullptr;
    }

  private:
    struct Share {
        std::uint32_t launch;
        Counters counters;
    };
    Counters& find(std::uint32_t launch) {
        for (const auto& share : shares_)
            if (share->launch == launch) last_ = share.get();
        if (!last_ || last_->launch != launch) {
            shares_.push_back(std::make_unique<Share>(Share{launch, {}}));
            last_ = shares_.back().get();
        }
        return last_->counters;
    }

    std::vector<std::unique_ptr<Share>> shares_;
    Share* last_ = nullptr;
};

}  // namespace bulkhead::sim
