#pragma once

#include <vector>

#include "gpu/launch_log.h"
#include "gpu/launch_timer.h"
#include "metrics/metric_table.h"

namespace bulkhead::metrics {

/// What the table needs of a launch that a simulated GPU counted.
SimulatedLaunch simulatedLaunch(const gpu::Launch&);
LaunchRow rowOf(const gpu::Launch&, const arch::DeviceProfile&);

/// Launches of a GPU that counts nothing: their times, and its clock.
std::vector<LaunchRow> timedRows(gpu::LaunchTimer&, const gpu::DeviceInfo&);

}  // namespace bulkhead::metrics
