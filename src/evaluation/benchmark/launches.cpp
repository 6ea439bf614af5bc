#include "evaluation/benchmark/bench.h"
#include "gpu/capabilities.h"

namespace bulkhead::evaluation::benchmark {

void measureLaunches(Bench& bench) {
    constexpr unsigned kLaunches = 500, kFewLaunches = 8, kRepeats = 5;
    const bool deterministic = gpu::capabilitiesOf(bench.spec().gpu).deterministic;
    corun::Actor& tenant = bench.tenants().be("empty", "").actor(0);
    std::vector<double> seconds;
    secondsOf(tenant, {});
    for (unsigned i = 0; i < (deterministic ? 1 : kRepeats); ++i)
        seconds.push_back(secondsOf(tenant, {deterministic ? kFewLaunches : kLaunches, {}}));
    tenant.check();
    bench.add("launch: an empty kernel, one after the other", "us", 1e6 * median(seconds));
}

}  // namespace bulkhead::evaluation::benchmark
