#pragma once

#include "driver/driver_api.h"

namespace bulkhead::driver {

/// The simulated GPUs of this process as a CUDA driver: the same table that a real driver fills. Calls may come from
/// any thread; one at a time is carried out. Simulated time passes only inside calls that wait.
const DriverApi& simulatedDriver();

}  // namespace bulkhead::driver
