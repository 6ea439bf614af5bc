#include "sim/mem/dram/first_ready.h"

namespace bulkhead::sim {
namespace {

/// First come, first served, in each bank; between banks, the oldest whose row is open.
class Fcfs : public FirstReady {
  public:
    Fcfs(SimContext& sim, std::span<const DramBank>) : FirstReady(sim) {}

    RequestId hit(const DramBank& bank, RequestId) const {
        const bool isOpen = bank.first != kNoRequest && sim_.requests[bank.first].row == bank.openRow;
        return isOpen ? bank.first : kNoRequest;
    }
    bool refuses(const DramBank& bank) const { return sim_.requests[bank.first].row != bank.openRow; }
};

}  // namespace

std::unique_ptr<DramChannel> makeFcfs(SimContext& sim, std::uint32_t index) {
    return std::make_unique<ScheduledChannel<Fcfs>>(sim, index);
}

}  // namespace bulkhead::sim
