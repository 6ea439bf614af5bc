#pragma once

#include "driver/cu_types.h"

namespace bulkhead::driver {

/// A copy of two dimensions as one of three.
inline CUDA_MEMCPY3D flat(const CUDA_MEMCPY2D& c) {
    CUDA_MEMCPY3D box = {};
    box.srcXInBytes = c.srcXInBytes, box.srcY = c.srcY, box.srcPitch = c.srcPitch;
    box.srcMemoryType = c.srcMemoryType, box.srcHost = c.srcHost, box.srcDevice = c.srcDevice;
    box.srcArray = c.srcArray, box.dstArray = c.dstArray;
    box.dstXInBytes = c.dstXInBytes, box.dstY = c.dstY, box.dstPitch = c.dstPitch;
    box.dstMemoryType = c.dstMemoryType, box.dstHost = c.dstHost, box.dstDevice = c.dstDevice;
    box.WidthInBytes = c.WidthInBytes, box.Height = c.Height, box.Depth = 1;
    return box;
}

}  // namespace bulkhead::driver
