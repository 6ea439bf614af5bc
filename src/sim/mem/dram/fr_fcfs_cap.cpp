#include "sim/mem/dram/first_ready.h"

namespace bulkhead::sim {
namespace {

/// First ready, first come first served, but only so many requests for the open row pass an older one for another row
/// (Mutlu and Moscibroda, MICRO 2007).
class FrFcfsCap : public FirstReady {
  public:
    FrFcfsCap(SimContext& sim, std::span<const DramBank>) : FirstReady(sim), cap_(sim.config.dram.hitCap) {}

    RequestId hit(const DramBank& bank, RequestId from) const {
        return bank.first == kNoRequest || refuses(bank) ? kNoRequest : FirstReady::hit(bank, from);
    }
    bool refuses(const DramBank& bank) const {
        return bank.passed >= cap_ && sim_.requests[bank.first].row != bank.openRow;
    }

  private:
    std::uint32_t cap_;
};

}  // namespace

std::unique_ptr<DramChannel> makeFrFcfsCap(SimContext& sim, std::uint32_t index) {
    return std::make_unique<ScheduledChannel<FrFcfsCap>>(sim, index);
}

}  // namespace bulkhead::sim
