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

}  // namespace bulkhead::metrics
