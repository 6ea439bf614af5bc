#include <chrono>
#include <thread>

#include "base/error.h"
#include "evaluation/benchmark/bench.h"

namespace bulkhead::evaluation::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kStartSeconds = 60;

/// What became of a tenant that was at work.
std::string fateOf(corun::Actor& tenant) {
    try {
        tenant.stop();
        secondsOf(tenant, {});
        tenant.check();
        return "goes on";
    } catch (const Error&) {
        return "fails";
    }
}

/// Seconds until somebody new works there, or why nobody does.
Value newcomer(corun::ActorProcesses& processes, Clock::time_point since) {
    constexpr std::chrono::seconds kPatience(30);
    constexpr std::chrono::milliseconds kPause(50);
    std::string why;
    while (Clock::now() - since < kPatience) {
        try {
            processes.join(1);
            return std::chrono::duration<double>(Clock::now() - since).count();
        } catch (const Error& e) {
            why = e.what();
        }
        std::this_thread::sleep_for(kPause);
    }
    return "none in 30 s: " + why;
}

/// A tenant works, its neighbour ends badly, and somebody comes in the neighbour's place.
void measure(Bench& bench, const std::string& neighbour, const std::string& label,
             const std::function<std::string(corun::CoRun&)>& end) {
    bench.tenants().leave();
    corun::CoRun& coRun = bench.tenants().be("stream", neighbour);
    corun::Actor& tenant = coRun.actor(0);
    secondsOf(tenant, {});
    tenant.start(kStartSeconds);
    const std::string how = end(coRun);
    const Clock::time_point since = Clock::now();
    const std::string fate = fateOf(tenant);
    // Under MPS nobody new is let in before all that failed have left.
    if (fate != "goes on") coRun.processes()->leave(0);
    bench.add("recovery: " + label + ", the other tenant", "", fate);
    bench.add("recovery: " + label + ", a newcomer works after", "s", newcomer(*coRun.processes(), since));
    if (!how.empty()) bench.add("recovery: " + label + ", by", "", how);
    bench.tenants().leave();
}

std::string makeFault(corun::CoRun& coRun) {
    try {
        secondsOf(coRun.actor(1), {});
    } catch (const Error&) {
        coRun.processes()->leave(1);
        return "";
    }
    throw Error("a kernel wrote where nothing is, and nobody noticed");
}

std::string stopInMidKernel(corun::CoRun& coRun) {
    constexpr std::chrono::milliseconds kUnderWay(300);
    coRun.actor(1).start(kStartSeconds);
    std::this_thread::sleep_for(kUnderWay);
    return coRun.processes()->stop(1);
}

}  // namespace

void measureRecovery(Bench& bench) {
    measure(bench, "fault", "neighbour has a fault", makeFault);
    measure(bench, "lasting", "neighbour is stopped in mid-kernel", stopInMidKernel);
}

}  // namespace bulkhead::evaluation::benchmark
