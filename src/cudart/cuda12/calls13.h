#pragma once

#include "cudart/runtime.h"
#include "sdk/include/cuda_runtime_api.h"

// Calls of the CUDA 13 runtime by the names that renamed.txt gives them: `_13` where CUDA 12 has no call of the same
// signature, `_v2` or `_v3` where it has.

extern "C" {
cudaError_t cudaGetDeviceProperties_13(cudaDeviceProp*, int device);
cudaError_t cudaChooseDevice_13(int* device, const cudaDeviceProp*);
cudaError_t cudaPointerGetAttributes_13(cudaPointerAttributes*, const void* pointer);
cudaError_t cudaCreateTextureObject_13(cudaTextureObject_t*, const cudaResourceDesc*, const cudaTextureDesc*,
                                       const cudaResourceViewDesc*);
cudaError_t cudaGetTextureObjectResourceDesc_13(cudaResourceDesc*, cudaTextureObject_t);
cudaError_t cudaGetTextureObjectResourceViewDesc_13(cudaResourceViewDesc*, cudaTextureObject_t);
cudaError_t cudaCreateSurfaceObject_13(cudaSurfaceObject_t*, const cudaResourceDesc*);
cudaError_t cudaGetSurfaceObjectResourceDesc_13(cudaResourceDesc*, cudaSurfaceObject_t);

cudaError_t cudaMemAdvise_v2(const void*, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation);
cudaError_t cudaMemPrefetchAsync_v2(const void*, std::size_t bytes, cudaMemLocation, unsigned flags, cudaStream_t);
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, std::size_t count);
cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                           const cudaGraphEdgeData*, std::size_t count);
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData*,
                                 std::size_t* count);
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*, std::size_t* count);
cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*,
                                              std::size_t* count);
cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, const cudaGraphEdgeData*,
                                std::size_t count, cudaGraphNodeParams*);
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long* id, cudaGraph_t*,
                                        const cudaGraphNode_t**, const cudaGraphEdgeData**, std::size_t* count);
cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t, cudaGraphNode_t*, const cudaGraphEdgeData*,
                                                   std::size_t count, unsigned flags);
}

/// Defines a call of CUDA 12. The headers declare what CUDA 13 has by that name, so the function has another, and its
/// symbol this one.
#define BULKHEAD_CUDA12(name, parameters)                                                              \
    extern "C" __attribute__((visibility("default"))) cudaError_t name##_12 parameters __asm__(#name); \
    extern "C" cudaError_t name##_12 parameters
