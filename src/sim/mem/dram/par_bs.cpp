#include <algorithm>
#include <tuple>
#include <vector>

#include "sim/mem/dram/scheduled_channel.h"

namespace bulkhead::sim {
namespace {

/// Parallelism-aware batch scheduling (Mutlu and Moscibroda, ISCA 2008), with kernels in the place of threads. Of every
/// kernel the oldest requests for each bank, up to a cap, are a batch that is served before all others. In a batch,
/// requests for open rows come first, then those of the kernel that has the least to wait for in any one bank, then
/// those of the one that has the least in all, then the oldest.
class ParBs {
  public:
    ParBs(SimContext& sim, std::span<const DramBank> banks)
        : sim_(sim), banks_(banks), cap_(sim.config.dram.batchCap) {}

    bool arrive(RequestId) { return begin(); }
    bool leave(const DramBank&, RequestId id) {
        if (!sim_.requests[id].inBatch) return false;
        sim_.requests[id].inBatch = false;
        --left_;
        return begin();
    }
    RequestId toOpen(const DramBank& bank) const {
        RequestId best = bank.first;
        for (RequestId r = bank.first; r != kNoRequest; r = sim_.requests[r].next)
            if (before(r, best)) best = r;
        return best;
    }
    RequestId hit(const DramBank& bank, RequestId) const {
        RequestId best = kNoRequest;
        for (RequestId r = bank.first; r != kNoRequest; r = sim_.requests[r].next)
            if (sim_.requests[r].row == bank.openRow && (best == kNoRequest || before(r, best))) best = r;
        return best == kNoRequest || sim_.requests[best].inBatch || !hasBatch(bank) ? best : kNoRequest;
    }
    bool refuses(const DramBank& bank) const {
        return (bank.hit == kNoRequest || !sim_.requests[bank.hit].inBatch) && hasBatch(bank);
    }
    bool before(RequestId a, RequestId b) const { return order(a) < order(b); }

  private:
    struct Load {
        std::uint32_t launch;
        std::uint32_t mostInABank = 0, all = 0;
    };

    bool hasBatch(const DramBank& bank) const {
        for (RequestId r = bank.first; r != kNoRequest; r = sim_.requests[r].next)
            if (sim_.requests[r].inBatch) return true;
        return false;
    }
    std::tuple<bool, std::size_t, Cycles> order(RequestId id) const {
        const Request& request = sim_.requests[id];
        const auto rank = std::ranges::find(ranks_, request.launch, &Load::launch) - ranks_.begin();
        return {!request.inBatch, static_cast<std::size_t>(rank), request.since};
    }

    /// A new batch, if the last one is done and anything waits.
    bool begin() {
        if (left_ > 0) return false;
        ranks_.clear();
        for (const DramBank& bank : banks_) mark(bank);
        std::ranges::stable_sort(ranks_, [](const Load& a, const Load& b) {
            return std::tie(a.mostInABank, a.all) < std::tie(b.mostInABank, b.all);
        });
        return left_ > 0;
    }
    void mark(const DramBank& bank) {
        std::vector<Load> here;
        const auto of = [](std::vector<Load>& loads, std::uint32_t launch) -> Load& {
            const auto found = std::ranges::find(loads, launch, &Load::launch);
            return found != loads.end() ? *found : loads.emplace_back(Load{launch});
        };
        for (RequestId r = bank.first; r != kNoRequest; r = sim_.requests[r].next) {
            Load& load = of(here, sim_.requests[r].launch);
            if (load.all == cap_) continue;
            ++load.all;
            sim_.requests[r].inBatch = true;
            ++left_;
        }
        for (const Load& load : here) {
            Load& all = of(ranks_, load.launch);
            all.mostInABank = std::max(all.mostInABank, load.all);
            all.all += load.all;
        }
    }

    SimContext& sim_;
    std::span<const DramBank> banks_;
    std::uint32_t cap_;
    std::uint32_t left_ = 0;  ///< of the batch
    std::vector<Load> ranks_;
};

}  // namespace

std::unique_ptr<DramChannel> makeParBs(SimContext& sim, std::uint32_t index) {
    return std::make_unique<ScheduledChannel<ParBs>>(sim, index);
}

}  // namespace bulkhead::sim
