#include "compare/warp_limits.h"

#include "arch/device_profile.h"
#include "base/error.h"
#include "sim/sm/warp_scheduler.h"

namespace bulkhead::compare {
namespace {

/// The same run under Best-SWL with some limit, unobserved: what profiling does.
RunSpec profiling(RunSpec spec, int limit) {
    spec.scheduler = "best-swl:" + std::to_string(limit);
    spec.observe = spec.closely = false;
    return spec;
}

std::vector<int> limitsFor(const RunSpec& spec) {
    arch::DeviceProfile profile = arch::findProfile(spec.gpu);
    arch::applySettings(profile, spec.settings);
    return warpLimits(profile.maxWarps(), static_cast<int>(profile.sm.schedulers));
}

}  // namespace

bool lacksWarpLimit(const std::string& scheduler) {
    for (const sim::SchedulerPolicy& policy : sim::schedulerPolicies())
        if (policy.name == scheduler) return policy.needsLimit;
    return false;
}

std::vector<int> warpLimits(int warps, int schedulers) {
    std::vector<int> limits;
    for (int each : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
        if (each * schedulers < warps) limits.push_back(each * schedulers);
    limits.push_back(warps);
    return limits;
}

std::vector<RunSpec> withWarpLimits(RunBatch& batch, std::vector<RunSpec> specs) {
    std::vector<RunSpec> profiled;
    for (const RunSpec& spec : specs)
        if (lacksWarpLimit(spec.scheduler))
            for (int limit : limitsFor(spec)) profiled.push_back(profiling(spec, limit));
    const std::vector<Outcome> outcomes = batch.run(profiled);

    std::size_t next = 0;
    for (RunSpec& spec : specs) {
        if (!lacksWarpLimit(spec.scheduler)) continue;
        int best = 0;
        double most = -1;
        for (int limit : limitsFor(spec)) {
            const Outcome& outcome = outcomes[next++];
            // Of equals the largest: a limit that does not help is none.
            if (!outcome.ok() || outcome.measurement.ipc() < most) continue;
            most = outcome.measurement.ipc();
            best = limit;
        }
        if (best == 0) throw Error("{}: fails under every warp limit: {}", spec.workload, outcomes[next - 1].failure);
        spec.scheduler += ":" + std::to_string(best);
    }
    return specs;
}

void expectScheduler(const std::string& name) {
    if (!lacksWarpLimit(name)) sim::findScheduler(name);
}

}  // namespace bulkhead::compare
