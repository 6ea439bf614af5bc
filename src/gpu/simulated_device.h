#pragma once

#include <functional>
#include <string>

#include "gpu/launch_log.h"

// For programs that call the simulated driver themselves.

namespace bulkhead::gpu {

/// Makes a simulated GPU one more device of that driver, until the process ends. Throws Error.
LaunchCounters addDevice(const std::string& name, const SimulationOptions&);

/// What went wrong in this thread's last call that failed, in words: kernel, PTX line, block, thread, address.
std::string lastError();
/// Lets kernels of all simulated GPUs read beside allocations where hardware would not notice, and tells of it.
void relaxBounds(std::function<void(const std::string&)> tell);
/// Whether simulated time passes also while the program waits elsewhere than in the driver.
void workWhileHostWaits(bool);

}  // namespace bulkhead::gpu
