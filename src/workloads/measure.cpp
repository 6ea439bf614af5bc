#include "workloads/measure.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace bulkhead::workloads {
namespace {

void addLaunch(Measurement& m, const gpu::Launch& launch) {
    auto at = std::find_if(m.kernels.begin(), m.kernels.end(),
                           [&](const KernelMeasurement& k) { return k.kernel == launch.kernel; });
    if (at == m.kernels.end()) {
        m.kernels.push_back({});
        at = m.kernels.end() - 1;
        at->kernel = launch.kernel;
    }
    ++at->launches;
    at->cycles += launch.cycles();
    at->counters += launch.counters;
    at->sharedMemoryShare = std::max(at->sharedMemoryShare, launch.sharedMemoryShare);
    at->sampled += launch;
    m.cycles += launch.cycles();
    m.counters += launch.counters;
    m.sampled += launch;
}

}  // namespace

double Measurement::apki() const {
    const auto accesses = static_cast<double>(counters.l1Hits + counters.l1Misses + counters.l1Bypasses);
    return counters.threadInstructions ? accesses / static_cast<double>(counters.threadInstructions) * 1e3 : 0;
}

double Measurement::sharedMemoryShare() const {
    double most = 0;
    for (const KernelMeasurement& k : kernels) most = std::max(most, k.sharedMemoryShare);
    return most;
}

Measurement measure(gpu::Gpu& gpu, gpu::Stream& stream, Instance& instance, std::uint64_t warpInstructions) {
    std::optional<gpu::LaunchLog> log;
    if (gpu.capabilities().launchCounters) log.emplace(gpu, gpu.context());
    if (warpInstructions) gpu.limitInstructions(warpInstructions);

    Measurement m;
    try {
        gpu::Event start = gpu.context().createEvent(), end = gpu.context().createEvent();
        start.record(stream);
        instance.run(stream);
        end.record(stream);
        stream.synchronize();
        m.seconds = end.secondsSince(start);
    } catch (const Error&) {
        if (!gpu.instructionLimitReached()) throw;
        m.limited = true;
    }
    if (!log) return m;
    m.launches = log->launches();
    for (const gpu::Launch& launch : m.launches) addLaunch(m, launch);
    if (m.limited) m.seconds = gpu.info().seconds(m.cycles);
    return m;
}

}  // namespace bulkhead::workloads
