#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "evaluation/cost/bench.h"

namespace bulkhead::evaluation::cost {

Result sampleColors(Bench& bench) {
    Result result;
    result.title = "Colors that timing says, of sampled addresses";
    result.columns = {{"tenant", ""}, {"addresses", ""}, {"wrong", ""}};
    const std::size_t samples = bench.effort().samples;
    std::size_t allWrong = 0;
    std::vector<walls::PartitionContext> tenants;
    for (std::size_t t = 0; t < bench.partitions(); ++t) {
        tenants.push_back(bench.enclose(t, Around::both));
        const gpu::Buffer buffer =
            tenants.back().context().allocate(std::min(bench.memoryOf(t) / 2, bench.effort().sampledBytes));
        const std::size_t wrong = bench.walled().countWrongColors(tenants.back(), buffer, samples, bench.spec().seed);
        allWrong += wrong;
        result.add(
            {static_cast<std::int64_t>(t), static_cast<std::int64_t>(samples), static_cast<std::int64_t>(wrong)});
    }
    const std::size_t all = samples * bench.partitions();
    result.answer = fmt::format("{} of {} sampled addresses, by the time that an access takes.",
                                allWrong == 0 ? "None" : std::to_string(allWrong), all);
    result.caveats = {"Only sampled addresses were timed; the others may differ."};
    return result;
}

}  // namespace bulkhead::evaluation::cost
