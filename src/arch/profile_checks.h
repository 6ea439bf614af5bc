#pragma once

#include "arch/device_profile.h"

namespace bulkhead::arch {

/// Refuses a profile whose parameters are out of range or contradict each other.
void check(const DeviceProfile& p);

}  // namespace bulkhead::arch
