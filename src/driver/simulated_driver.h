#pragma once

#include <string>

#include "arch/device_profile.h"
#include "driver/driver_api.h"

namespace bulkhead::driver {

/// The simulated GPUs of this process as a CUDA driver: the same table that a real driver fills. Calls may come from
/// any thread; one at a time is carried out. Simulated time passes only inside calls that wait.
const DriverApi& simulatedDriver();

/// Makes a simulated GPU a device of that driver. Returns its ordinal.
int addSimulatedDevice(arch::DeviceProfile, const std::string& scheduler = "gto");

/// What went wrong in the last call of this thread that failed, in words: kernel, PTX line, block, thread, address.
std::string lastSimulatedError();

}  // namespace bulkhead::driver
