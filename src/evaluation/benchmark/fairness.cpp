#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "evaluation/benchmark/bench.h"
#include "gpu/capabilities.h"

namespace bulkhead::evaluation::benchmark {

/// Equal tenants stream all the while. The first is timed; the others are counted.
void measureFairness(Bench& bench) {
    constexpr unsigned kFewRuns = 4;  // on a simulated GPU
    constexpr double kStartSeconds = 60;
    const std::string application = "stream";
    corun::CoRun& coRun = bench.tenants().be(application, application);
    corun::Actor& first = coRun.actor(0);
    const bool costly = gpu::capabilitiesOf(bench.spec().gpu).costly;
    const unsigned runs = costly ? kFewRuns : runsOfABatch(first, bench.spec().seconds / 2);
    corun::Rounds rounds{runs, {}, 0};
    for (unsigned i = 1; i < bench.tenants().partitions(); ++i) {
        corun::Actor& other = coRun.actor(i);
        if (!costly) secondsOf(other, {});
        other.start(kStartSeconds);
        rounds.company.push_back(&other);
    }
    std::vector<std::uint64_t> before;
    for (corun::Actor* other : rounds.company) before.push_back(other->completed());
    secondsOf(first, rounds);
    std::vector<double> work = {double{static_cast<double>(runs)}};
    for (std::size_t i = 0; i < rounds.company.size(); ++i)
        work.push_back(static_cast<double>(rounds.company[i]->completed() - before[i]));
    if (!costly)
        for (corun::Actor* other : rounds.company) other->stop();
    first.check();
    bench.add("fairness: least over most work of equal tenants", "", minimum(work) / maximum(work));
}

}  // namespace bulkhead::evaluation::benchmark
