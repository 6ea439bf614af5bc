#include <algorithm>

#include "sim/sim_context.h"
#include "sim/sm/gto.h"
#include "sim/sm/oldest_warps.h"

namespace bulkhead::sim {
namespace {

/// Priority-based cache allocation with a static number of tokens (Li et al., HPCA 2015; CIAO V-B). The N oldest warps
/// hold tokens and fill L1D. While the way to memory has bandwidth to spare, more and more of the other warps run too,
/// but bring nothing into L1D; when it has none, half of those are held again.
class StatPcal final : public Gto {
  public:
    explicit StatPcal(const SchedulerConfig& config)
        : Gto(config),
          sim_(*config.sim),
          warps_(static_cast<int>(config.warps)),
          tokens_(config.limit, config.schedulers),
          running_(config.limit, config.schedulers) {
        throttles_ = watchesCache_ = true;
        due_ = sim_.config.pcal.window;
        allowed_ = 0;
    }

    void warpStarted(std::uint32_t slot, std::uint64_t age) override {
        Gto::warpStarted(slot, age);
        tokens_.started(slot, age);
        running_.started(slot, age);
        allowed_ = running_.chosen();
    }
    void warpFinished(std::uint32_t slot) override { warpWaits(slot); }
    void warpWaits(std::uint32_t slot) override {
        tokens_.stopped(slot);
        running_.stopped(slot);
        allowed_ = running_.chosen();
    }
    void warpResumes(std::uint32_t slot) override {
        tokens_.resumed(slot);
        running_.resumed(slot);
        allowed_ = running_.chosen();
    }
    Route route(std::uint32_t slot) override { return tokens_.chosen() & bitOf(slot) ? Route::l1 : Route::bypass; }

    void advance(Cycles now) override {
        const int bypassing = running_.limit() - tokens_.limit();
        running_.setLimit(bandwidthIsIdle(now) ? std::min(running_.limit() + 1, std::max(warps_, tokens_.limit()))
                                               : tokens_.limit() + bypassing / 2);
        allowed_ = running_.chosen();
        due_ = now + sim_.config.pcal.window;
    }

  private:
    /// Of L2 and of DRAM, since the last call.
    bool bandwidthIsIdle(Cycles now) {
        const Traffic& traffic = sim_.traffic();
        const double busyCycles = std::max(static_cast<double>(traffic.dram - seen_.dram) / sim_.config.peak.dram,
                                           static_cast<double>(traffic.l2 - seen_.l2) / sim_.config.peak.l2);
        const bool idle = busyCycles * 1e6 < sim_.config.pcal.busyMillionths * static_cast<double>(now - since_);
        seen_ = traffic;
        since_ = now;
        return idle;
    }

    const SimContext& sim_;
    int warps_;
    OldestWarps tokens_, running_;
    Traffic seen_;
    Cycles since_ = 0;
};

}  // namespace

std::unique_ptr<WarpScheduler> makeStatPcal(const SchedulerConfig& config) {
    return std::make_unique<StatPcal>(config);
}

}  // namespace bulkhead::sim
