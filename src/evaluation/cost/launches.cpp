#include <fmt/format.h>

#include "base/phrases.h"
#include "evaluation/cost/bench.h"

namespace bulkhead::evaluation::cost {
namespace {

void launchNothing(TimedContext& timed, gpu::Kernel& kernel, unsigned blocks) {
    kernel.launch(timed.stream(), {blocks}, {256}, 0, driver::CUdeviceptr{0});
}

/// Microseconds of a launch among others.
double oneAfterTheOther(TimedContext& timed, unsigned blocks) {
    gpu::Kernel kernel = timed.kernel("nothing");
    const unsigned launches = timed.bench().effort().launches;
    return 1e6 / launches * timed.time([&] {
        for (unsigned i = 0; i < launches; ++i) launchNothing(timed, kernel, blocks);
    });
}

/// Microseconds until the host has launched one and waited for its end.
double waitedFor(TimedContext& timed, unsigned blocks) {
    gpu::Kernel kernel = timed.kernel("nothing");
    std::vector<double> seconds;
    for (unsigned i = 0; i < timed.bench().effort().waits; ++i) {
        const double begun = timed.context().now();
        launchNothing(timed, kernel, blocks);
        timed.stream().synchronize();
        seconds.push_back(timed.context().now() - begun);
    }
    return 1e6 * median(seconds);
}

}  // namespace

Result measureLaunches(Bench& bench) {
    Result result = tableOf(
        "Launches of an empty kernel, inside compute walls and plain", "blocks",
        {"plain, one after the other", "walled, one after the other", "plain, waited for", "walled, waited for"}, "us");
    walls::PartitionContext tenant = bench.enclose(0, Around::compute);
    TimedContext plain(bench, bench.gpu().context()), walled(bench, tenant.context());
    const unsigned sms = bench.walled().topology().sms();
    for (const unsigned blocks : {1u, sms / 2, 4 * sms, 32 * sms})
        result.add({std::int64_t{blocks}, oneAfterTheOther(plain, blocks), oneAfterTheOther(walled, blocks),
                    waitedFor(plain, blocks), waitedFor(walled, blocks)});
    // More blocks than that, and blocks that exit early cost more than the launch.
    const auto microseconds = [&](std::size_t column) { return std::get<double>(result.rows.front()[column]); };
    result.answer =
        fmt::format("A launch of one block that is waited for takes {} us inside compute walls and {} us without.",
                    brief(microseconds(4)), brief(microseconds(3)));
    return result;
}

}  // namespace bulkhead::evaluation::cost
