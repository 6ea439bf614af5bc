#pragma once

#include "../cuda_runtime_api.h"

// C++ forms of functions of the runtime library: pointers of any type, symbols by reference, kernels by their own type.

template <class T_>
inline cudaError_t cudaMalloc(T_** pointer, size_t bytes) {
    return ::cudaMalloc((void**)pointer, bytes);
}
template <class T_>
inline cudaError_t cudaMallocHost(T_** pointer, size_t bytes, unsigned int flags = 0) {
    return ::cudaHostAlloc((void**)pointer, bytes, flags);
}
template <class T_>
inline cudaError_t cudaHostAlloc(T_** pointer, size_t bytes, unsigned int flags) {
    return ::cudaHostAlloc((void**)pointer, bytes, flags);
}
template <class T_>
inline cudaError_t cudaHostGetDevicePointer(T_** device, void* host, unsigned int flags) {
    return ::cudaHostGetDevicePointer((void**)device, host, flags);
}
template <class T_>
inline cudaError_t cudaMallocManaged(T_** pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal) {
    return ::cudaMallocManaged((void**)pointer, bytes, flags);
}
template <class T_>
inline cudaError_t cudaMallocAsync(T_** pointer, size_t bytes, cudaStream_t stream) {
    return ::cudaMallocAsync((void**)pointer, bytes, stream);
}
template <class T_>
inline cudaError_t cudaMallocFromPoolAsync(T_** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync((void**)pointer, bytes, pool, stream);
}
template <class T_>
inline cudaError_t cudaMallocPitch(T_** pointer, size_t* pitch, size_t width, size_t height) {
    return ::cudaMallocPitch((void**)pointer, pitch, width, height);
}

inline cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned int flags) {
    return ::cudaHostAlloc(pointer, bytes, flags);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
    return ::cudaEventCreateWithFlags(event, flags);
}

template <class T_>
inline cudaError_t cudaGetSymbolAddress(void** address, const T_& symbol) {
    return ::cudaGetSymbolAddress(address, (const void*)&symbol);
}
template <class T_>
inline cudaError_t cudaGetSymbolSize(size_t* bytes, const T_& symbol) {
    return ::cudaGetSymbolSize(bytes, (const void*)&symbol);
}
template <class T_>
inline cudaError_t cudaMemcpyToSymbol(const T_& symbol, const void* from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return ::cudaMemcpyToSymbol((const void*)&symbol, from, bytes, offset, kind);
}
template <class T_>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T_& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return ::cudaMemcpyFromSymbol(to, (const void*)&symbol, bytes, offset, kind);
}
template <class T_>
inline cudaError_t cudaMemcpyToSymbolAsync(const T_& symbol, const void* from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0) {
    return ::cudaMemcpyToSymbolAsync((const void*)&symbol, from, bytes, offset, kind, stream);
}
template <class T_>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T_& symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0) {
    return ::cudaMemcpyFromSymbolAsync(to, (const void*)&symbol, bytes, offset, kind, stream);
}

/// The forms of CUDA 12: a device, or cudaCpuDeviceId, in place of a location.
inline cudaMemLocation bulkheadLocation(int device) {
    return {device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
            device == cudaCpuDeviceId ? 0 : device};
}
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream = 0) {
    return ::cudaMemPrefetchAsync(pointer, bytes, bulkheadLocation(device), 0, stream);
}
inline cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
    return ::cudaMemAdvise(pointer, bytes, advice, bulkheadLocation(device));
}

/// The form of CUDA 11: nothing is told of what went wrong.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
    return ::cudaGraphInstantiate(exec, graph, 0);
}
/// Likewise, but for the node and the kind of mistake.
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t* errorNode,
                                       cudaGraphExecUpdateResult* result) {
    cudaGraphExecUpdateResultInfo told = {};
    const cudaError_t error = ::cudaGraphExecUpdate(exec, graph, &told);
    if (errorNode != nullptr) *errorNode = told.errorNode;
    if (result != nullptr) *result = told.result;
    return error;
}
template <class T_>
inline cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies, size_t count, const T_& symbol,
                                                  const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, count, (const void*)&symbol, from, bytes, offset,
                                            kind);
}
template <class T_>
inline cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies, size_t count, void* to,
                                                    const T_& symbol, size_t bytes, size_t offset,
                                                    cudaMemcpyKind kind) {
    return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, count, to, (const void*)&symbol, bytes, offset,
                                              kind);
}
template <class T_>
inline cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T_& symbol, const void* from,
                                                        size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void*)&symbol, from, bytes, offset, kind);
}
template <class T_>
inline cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const T_& symbol,
                                                          size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, to, (const void*)&symbol, bytes, offset, kind);
}
template <class T_>
inline cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const T_& symbol, const void* from, size_t bytes,
                                                            size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, (const void*)&symbol, from, bytes, offset, kind);
}
template <class T_>
inline cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                                              const T_& symbol, size_t bytes, size_t offset,
                                                              cudaMemcpyKind kind) {
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, to, (const void*)&symbol, bytes, offset, kind);
}

template <class T_>
inline cudaError_t cudaLaunchKernel(T_* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes = 0,
                                    cudaStream_t stream = 0) {
    return ::cudaLaunchKernel((const void*)function, grid, block, arguments, sharedBytes, stream);
}
template <class T_>
inline cudaError_t cudaLaunchCooperativeKernel(T_* function, dim3 grid, dim3 block, void** arguments,
                                               size_t sharedBytes = 0, cudaStream_t stream = 0) {
    return ::cudaLaunchCooperativeKernel((const void*)function, grid, block, arguments, sharedBytes, stream);
}
template <class... Parameters, class... Arguments>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                                      Arguments&&... arguments) {
    // Each argument becomes what the kernel takes before its address is passed.
    return [&](Parameters... values) {
        void* addresses[] = {(void*)&values..., nullptr};
        return ::cudaLaunchKernelExC(config, (const void*)kernel, addresses);
    }(static_cast<Arguments&&>(arguments)...);
}

template <class T_>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T_* function) {
    return ::cudaFuncGetAttributes(attributes, (const void*)function);
}
template <class T_>
inline cudaError_t cudaFuncSetAttribute(T_* function, cudaFuncAttribute attribute, int value) {
    return ::cudaFuncSetAttribute((const void*)function, attribute, value);
}
template <class T_>
inline cudaError_t cudaFuncSetCacheConfig(T_* function, cudaFuncCache config) {
    return ::cudaFuncSetCacheConfig((const void*)function, config);
}
template <class T_>
inline cudaError_t cudaFuncGetName(const char** name, T_* function) {
    return ::cudaFuncGetName(name, (const void*)function);
}

template <class T_>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T_ function, int threads,
                                                                 size_t dynamicSharedBytes) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)function, threads, dynamicSharedBytes);
}
template <class T_>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T_ function, int threads,
                                                                          size_t dynamicSharedBytes,
                                                                          unsigned int flags) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void*)function, threads,
                                                                    dynamicSharedBytes, flags);
}
template <class T_>
inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, T_ function, int blocks, int threads) {
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(bytes, (const void*)function, blocks, threads);
}

/// The block size that keeps most threads on a multiprocessor, and the blocks that fill the GPU with it. The largest
/// size wins among equals.
template <class T_, class SharedBytesOfThreads>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* gridSize, int* blockSize, T_ function,
                                                                  SharedBytesOfThreads sharedBytes, int limit = 0) {
    if (gridSize == nullptr || blockSize == nullptr) return cudaErrorInvalidValue;
    int device = 0, multiprocessors = 0, warp = 32;
    cudaFuncAttributes attributes;
    cudaError_t error = ::cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = ::cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    if (error == cudaSuccess) error = ::cudaFuncGetAttributes(&attributes, (const void*)function);
    if (error != cudaSuccess) return error;

    int largest = attributes.maxThreadsPerBlock;
    if (limit > 0 && limit < largest) largest = limit;
    int mostThreads = 0;
    for (int threads = largest; threads > 0; threads = (threads - 1) / warp * warp) {
        int blocks = 0;
        error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)function, threads,
                                                                (size_t)sharedBytes(threads));
        if (error != cudaSuccess) return error;
        if (blocks * threads > mostThreads) {
            mostThreads = blocks * threads;
            *blockSize = threads;
            *gridSize = blocks * multiprocessors;
        }
    }
    return mostThreads > 0 ? cudaSuccess : cudaErrorInvalidConfiguration;
}
template <class T_>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize, T_ function,
                                                      size_t dynamicSharedBytes = 0, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        gridSize, blockSize, function, [=](int) { return dynamicSharedBytes; }, limit);
}
/// The flags speak of caches of devices that CUDA 13 no longer knows.
template <class T_, class SharedBytesOfThreads>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* gridSize, int* blockSize, T_ function,
                                                                           SharedBytesOfThreads sharedBytes,
                                                                           int limit = 0, unsigned int = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(gridSize, blockSize, function, sharedBytes, limit);
}
template <class T_>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* gridSize, int* blockSize, T_ function,
                                                               size_t dynamicSharedBytes = 0, int limit = 0,
                                                               unsigned int = 0) {
    return cudaOccupancyMaxPotentialBlockSize(gridSize, blockSize, function, dynamicSharedBytes, limit);
}

inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    return {width, height, depth};
}
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    return {x, y, z};
}
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width, size_t height) {
    return {pointer, pitch, width, height};
}
