#include "sim/sm/ciao_a.h"

#include <bit>

#include "sim/sim_context.h"

namespace bulkhead::sim {

CiaoA::CiaoA(const SchedulerConfig& config)
    : Gto(config),
      sim_(*config.sim),
      sm_(config.sm),
      schedulers_(config.schedulers),
      figures_(config.sim->config.ciao),
      detector_(figures_.vtaTags, figures_.counterBits, config.warps),
      oldest_(WarpLimitSearch::kAllWarps, config.schedulers) {
    throttles_ = watchesCache_ = redirects_ = countsInstructions_ = true;
    allowed_ = 0;
    begin(0, figures_.trial);
}

void CiaoA::kernelStarted() {
    detector_.kernelStarted();
    const bool hadActed = pooled_ || searching_;
    pooled_ = searching_ = settling_ = relieved_ = false;
    unended_ = 0;
    setLimit(WarpLimitSearch::kAllWarps);
    if (hadActed) tell(Decision::forget);
    begin(sim_.now(), figures_.trial);
}

void CiaoA::tell(Decision decision) const {
    if (!sim_.observer) return;
    const bool all = limit() == WarpLimitSearch::kAllWarps;
    sim_.observer->decided(sim_.now(), sm_, {.decision = decision, .limit = all ? 0 : limit()});
}

void CiaoA::warpStarted(std::uint32_t slot, std::uint64_t age) {
    Gto::warpStarted(slot, age);
    resident_ |= bitOf(slot);
    oldest_.started(slot, age);
    allowed_ = oldest_.chosen();
}

void CiaoA::warpFinished(std::uint32_t slot) {
    resident_ &= ~bitOf(slot);
    unended_ = 0;
    warpWaits(slot);
}

void CiaoA::warpWaits(std::uint32_t slot) {
    oldest_.stopped(slot);
    allowed_ = oldest_.chosen();
}

void CiaoA::warpResumes(std::uint32_t slot) {
    oldest_.resumed(slot);
    allowed_ = oldest_.chosen();
}

void CiaoA::observe(const CacheEvent& event) {
    const std::uint64_t before = detector_.vtaHits(event.warp);
    detector_.observe(event);
    vtaHits_ += detector_.vtaHits(event.warp) - before;
}

/// The mean of the warps' scores (equation 1) over the trial is above the high cut-off.
bool CiaoA::warpsInterfere() const {
    return vtaHits_ * 1'000'000 > figures_.highCutoff * instructions_;
}

void CiaoA::begin(Cycles now, Cycles length) {
    since_ = now;
    due_ = now + length;
    instructions_ = vtaHits_ = 0;
}

void CiaoA::setLimit(std::uint32_t limit) {
    oldest_.setLimit(static_cast<int>(limit));
    allowed_ = oldest_.chosen();
}

void CiaoA::search(std::uint64_t rate) {
    const bool settledBefore = search_.settled();
    search_.measured(rate);
    const bool another = search_.limit() != limit();
    if (another) setLimit(search_.limit());
    if (search_.settled() && !settledBefore) {
        tell(Decision::keepLimit);
    } else if (another) {
        tell(Decision::tryLimit);
    }
}

void CiaoA::advance(Cycles now) {
    if (relieved_) {
        relieved_ = false;
        settling_ = true;
        setLimit(search_.limit());
        tell(search_.settled() ? Decision::keepLimit : Decision::tryLimit);
        return begin(now, figures_.trial / 2);
    }
    if (settling_) {
        settling_ = false;
        return begin(now, figures_.trial);
    }
    const std::uint32_t limitBefore = limit();
    const bool pooledBefore = pooled_;
    if (!searching_ && warpsInterfere()) {
        if (figures_.pools && !pooled_) {
            pooled_ = true;
            tell(Decision::pool);
        } else if (figures_.limits) {
            searching_ = true;
            search_.begin(static_cast<std::uint32_t>(std::popcount(resident_)), schedulers_);
        }
    }
    if (searching_) search((instructions_ << 16) / (now - since_));
    if (limit() == WarpLimitSearch::kAllWarps) {
        unended_ = 0;
    } else if (++unended_ == kMostUnended) {
        unended_ = 0;
        relieved_ = true;
        setLimit(WarpLimitSearch::kAllWarps);
        tell(Decision::relieve);
        return begin(now, figures_.trial);
    }
    settling_ = limit() != limitBefore || pooled_ != pooledBefore;
    begin(now, settling_ ? figures_.trial / 2 : figures_.trial);
}

std::unique_ptr<WarpScheduler> makeCiaoA(const SchedulerConfig& config) {
    return std::make_unique<CiaoA>(config);
}

}  // namespace bulkhead::sim
