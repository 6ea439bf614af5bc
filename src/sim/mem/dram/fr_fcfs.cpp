#include "sim/mem/dram/first_ready.h"

namespace bulkhead::sim {
namespace {

/// First ready, first come first served (Rixner and others, ISCA 2000), up to an age: a bank whose oldest request has
/// waited too long for another row serves no more hits, so that its row is opened next.
class FrFcfs : public FirstReady {
  public:
    FrFcfs(SimContext& sim, std::span<const DramBank>) : FirstReady(sim), ageLimit_(sim.config.dram.ageLimit) {}

    bool refuses(const DramBank& bank) const {
        const Request& oldest = sim_.requests[bank.first];
        return oldest.row != bank.openRow && sim_.now() - oldest.since > ageLimit_;
    }

  private:
    Cycles ageLimit_;
};

}  // namespace

std::unique_ptr<DramChannel> makeFrFcfs(SimContext& sim, std::uint32_t index) {
    return std::make_unique<ScheduledChannel<FrFcfs>>(sim, index);
}

}  // namespace bulkhead::sim
