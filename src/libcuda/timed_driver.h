#pragma once

#include "driver/driver_api.h"

namespace bulkhead::libcuda {

/// A driver's table in which kernels, copies and fills are timed by events before and behind each. `inner` must stay.
const driver::DriverApi& timedDriver(const driver::DriverApi& inner);

/// What was timed, once all of it has ended.
struct TimedWork {
    double seconds = 0;  ///< in which at least one was under way: what overlaps counts once
    std::uint64_t operations = 0;
};
TimedWork timedWork();

/// Where BULKHEAD_TIMED names a file: NVIDIA's driver, timed. The file is written when the program ends. Null where the
/// variable is not set. Throws Error where there is no such driver.
const driver::DriverApi* openTimed();

}  // namespace bulkhead::libcuda
