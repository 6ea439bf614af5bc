#pragma once

#include <span>

#include "driver/driver_api.h"
#include "driver/proc_address.h"

namespace bulkhead::libcuda {

/// The driver that a program's calls go to: NVIDIA's where BULKHEAD_TIMED has it timed; else the simulated one, or,
/// once this process has joined a partition, one that keeps it inside its walls. BULKHEAD_PARTITION names the one to
/// join with the first call; if that cannot be, it is said on standard error and there is no device, rather than one
/// without walls. A child of a fork has none of its parent's: as with NVIDIA's driver, it is answered
/// CUDA_ERROR_NOT_INITIALIZED.
const driver::DriverApi& front();

/// Every call under the name that this library exports it by. What a program looks up by cuGetProcAddress is one of
/// these, never a call of the driver behind, which would know no walls.
std::span<const driver::NamedCall> exportedCalls();

}  // namespace bulkhead::libcuda
