#pragma once

#include "driver/cu_types.h"

namespace bulkhead::driver {

/// CUlaunchAttributeID.
enum class LaunchAttribute : CUlaunchAttributeID {
    ignore = 0,
    accessPolicyWindow = 1,
    cooperative = 2,
    synchronizationPolicy = 3,
    clusterDimension = 4,
    clusterScheduling = 5,
    programmaticSerialization = 6,
    programmaticEvent = 7,
    priority = 8,
    memorySyncDomainMap = 9,
    memorySyncDomain = 10,
    preferredClusterDimension = 11,
    launchCompletionEvent = 12,
    deviceUpdatableNode = 13,
    sharedCarveout = 14,
    nvlinkScheduling = 16,
};

}  // namespace bulkhead::driver
