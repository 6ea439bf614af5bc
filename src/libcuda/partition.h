#pragma once

#include "libbulkhead/driver_table.h"

namespace bulkhead::libcuda {

/// Where this process stands. Decided with the first call, which joins the partition that BULKHEAD_PARTITION names;
/// bulkhead_join can change it before.
enum class Place {
    outside,
    walled,
    refused,  ///< there is no device: it should have been inside, and could not
};
Place placeOfProcess();

/// What libbulkhead calls.
const DriverTable& driverTable();

}  // namespace bulkhead::libcuda
