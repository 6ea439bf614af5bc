#pragma once

#include "driver/cu_types.h"
#include "driver/driver_calls.h"
#include "driver/results.h"

namespace bulkhead::driver {

/// The one interface to a device: a table of driver calls. A real driver's is filled from libcuda.so.1; everything
/// above the table is written once.
struct DriverApi {
#define BULKHEAD_DECLARE_CALL(name, symbol, variant, parameters, arguments) CUresult(*name) parameters = nullptr;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_DECLARE_CALL)
#undef BULKHEAD_DECLARE_CALL
};

}  // namespace bulkhead::driver
