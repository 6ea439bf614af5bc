#include "sim/sm_group.h"

namespace bulkhead::sim {

SmGroup::SmGroup(SimShared& shared, const CrossbarLatency& latency, const std::vector<ObserverLog*>& logs,
                 std::uint32_t firstPort, const SchedulerChoice& policy) {
    for (std::uint32_t i = 0; i < shared.config.sm.count; ++i)
        sms_.push_back(
            std::make_unique<Sm>(shared, latency, logs.empty() ? nullptr : logs[i], firstPort + i, i, policy));
}

}  // namespace bulkhead::sim
