#include "sim/sm/gto.h"
#include "sim/sm/oldest_warps.h"

namespace bulkhead::sim {
namespace {

/// Static wavefront limiting (Rogers et al., MICRO 2012): the N oldest warps of an SM run, the others are held. It is
/// "best" with the N that profiling has found.
class BestSwl final : public Gto {
  public:
    explicit BestSwl(const SchedulerConfig& config) : Gto(config), oldest_(config.limit, config.schedulers) {
        throttles_ = true;
        allowed_ = 0;
    }

    void warpStarted(std::uint32_t slot, std::uint64_t age) override {
        Gto::warpStarted(slot, age);
        oldest_.started(slot, age);
        allowed_ = oldest_.chosen();
    }
    void warpFinished(std::uint32_t slot) override { warpWaits(slot); }
    void warpWaits(std::uint32_t slot) override {
        oldest_.stopped(slot);
        allowed_ = oldest_.chosen();
    }
    void warpResumes(std::uint32_t slot) override {
        oldest_.resumed(slot);
        allowed_ = oldest_.chosen();
    }
    WarpMask heldForGood() const override { return oldest_.notChosen(); }

  private:
    OldestWarps oldest_;
};

}  // namespace

std::unique_ptr<WarpScheduler> makeBestSwl(const SchedulerConfig& config) {
    return std::make_unique<BestSwl>(config);
}

}  // namespace bulkhead::sim
