#pragma once

#include <vector>

#include "sim/machine_config.h"
#include "sim/observer.h"
#include "sim/sm/gto.h"
#include "sim/sm/interference_detector.h"
#include "sim/sm/pair_list.h"

namespace bulkhead::sim {

/// CIAO warp scheduling (Algorithm 1, IV-C). A warp is active, isolated (its loads go to unused shared memory) or
/// stalled; the V and I bits of the warp list are masks here. CIAO-T only stalls, CIAO-P only isolates, CIAO-C isolates
/// first and stalls an isolated warp that goes on interfering with others of its kind.
class Ciao final : public Gto {
  public:
    struct Means {
        bool isolation, throttling;
    };
    Ciao(const SchedulerConfig&, Means);

    void kernelStarted() override { detector_.kernelStarted(); }
    void warpStarted(std::uint32_t slot, std::uint64_t age) override;
    void warpFinished(std::uint32_t slot) override;
    void warpWaits(std::uint32_t slot) override;
    void warpResumes(std::uint32_t slot) override { waiting_ &= ~bitOf(slot); }
    void issued(std::uint32_t slot, unsigned lanes) override {
        detector_.executed(figures_.scoresThreads ? lanes : 1);
        const std::int64_t instructions = figures_.countsThreads ? lanes : 1;
        if ((untilLow_ -= instructions) <= 0) endLowEpoch(slot);
        if ((untilHigh_ -= instructions) <= 0) endHighEpoch(slot);
    }
    Route route(std::uint32_t slot) override { return isolated_ & bitOf(slot) ? Route::sharedCache : Route::l1; }
    void observe(const CacheEvent& event) override { detector_.observe(event); }

    WarpMask isolated() const { return isolated_; }
    const PairList& pairs() const { return pairs_; }
    const InterferenceDetector& detector() const { return detector_; }

  private:
    void endLowEpoch(std::uint32_t front);
    void endHighEpoch(std::uint32_t front);
    bool mayBeReleased(std::uint8_t interfered) const;
    void isolate(std::uint32_t warp, std::uint32_t interfered);
    void redirectBack(std::uint32_t warp);
    void stall(std::uint32_t warp, std::uint32_t interfered);
    void reactivate(std::uint32_t warp);
    void keepSomeoneRunning();
    std::uint32_t activeWarps() const;
    void tell(Decision, std::uint32_t warp, std::uint8_t interfered) const;

    const SimContext& sim_;
    const std::uint32_t sm_;
    const MachineConfig::Ciao figures_;
    Means means_;
    InterferenceDetector detector_;
    PairList pairs_;
    WarpMask resident_ = 0, waiting_ = 0;  ///< waiting: at a barrier
    WarpMask isolated_ = 0;                ///< I; V is allowed_
    std::vector<std::uint8_t> stalled_;    ///< in the order in which they were stalled
    std::int64_t untilLow_, untilHigh_;    ///< instructions left of the two epochs
};

}  // namespace bulkhead::sim
