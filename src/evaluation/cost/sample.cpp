#include <algorithm>

#include "evaluation/cost/bench.h"

namespace bulkhead::evaluation::cost {

Result sampleColors(Bench& bench) {
    Result result;
    result.title = "Colors that timing says, of sampled addresses";
    result.columns = {{"tenant", ""}, {"addresses", ""}, {"wrong", ""}};
    const std::size_t samples = bench.effort().samples;
    std::vector<walls::PartitionContext> tenants;
    for (std::size_t t = 0; t < bench.partitions(); ++t) {
        tenants.push_back(bench.enclose(t, Around::both));
        const gpu::Buffer buffer =
            tenants.back().context().allocate(std::min(bench.memoryOf(t) / 2, bench.effort().sampledBytes));
        const std::size_t wrong = bench.walled().countWrongColors(tenants.back(), buffer, samples, bench.spec().seed);
        result.add(
            {static_cast<std::int64_t>(t), static_cast<std::int64_t>(samples), static_cast<std::int64_t>(wrong)});
    }
    return result;
}

}  // namespace bulkhead::evaluation::cost
