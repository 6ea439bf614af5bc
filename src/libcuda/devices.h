#pragma once

#include <string>
#include <vector>

#include "driver/driver_api.h"
#include "gpu/gpu.h"

namespace bulkhead::libcuda {

/// Gives the simulated driver the GPUs that the environment asks for, once: BULKHEAD_GPU (sim:NAME or sim:FILE.json,
/// several with commas between), BULKHEAD_SCHEDULER and BULKHEAD_SET (KEY=VALUE, several with spaces between). What is
/// wrong with them is said on standard error, and then there is no device.
void addChosenDevices();

/// The first of them, for a process in a partition, which has one GPU; there it may be a real one, cuda:N.
struct GpuChoice {
    std::string name, scheduler;
    std::vector<std::string> settings;
};
GpuChoice chosenGpu();
/// Opens it, with the statistics watching. Throws Error.
gpu::Gpu openChosenGpu();

/// Passes a call's result on, and says on standard error why it failed where a code alone would not help: device code
/// that cannot be loaded, a kernel's fault. Each reason once.
driver::CUresult explained(driver::CUresult);

}  // namespace bulkhead::libcuda
