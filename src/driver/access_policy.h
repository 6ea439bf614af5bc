#pragma once

#include "driver/state.h"

// Lines that persist in L2: the part that is set aside for them, and windows of launches.

namespace bulkhead::driver {

constexpr CUlaunchAttributeID kAccessPolicyWindow = 1;

/// Of one window, at most.
Bytes largestAccessWindow(const Device&);
/// Throws Failure for a window that an H200 does not take.
void checkAccessPolicy(const Device&, const CUaccessPolicyWindow&);
/// A launch's window, as the simulator has it; one of no bytes if it has none.
sim::AccessWindow accessWindow(const CUlaunchAttributes&);

/// As a new device has it.
Bytes persistingL2AtFirst(const Device&);
void setPersistingL2(Device&, Bytes);

}  // namespace bulkhead::driver
