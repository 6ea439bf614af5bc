#include "sim/sm/warp_limit_search.h"

#include <algorithm>

namespace bulkhead::sim {

void WarpLimitSearch::begin(std::uint32_t warps, std::uint32_t schedulers) {
    count_ = 0;
    for (const std::uint32_t each : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u})
        if (each * schedulers < warps) limits_[count_++] = each * schedulers;
    limits_[count_++] = kAllWarps;
    beginDescent();
}

void WarpLimitSearch::beginDescent() {
    rates_.fill(0);
    at_ = best_ = count_ - 1;
    phase_ = Phase::descent;
}

void WarpLimitSearch::measured(std::uint64_t rate) {
    rate = std::max<std::uint64_t>(rate, 1);
    switch (phase_) {
        case Phase::descent:
        case Phase::neighbours:
            rates_[at_] = rate;
            if (rate > rates_[best_]) best_ = at_;
            return phase_ == Phase::descent ? descend() : tryNeighbours();
        case Phase::kept:
            return lookAround(rate);
        case Phase::aside:
            if (rate * 100 > rates_[best_] * kFaster) {
                rates_[at_] = rate;
                return keep(at_);
            }
            at_ = best_;
            phase_ = Phase::kept;
            patience_ = std::min(2 * patience_, kMostPatience);
    }
}

void WarpLimitSearch::descend() {
    if (at_ == 0 || rates_[at_] * 100 < rates_[best_] * kSlower) return tryNeighbours();
    at_ -= std::min<std::size_t>(at_, 2);
}

void WarpLimitSearch::tryNeighbours() {
    phase_ = Phase::neighbours;
    for (const std::size_t near : {best_ - 1, best_ + 1}) {
        if (near >= count_ || rates_[near]) continue;
        at_ = near;
        return;
    }
    keep(best_);
}

void WarpLimitSearch::keep(std::size_t at) {
    at_ = best_ = at;
    phase_ = Phase::kept;
    trials_ = others_ = 0;
    patience_ = kFirstPatience;
}

bool WarpLimitSearch::isAnother(std::uint64_t rate) const {
    return rate * 100 > rates_[at_] * kAnother || rate * kAnother < rates_[at_] * 100;
}

/// The speed of the limit that is kept is a moving average.
void WarpLimitSearch::lookAround(std::uint64_t rate) {
    if (isAnother(rate)) {
        if (++others_ == kTrialsOfAnother) beginDescent();
        return;
    }
    others_ = 0;
    rates_[at_] = (3 * rates_[at_] + rate) / 4;
    if (++trials_ < patience_ || count_ == 1) return;
    trials_ = 0;
    upwards_ = at_ == 0 || (at_ + 1 != count_ && !upwards_);
    at_ = upwards_ ? at_ + 1 : at_ - 1;
    phase_ = Phase::aside;
}

}  // namespace bulkhead::sim
