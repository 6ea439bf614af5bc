#include <fmt/format.h>

#include "base/error.h"
#include "base/phrases.h"
#include "corun/corun.h"
#include "evaluation/cost/bench.h"
#include "evaluation/samples.h"
#include "workloads/workload.h"

namespace bulkhead::evaluation::cost {
namespace {

/// Milliseconds of the second of two runs in a context. Throws Error, also where the result differs from the CPU's.
double timeIn(Bench& bench, gpu::Context context, const corun::CacheGeometry& shape, const std::string& workload) {
    const auto actor = corun::makeApplication({bench.gpu(), std::move(context), shape, nullptr},
                                              {workload, bench.effort().size, bench.spec().seed});
    secondsOf(*actor, {});
    const double seconds = secondsOf(*actor, {});
    actor->check();
    return 1e3 * seconds;
}

double timeInside(Bench& bench, Around around, const corun::CacheGeometry& shape, const std::string& workload) {
    walls::PartitionContext tenant = bench.enclose(0, around);
    const double milliseconds = timeIn(bench, tenant.context(), shape, workload);
    if (const unsigned stray = tenant.strayBlocks()) throw Error("{} blocks ran outside the walls", stray);
    return milliseconds;
}

std::vector<std::string> chosen(const CostSpec& spec) {
    std::vector<std::string> names;
    for (const std::string& name : spec.workloads) names.emplace_back(workloads::find(name).name);
    if (names.empty())
        for (const workloads::Workload& workload : workloads::all())
            if (!workload.inference || !workload.inference->tensorMaps) names.emplace_back(workload.name);
    return names;
}

}  // namespace

Result measureWorkloads(Bench& bench) {
    Result result;
    result.title = "Workloads inside compute and memory walls";
    result.columns = {{"workload", ""}, {"result", ""}, {"plain", "ms"}, {"compute walls", "ms"}, {"both walls", "ms"}};
    const corun::CacheGeometry shape = corun::CacheGeometry::of(bench.gpu());
    std::size_t right = 0;
    std::vector<double> slower;  // inside both walls, as factors
    for (const std::string& name : chosen(bench.spec())) {
        std::string verdict = "right";
        const auto timed = [&](const auto& measure) -> Value {
            try {
                return measure();
            } catch (const Error& error) {
                verdict = error.what();
                bench.fail(name + ": " + verdict);
                return {};
            }
        };
        const Value plain = timed([&] { return timeIn(bench, bench.gpu().context(), shape, name); }),
                    compute = timed([&] { return timeInside(bench, Around::compute, shape, name); }),
                    both = timed([&] { return timeInside(bench, Around::both, shape, name); });
        right += verdict == "right" ? 1 : 0;
        if (const auto* without = std::get_if<double>(&plain), *inside = std::get_if<double>(&both); without && inside)
            slower.push_back(*inside / *without);
        result.add({name, verdict, plain, compute, both});
    }
    result.answer =
        fmt::format("{} of {} {} right", right, counted(result.rows.size(), "workload"), right == 1 ? "is" : "are");
    result.answer += slower.empty() ? "."
                                    : fmt::format(", and inside both walls take {} times as long at the median.",
                                                  brief(median(slower)));
    result.reading =
        "A partition has a share of the SMs: a workload that fills the GPU takes longer there by that alone.";
    return result;
}

}  // namespace bulkhead::evaluation::cost
