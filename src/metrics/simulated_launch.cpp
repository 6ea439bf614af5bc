#include "metrics/simulated_launch.h"

#include <fmt/format.h>

namespace bulkhead::metrics {
namespace {

std::string shapeOf(const gpu::Dim3& d) {
    return fmt::format("({}, {}, {})", d.x, d.y, d.z);
}

}  // namespace

SimulatedLaunch simulatedLaunch(const gpu::Launch& launch) {
    return {launch.kernel, shapeOf(launch.grid), shapeOf(launch.block), launch.cycles(), launch.counters};
}

LaunchRow rowOf(const gpu::Launch& launch, const arch::DeviceProfile& profile) {
    LaunchRow row = rowOf(simulatedLaunch(launch), profile);
    row.process = "bulkhead";
    return row;
}

std::vector<LaunchRow> timedRows(gpu::LaunchTimer& timer, const gpu::DeviceInfo& gpu) {
    std::vector<LaunchRow> rows;
    for (const gpu::LaunchTimer::Launch& launch : timer.launches()) {
        rows.push_back({"bulkhead", launch.kernel, shapeOf(launch.grid), shapeOf(launch.block), {}});
        rows.back().values.emplace(names::kTime, launch.seconds);
        rows.back().values.emplace(names::kClock, gpu.coreMHz * 1e6);
    }
    return rows;
}

}  // namespace bulkhead::metrics
