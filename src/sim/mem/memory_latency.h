#pragma once

#include "arch/device_profile.h"
#include "base/units.h"

namespace bulkhead::sim {

/// A profile gives latencies as a pointer chase sees them, load to use. These are the parts of the way that no unit's
/// own work accounts for, in core cycles.
struct StageLatencies {
    Cycles request, response;  ///< crossbar and L2 pipeline, each way
    Cycles miss;               ///< memory controller, beyond the DRAM's own timings
};

/// Throws Error if the profile's latencies are too small for its ports and DRAM timings.
StageLatencies stageLatencies(const arch::DeviceProfile&);

}  // namespace bulkhead::sim
