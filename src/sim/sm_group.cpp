#include "sim/sm_group.h"

namespace bulkhead::sim {

SmGroup::SmGroup(SimShared& shared, const CrossbarLatency& latency, const std::vector<ObserverLog*>& logs,
                 std::uint32_t firstPort, const SchedulerChoice& policy)
    : separation_(shared.separation), count_(shared.config.sm.count) {
    for (std::uint32_t i = 0; i < count_ * separation_.copies(Resource::sms); ++i)
        sms_.push_back(
            std::make_unique<Sm>(shared, latency, logs.empty() ? nullptr : logs[i], firstPort + i, i % count_, policy));
}

}  // namespace bulkhead::sim
