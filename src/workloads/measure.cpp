#include "workloads/measure.h"

#include <algorithm>

#include "base/error.h"
#include "driver/simulator_api.h"
#include "sim/gpu.h"

namespace bulkhead::workloads {
namespace {

std::vector<sim::LaunchId> launchesSoFar(gpu::Context& context) {
    context.makeCurrent();
    std::vector<sim::LaunchId> launches;
    driver::simulator().launches(&launches);
    return launches;
}

void addLaunch(Measurement& m, const sim::Gpu& machine, sim::LaunchId id) {
    const sim::LaunchRecord& record = machine.record(id);
    auto at = std::find_if(m.kernels.begin(), m.kernels.end(),
                           [&](const KernelFigures& k) { return k.kernel == record.kernel; });
    if (at == m.kernels.end()) {
        m.kernels.push_back({});
        at = m.kernels.end() - 1;
        at->kernel = record.kernel;
    }
    ++at->launches;
    at->cycles += record.ended - record.started;
    at->counters += machine.counters(id);
    const double used = static_cast<double>(record.occupancy.needs.shared) * record.occupancy.blocksPerSm;
    at->sharedMemoryShare =
        std::max(at->sharedMemoryShare, used / static_cast<double>(machine.profile().sm.sharedBytes));
    m.cycles += record.ended - record.started;
    m.counters += machine.counters(id);
}

}  // namespace

double Measurement::apki() const {
    const auto accesses = static_cast<double>(counters.l1Hits + counters.l1Misses + counters.l1Bypasses);
    return counters.threadInstructions ? accesses / static_cast<double>(counters.threadInstructions) * 1e3 : 0;
}

double Measurement::sharedMemoryShare() const {
    double most = 0;
    for (const KernelFigures& k : kernels) most = std::max(most, k.sharedMemoryShare);
    return most;
}

Measurement measure(gpu::Gpu& gpu, gpu::Stream& stream, Instance& instance, std::uint64_t warpInstructions) {
    sim::Gpu* machine = gpu.simulator();
    const std::size_t before = machine ? launchesSoFar(gpu.context()).size() : 0;
    if (warpInstructions && !machine) throw Error("{}: only a simulated GPU stops after some instructions", gpu.name());
    if (warpInstructions) machine->limitInstructions(warpInstructions);

    Measurement m;
    try {
        gpu::Event start = gpu.context().createEvent(), end = gpu.context().createEvent();
        start.record(stream);
        instance.run(stream);
        end.record(stream);
        stream.synchronize();
        m.seconds = end.secondsSince(start);
    } catch (const Error&) {
        if (!machine || !machine->instructionLimitReached()) throw;
        m.limited = true;
    }
    if (!machine) return m;
    const std::vector<sim::LaunchId> launches = launchesSoFar(gpu.context());
    for (std::size_t i = before; i < launches.size(); ++i) addLaunch(m, *machine, launches[i]);
    if (m.limited) m.seconds = machine->seconds(m.cycles);
    return m;
}

}  // namespace bulkhead::workloads
