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

/// A box as the driver copies it. Throws Failure for arrays, and for pitches that are too small.
driver::CUDA_MEMCPY3D driverCopy(const cudaMemcpy3DParms&);

void copyBytes(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t, Completion);

}  // namespace bulkhead::cudart
