#include "cudart/runtime.h"
#include "sdk/include/cuda_runtime_api.h"

// Programs compiled with --default-stream per-thread call each of these in place of its namesake: its null stream is
// the calling thread's own.

using namespace bulkhead::cudart;

#define BULKHEAD_PER_THREAD(name, suffix, parameters, arguments) \
    extern "C" cudaError_t name parameters;                      \
    BULKHEAD_EXPORT cudaError_t name##suffix parameters {        \
        const PerThreadDefault scope;                            \
        return name arguments;                                   \
    }

BULKHEAD_PER_THREAD(__cudaLaunchKernel, _ptsz,
                    (const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                     cudaStream_t stream),
                    (kernel, grid, block, arguments, bytes, stream))
BULKHEAD_PER_THREAD(cudaLaunchKernel, _ptsz,
                    (const void* function, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                     cudaStream_t stream),
                    (function, grid, block, arguments, bytes, stream))
BULKHEAD_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz,
                    (const void* function, dim3 grid, dim3 block, void** arguments, std::size_t bytes,
                     cudaStream_t stream),
                    (function, grid, block, arguments, bytes, stream))
BULKHEAD_PER_THREAD(cudaLaunchKernelExC, _ptsz,
                    (const cudaLaunchConfig_t* config, const void* function, void** arguments),
                    (config, function, arguments))
BULKHEAD_PER_THREAD(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void* data),
                    (stream, function, data))

BULKHEAD_PER_THREAD(cudaMemcpy, _ptds, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind),
                    (to, from, bytes, kind))
BULKHEAD_PER_THREAD(cudaMemcpyAsync, _ptsz,
                    (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
                    (to, from, bytes, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpy2D, _ptds,
                    (void* to, std::size_t toPitch, const void* from, std::size_t fromPitch, std::size_t width,
                     std::size_t rows, cudaMemcpyKind kind),
                    (to, toPitch, from, fromPitch, width, rows, kind))
BULKHEAD_PER_THREAD(cudaMemcpy2DAsync, _ptsz,
                    (void* to, std::size_t toPitch, const void* from, std::size_t fromPitch, std::size_t width,
                     std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream),
                    (to, toPitch, from, fromPitch, width, rows, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpy3D, _ptds, (const cudaMemcpy3DParms* box), (box))
BULKHEAD_PER_THREAD(cudaMemcpy3DAsync, _ptsz, (const cudaMemcpy3DParms* box, cudaStream_t stream), (box, stream))
BULKHEAD_PER_THREAD(cudaMemcpy3DPeer, _ptds, (const cudaMemcpy3DPeerParms* box), (box))
BULKHEAD_PER_THREAD(cudaMemcpy3DPeerAsync, _ptsz, (const cudaMemcpy3DPeerParms* box, cudaStream_t stream),
                    (box, stream))
BULKHEAD_PER_THREAD(cudaMemcpyToSymbol, _ptds,
                    (const void* symbol, const void* from, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind),
                    (symbol, from, bytes, offset, kind))
BULKHEAD_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz,
                    (const void* symbol, const void* from, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                     cudaStream_t stream),
                    (symbol, from, bytes, offset, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpyFromSymbol, _ptds,
                    (void* to, const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind),
                    (to, symbol, bytes, offset, kind))
BULKHEAD_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz,
                    (void* to, const void* symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                     cudaStream_t stream),
                    (to, symbol, bytes, offset, kind, stream))

BULKHEAD_PER_THREAD(cudaMemcpy2DToArray, _ptds,
                    (cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                     std::size_t width, std::size_t rows, cudaMemcpyKind kind),
                    (to, x, y, from, pitch, width, rows, kind))
BULKHEAD_PER_THREAD(cudaMemcpy2DToArrayAsync, _ptsz,
                    (cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                     std::size_t width, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream),
                    (to, x, y, from, pitch, width, rows, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpy2DFromArray, _ptds,
                    (void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                     std::size_t width, std::size_t rows, cudaMemcpyKind kind),
                    (to, pitch, from, x, y, width, rows, kind))
BULKHEAD_PER_THREAD(cudaMemcpy2DFromArrayAsync, _ptsz,
                    (void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                     std::size_t width, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream),
                    (to, pitch, from, x, y, width, rows, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpy2DArrayToArray, _ptds,
                    (cudaArray_t to, std::size_t toX, std::size_t toY, cudaArray_const_t from, std::size_t fromX,
                     std::size_t fromY, std::size_t width, std::size_t rows, cudaMemcpyKind kind),
                    (to, toX, toY, from, fromX, fromY, width, rows, kind))
BULKHEAD_PER_THREAD(cudaMemcpyArrayToArray, _ptds,
                    (cudaArray_t to, std::size_t toX, std::size_t toY, cudaArray_const_t from, std::size_t fromX,
                     std::size_t fromY, std::size_t bytes, cudaMemcpyKind kind),
                    (to, toX, toY, from, fromX, fromY, bytes, kind))
BULKHEAD_PER_THREAD(cudaMemcpyToArray, _ptds,
                    (cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                     cudaMemcpyKind kind),
                    (to, x, y, from, bytes, kind))
BULKHEAD_PER_THREAD(cudaMemcpyToArrayAsync, _ptsz,
                    (cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                     cudaMemcpyKind kind, cudaStream_t stream),
                    (to, x, y, from, bytes, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpyFromArray, _ptds,
                    (void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                     cudaMemcpyKind kind),
                    (to, from, x, y, bytes, kind))
BULKHEAD_PER_THREAD(cudaMemcpyFromArrayAsync, _ptsz,
                    (void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                     cudaMemcpyKind kind, cudaStream_t stream),
                    (to, from, x, y, bytes, kind, stream))

BULKHEAD_PER_THREAD(cudaMemset, _ptds, (void* to, int value, std::size_t bytes), (to, value, bytes))
BULKHEAD_PER_THREAD(cudaMemsetAsync, _ptsz, (void* to, int value, std::size_t bytes, cudaStream_t stream),
                    (to, value, bytes, stream))
BULKHEAD_PER_THREAD(cudaMemset2D, _ptds, (void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows),
                    (to, pitch, value, width, rows))
BULKHEAD_PER_THREAD(cudaMemset2DAsync, _ptsz,
                    (void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows, cudaStream_t stream),
                    (to, pitch, value, width, rows, stream))
BULKHEAD_PER_THREAD(cudaMemset3D, _ptds, (cudaPitchedPtr to, int value, cudaExtent extent), (to, value, extent))
BULKHEAD_PER_THREAD(cudaMemset3DAsync, _ptsz, (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream),
                    (to, value, extent, stream))

BULKHEAD_PER_THREAD(cudaMallocAsync, _ptsz, (void** pointer, std::size_t bytes, cudaStream_t stream),
                    (pointer, bytes, stream))
BULKHEAD_PER_THREAD(cudaMallocFromPoolAsync, _ptsz,
                    (void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                    (pointer, bytes, pool, stream))
BULKHEAD_PER_THREAD(cudaFreeAsync, _ptsz, (void* pointer, cudaStream_t stream), (pointer, stream))
BULKHEAD_PER_THREAD(cudaMemPrefetchAsync, _ptsz,
                    (const void* pointer, std::size_t bytes, cudaMemLocation location, unsigned flags,
                     cudaStream_t stream),
                    (pointer, bytes, location, flags, stream))

BULKHEAD_PER_THREAD(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream), (event, stream))
BULKHEAD_PER_THREAD(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
                    (event, stream, flags))
BULKHEAD_PER_THREAD(cudaStreamAddCallback, _ptsz,
                    (cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags),
                    (stream, callback, data, flags))
BULKHEAD_PER_THREAD(cudaStreamAttachMemAsync, _ptsz,
                    (cudaStream_t stream, void* pointer, std::size_t bytes, unsigned flags),
                    (stream, pointer, bytes, flags))
BULKHEAD_PER_THREAD(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode))
BULKHEAD_PER_THREAD(cudaStreamBeginCaptureToGraph, _ptsz,
                    (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     const cudaGraphEdgeData* edges, std::size_t count, cudaStreamCaptureMode mode),
                    (stream, graph, dependencies, edges, count, mode))
BULKHEAD_PER_THREAD(cudaStreamUpdateCaptureDependencies, _ptsz,
                    (cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                     std::size_t count, unsigned flags),
                    (stream, dependencies, edges, count, flags))
BULKHEAD_PER_THREAD(cudaGraphInstantiateWithParams, _ptsz,
                    (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
                    (exec, graph, parameters))
BULKHEAD_PER_THREAD(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
BULKHEAD_PER_THREAD(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
BULKHEAD_PER_THREAD(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph), (stream, graph))
BULKHEAD_PER_THREAD(cudaStreamGetCaptureInfo, _ptsz,
                    (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, std::size_t* count),
                    (stream, status, id, graph, dependencies, edges, count))
BULKHEAD_PER_THREAD(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int* device), (stream, device))
BULKHEAD_PER_THREAD(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned* flags), (stream, flags))
BULKHEAD_PER_THREAD(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long* id), (stream, id))
BULKHEAD_PER_THREAD(cudaStreamSetAttribute, _ptsz,
                    (cudaStream_t stream, cudaLaunchAttributeID id, const cudaLaunchAttributeValue* value),
                    (stream, id, value))
BULKHEAD_PER_THREAD(cudaStreamGetAttribute, _ptsz,
                    (cudaStream_t stream, cudaLaunchAttributeID id, cudaLaunchAttributeValue* value),
                    (stream, id, value))
BULKHEAD_PER_THREAD(cudaStreamCopyAttributes, _ptsz, (cudaStream_t to, cudaStream_t from), (to, from))
BULKHEAD_PER_THREAD(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority), (stream, priority))
BULKHEAD_PER_THREAD(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, cudaStreamCaptureStatus* status),
                    (stream, status))
BULKHEAD_PER_THREAD(cudaStreamQuery, _ptsz, (cudaStream_t stream), (stream))
BULKHEAD_PER_THREAD(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), (stream))
BULKHEAD_PER_THREAD(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
                    (stream, event, flags))

BULKHEAD_PER_THREAD(cudaGetDriverEntryPoint, _ptsz,
                    (const char* symbol, void** function, unsigned long long flags, int* status),
                    (symbol, function, flags, status))
BULKHEAD_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz,
                    (const char* symbol, void** function, unsigned version, unsigned long long flags, int* status),
                    (symbol, function, version, flags, status))
