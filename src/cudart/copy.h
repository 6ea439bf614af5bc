#pragma once

#include "cudart/runtime.h"

namespace bulkhead::cudart {

/// Where the bytes of a copy come from and go to.
struct Route {
    bool fromHost, toHost;
};

/// The route that the pointers show; what they leave open, the kind decides.
Route routeOf(cudaMemcpyKind, const void* to, const void* from);

/// When a call returns: with the copy done, or with it put into its stream.
enum class Completion { done, enqueued };

/// A box as the driver copies it. Throws Failure for pitches that are too small, and for arrays of unlike elements.
driver::CUDA_MEMCPY3D driverCopy(const cudaMemcpy3DParms&);
void copyInDriver(const driver::CUDA_MEMCPY3D&, cudaStream_t, Completion);

/// The driver's handle of an array.
driver::CUarray arrayHandle(cudaArray_const_t);
std::size_t texelBytes(const driver::CUDA_ARRAY3D_DESCRIPTOR&);

void copyBytes(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t, Completion);

}  // namespace bulkhead::cudart
