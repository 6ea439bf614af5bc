#include "base/statistics.h"
#include "evaluation/benchmark/bench.h"

namespace bulkhead::evaluation::benchmark {

/// From the start of a process until it has done something on the GPU, and from when it is told to end until it has.
/// All the while another tenant streams, where there is one.
void measureJoining(Bench& bench) {
    constexpr unsigned kTimes = 3;
    constexpr double kStartSeconds = 60;
    corun::CoRun& coRun = bench.isWhole() ? bench.tenants().be("empty", "") : bench.tenants().be("stream", "empty");
    corun::ActorProcesses& processes = *coRun.processes();
    const std::size_t newcomer = bench.isWhole() ? 0 : 1;
    if (!bench.isWhole()) {
        secondsOf(coRun.actor(0), {});
        coRun.actor(0).start(kStartSeconds);
    }
    std::vector<double> join, leave;
    for (unsigned i = 0; i < kTimes; ++i) {
        leave.push_back(processes.leave(newcomer));
        join.push_back(processes.join(newcomer));
    }
    if (!bench.isWhole()) {
        coRun.actor(0).stop();
        secondsOf(coRun.actor(0), {});
        coRun.actor(0).check();
    }
    bench.add("join: beside a tenant that streams, median", "s", median(join));
    bench.add("join: longest of 3", "s", maximum(join));
    bench.add("leave: median", "s", median(leave));
}

}  // namespace bulkhead::evaluation::benchmark
