#pragma once

#include "sim/machine_config.h"
#include "sim/observer.h"
#include "sim/sm/gto.h"
#include "sim/sm/interference_detector.h"
#include "sim/sm/oldest_warps.h"
#include "sim/sm/warp_limit_search.h"

namespace bulkhead::sim {

/// CIAO, adaptive. An SM measures itself in trials of some thousand cycles: instructions, and hits in CIAO's victim tag
/// arrays. Where the latter say that warps interfere, unused shared memory and L1D serve as one cache for all of them;
/// where they still interfere, it searches for the number of warps with which it is fastest. Nothing is done before,
/// and all is forgotten when a kernel begins on an empty SM.
class CiaoA final : public Gto {
  public:
    explicit CiaoA(const SchedulerConfig&);

    void kernelStarted() override;
    void warpStarted(std::uint32_t slot, std::uint64_t age) override;
    void warpFinished(std::uint32_t slot) override;
    void warpWaits(std::uint32_t slot) override;
    void warpResumes(std::uint32_t slot) override;
    void issued(std::uint32_t, unsigned) override { ++instructions_; }
    Route route(std::uint32_t) override { return pooled_ ? Route::both : Route::l1; }
    void observe(const CacheEvent&) override;
    void advance(Cycles now) override;

    bool pooled() const { return pooled_; }
    bool searching() const { return searching_; }
    /// Trials after which held warps run for one although no other ends: it may be they that the others wait for.
    static constexpr std::uint32_t kMostUnended = 256;

    std::uint32_t limit() const { return static_cast<std::uint32_t>(oldest_.limit()); }

  private:
    bool warpsInterfere() const;
    void begin(Cycles now, Cycles length);
    void setLimit(std::uint32_t limit);
    void search(std::uint64_t rate);
    void tell(Decision) const;

    const SimContext& sim_;
    const std::uint32_t sm_;
    const std::uint32_t schedulers_;
    const MachineConfig::Ciao figures_;
    InterferenceDetector detector_;
    OldestWarps oldest_;
    WarpLimitSearch search_;
    WarpMask resident_ = 0;
    bool pooled_ = false, searching_ = false;
    bool settling_ = false;      ///< what was changed takes effect; not yet measured
    bool relieved_ = false;      ///< all warps run, for once
    std::uint32_t unended_ = 0;  ///< trials in which some were held and none ended
    Cycles since_ = 0;
    std::uint64_t instructions_ = 0, vtaHits_ = 0;  ///< since then
};

}  // namespace bulkhead::sim
