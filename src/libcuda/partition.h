#pragma once

#include "driver/driver_api.h"
#include "libbulkhead/driver_table.h"

namespace bulkhead::libcuda {

/// The driver that a program's calls go to: the simulated one, or, once this process has joined a partition, one that
/// keeps it inside its walls. BULKHEAD_PARTITION names the one to join with the first call; if that cannot be, it is
/// said on standard error and there is no device, rather than one without walls.
const driver::DriverApi& front();

/// What libbulkhead calls.
const DriverTable& driverTable();

}  // namespace bulkhead::libcuda
