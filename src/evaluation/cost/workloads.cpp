#include "base/error.h"
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
        result.add({name, verdict, plain, compute, both});
    }
    return result;
}

}  // namespace bulkhead::evaluation::cost
