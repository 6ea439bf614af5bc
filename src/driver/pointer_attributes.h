#pragma once

#include "driver/cu_types.h"

namespace bulkhead::driver {

/// CUmemorytype.
constexpr CUmemorytype kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4;

/// CUpointer_attribute.
enum class PointerAttribute : CUpointer_attribute {
    context = 1,
    memoryType = 2,
    devicePointer = 3,
    hostPointer = 4,
    syncMemops = 6,
    bufferId = 7,
    isManaged = 8,
    deviceOrdinal = 9,
    isIpcCapable = 10,
    rangeStart = 11,
    rangeBytes = 12,
    mapped = 13,
    allowedHandles = 14,
    isRdmaCapable = 15,
    accessFlags = 16,
    pool = 17,
    mappingBytes = 18,
    mappingBase = 19,
};

}  // namespace bulkhead::driver
