#include "sim/sm/gto.h"

namespace bulkhead::sim {

std::unique_ptr<WarpScheduler> makeGto(const SchedulerConfig& config) {
    return std::make_unique<Gto>(config);
}

}  // namespace bulkhead::sim
