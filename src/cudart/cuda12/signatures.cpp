// Calls whose parameters CUDA 13 changed, and those that it dropped.

#include "cudart/cuda12/calls13.h"

using namespace bulkhead::cudart;

namespace {

constexpr unsigned kVersion = 12090;

/// Devices by number; the host is cudaCpuDeviceId.
cudaMemLocation locationOf(int device) {
    cudaMemLocation location = {};
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}

}  // namespace

BULKHEAD_CUDA12(cudaRuntimeGetVersion, (int* version)) {
    return call([&] {
        require(version != nullptr);
        *version = kVersion;
    });
}

BULKHEAD_CUDA12(cudaGetDriverEntryPoint, (const char* symbol, void** function, unsigned long long flags,
                                          cudaDriverEntryPointQueryResult* status)) {
    return cudaGetDriverEntryPointByVersion(symbol, function, kVersion, flags, status);
}
BULKHEAD_CUDA12(cudaGetDriverEntryPoint_ptsz, (const char* symbol, void** function, unsigned long long flags,
                                               cudaDriverEntryPointQueryResult* status)) {
    const PerThreadDefault scope;
    return cudaGetDriverEntryPoint_12(symbol, function, flags, status);
}

BULKHEAD_CUDA12(cudaMemAdvise, (const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device)) {
    return cudaMemAdvise_v2(pointer, bytes, advice, locationOf(device));
}

BULKHEAD_CUDA12(cudaMemPrefetchAsync, (const void* pointer, std::size_t bytes, int device, cudaStream_t stream)) {
    return cudaMemPrefetchAsync_v2(pointer, bytes, locationOf(device), 0, stream);
}
BULKHEAD_CUDA12(cudaMemPrefetchAsync_ptsz, (const void* pointer, std::size_t bytes, int device, cudaStream_t stream)) {
    const PerThreadDefault scope;
    return cudaMemPrefetchAsync_12(pointer, bytes, device, stream);
}

BULKHEAD_CUDA12(cudaEventElapsedTime_v2, (float* milliseconds, cudaEvent_t start, cudaEvent_t end)) {
    return cudaEventElapsedTime(milliseconds, start, end);
}

// Graphs, before edges had data.

BULKHEAD_CUDA12(cudaGraphAddDependencies,
                (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count)) {
    return cudaGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
BULKHEAD_CUDA12(cudaGraphRemoveDependencies,
                (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count)) {
    return cudaGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
BULKHEAD_CUDA12(cudaGraphGetEdges,
                (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, std::size_t* count)) {
    return cudaGraphGetEdges_v2(graph, from, to, nullptr, count);
}
BULKHEAD_CUDA12(cudaGraphNodeGetDependencies,
                (cudaGraphNode_t node, cudaGraphNode_t* dependencies, std::size_t* count)) {
    return cudaGraphNodeGetDependencies_v2(node, dependencies, nullptr, count);
}
BULKHEAD_CUDA12(cudaGraphNodeGetDependentNodes,
                (cudaGraphNode_t node, cudaGraphNode_t* dependents, std::size_t* count)) {
    return cudaGraphNodeGetDependentNodes_v2(node, dependents, nullptr, count);
}
BULKHEAD_CUDA12(cudaGraphAddNode, (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, cudaGraphNodeParams* parameters)) {
    return cudaGraphAddNode_v2(node, graph, dependencies, nullptr, count, parameters);
}

BULKHEAD_CUDA12(cudaStreamGetCaptureInfo,
                (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id)) {
    return cudaStreamGetCaptureInfo_v3(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
BULKHEAD_CUDA12(cudaStreamGetCaptureInfo_ptsz,
                (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id)) {
    const PerThreadDefault scope;
    return cudaStreamGetCaptureInfo_12(stream, status, id);
}
BULKHEAD_CUDA12(cudaStreamGetCaptureInfo_v2,
                (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                 const cudaGraphNode_t** dependencies, std::size_t* count)) {
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}
BULKHEAD_CUDA12(cudaStreamGetCaptureInfo_v2_ptsz,
                (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                 const cudaGraphNode_t** dependencies, std::size_t* count)) {
    const PerThreadDefault scope;
    return cudaStreamGetCaptureInfo_v2_12(stream, status, id, graph, dependencies, count);
}
BULKHEAD_CUDA12(cudaStreamUpdateCaptureDependencies,
                (cudaStream_t stream, cudaGraphNode_t* dependencies, std::size_t count, unsigned flags)) {
    return cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}
BULKHEAD_CUDA12(cudaStreamUpdateCaptureDependencies_ptsz,
                (cudaStream_t stream, cudaGraphNode_t* dependencies, std::size_t count, unsigned flags)) {
    const PerThreadDefault scope;
    return cudaStreamUpdateCaptureDependencies_12(stream, dependencies, count, flags);
}

// Calls by the names of CUDA 3, when a context belonged to a thread.

BULKHEAD_CUDA12(cudaThreadExit, ()) {
    return cudaDeviceReset();
}
BULKHEAD_CUDA12(cudaThreadSynchronize, ()) {
    return cudaDeviceSynchronize();
}
BULKHEAD_CUDA12(cudaThreadGetLimit, (std::size_t * value, cudaLimit limit)) {
    return cudaDeviceGetLimit(value, limit);
}
BULKHEAD_CUDA12(cudaThreadSetLimit, (cudaLimit limit, std::size_t value)) {
    return cudaDeviceSetLimit(limit, value);
}
BULKHEAD_CUDA12(cudaThreadGetCacheConfig, (cudaFuncCache * config)) {
    return cudaDeviceGetCacheConfig(config);
}
BULKHEAD_CUDA12(cudaThreadSetCacheConfig, (cudaFuncCache config)) {
    return cudaDeviceSetCacheConfig(config);
}

// Every GPU since compute capability 1.3 has doubles, so they stay as they are.

BULKHEAD_CUDA12(cudaSetDoubleForDevice, (double*)) {
    return call([] {});
}
BULKHEAD_CUDA12(cudaSetDoubleForHost, (double*)) {
    return call([] {});
}
