#pragma once

#include "gpu/launch_log.h"
#include "metrics/metric_table.h"

namespace bulkhead::metrics {

/// What the table needs of a launch that a simulated GPU counted.
SimulatedLaunch simulatedLaunch(const gpu::Launch&);

}  // namespace bulkhead::metrics
