#include "cudart/runtime.h"

// Programs compiled with --default-stream per-thread call each of these in place of its namesake: its null stream is
// the calling thread's own.

using namespace bulkhead::cudart;
using bulkhead::driver::CUgraph;
using bulkhead::driver::CUgraphEdgeData;
using bulkhead::driver::CUgraphNode;
using bulkhead::driver::CUhostFn;
using bulkhead::driver::CUmemLocation;
using bulkhead::driver::CUstreamCallback;

#define BULKHEAD_PER_THREAD(name, suffix, parameters, arguments) \
    extern "C" CudaError name parameters;                        \
    BULKHEAD_EXPORT CudaError name##suffix parameters {          \
        const PerThreadDefault scope;                            \
        return name arguments;                                   \
    }

BULKHEAD_PER_THREAD(__cudaLaunchKernel, _ptsz,
                    (const void* kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t bytes, CUstream stream),
                    (kernel, grid, block, arguments, bytes, stream))
BULKHEAD_PER_THREAD(cudaLaunchKernel, _ptsz,
                    (const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t bytes, CUstream stream),
                    (function, grid, block, arguments, bytes, stream))
BULKHEAD_PER_THREAD(cudaLaunchCooperativeKernel, _ptsz,
                    (const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t bytes, CUstream stream),
                    (function, grid, block, arguments, bytes, stream))
BULKHEAD_PER_THREAD(cudaLaunchKernelExC, _ptsz, (const LaunchConfig* config, const void* function, void** arguments),
                    (config, function, arguments))
BULKHEAD_PER_THREAD(cudaLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn function, void* data),
                    (stream, function, data))

BULKHEAD_PER_THREAD(cudaMemcpy, _ptds, (void* to, const void* from, std::size_t bytes, CopyKind kind),
                    (to, from, bytes, kind))
BULKHEAD_PER_THREAD(cudaMemcpyAsync, _ptsz,
                    (void* to, const void* from, std::size_t bytes, CopyKind kind, CUstream stream),
                    (to, from, bytes, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpy2D, _ptds,
                    (void* to, std::size_t toPitch, const void* from, std::size_t fromPitch, std::size_t width,
                     std::size_t rows, CopyKind kind),
                    (to, toPitch, from, fromPitch, width, rows, kind))
BULKHEAD_PER_THREAD(cudaMemcpy2DAsync, _ptsz,
                    (void* to, std::size_t toPitch, const void* from, std::size_t fromPitch, std::size_t width,
                     std::size_t rows, CopyKind kind, CUstream stream),
                    (to, toPitch, from, fromPitch, width, rows, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpy3D, _ptds, (const Copy3D* box), (box))
BULKHEAD_PER_THREAD(cudaMemcpy3DAsync, _ptsz, (const Copy3D* box, CUstream stream), (box, stream))
BULKHEAD_PER_THREAD(cudaMemcpy3DPeer, _ptds, (const PeerCopy3D* box), (box))
BULKHEAD_PER_THREAD(cudaMemcpy3DPeerAsync, _ptsz, (const PeerCopy3D* box, CUstream stream), (box, stream))
BULKHEAD_PER_THREAD(cudaMemcpyToSymbol, _ptds,
                    (const void* symbol, const void* from, std::size_t bytes, std::size_t offset, CopyKind kind),
                    (symbol, from, bytes, offset, kind))
BULKHEAD_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz,
                    (const void* symbol, const void* from, std::size_t bytes, std::size_t offset, CopyKind kind,
                     CUstream stream),
                    (symbol, from, bytes, offset, kind, stream))
BULKHEAD_PER_THREAD(cudaMemcpyFromSymbol, _ptds,
                    (void* to, const void* symbol, std::size_t bytes, std::size_t offset, CopyKind kind),
                    (to, symbol, bytes, offset, kind))
BULKHEAD_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz,
                    (void* to, const void* symbol, std::size_t bytes, std::size_t offset, CopyKind kind,
                     CUstream stream),
                    (to, symbol, bytes, offset, kind, stream))

BULKHEAD_PER_THREAD(cudaMemset, _ptds, (void* to, int value, std::size_t bytes), (to, value, bytes))
BULKHEAD_PER_THREAD(cudaMemsetAsync, _ptsz, (void* to, int value, std::size_t bytes, CUstream stream),
                    (to, value, bytes, stream))
BULKHEAD_PER_THREAD(cudaMemset2D, _ptds, (void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows),
                    (to, pitch, value, width, rows))
BULKHEAD_PER_THREAD(cudaMemset2DAsync, _ptsz,
                    (void* to, std::size_t pitch, int value, std::size_t width, std::size_t rows, CUstream stream),
                    (to, pitch, value, width, rows, stream))
BULKHEAD_PER_THREAD(cudaMemset3D, _ptds, (PitchedPointer to, int value, Extent extent), (to, value, extent))
BULKHEAD_PER_THREAD(cudaMemset3DAsync, _ptsz, (PitchedPointer to, int value, Extent extent, CUstream stream),
                    (to, value, extent, stream))

BULKHEAD_PER_THREAD(cudaMallocAsync, _ptsz, (void** pointer, std::size_t bytes, CUstream stream),
                    (pointer, bytes, stream))
BULKHEAD_PER_THREAD(cudaMallocFromPoolAsync, _ptsz,
                    (void** pointer, std::size_t bytes, CUmemoryPool pool, CUstream stream),
                    (pointer, bytes, pool, stream))
BULKHEAD_PER_THREAD(cudaFreeAsync, _ptsz, (void* pointer, CUstream stream), (pointer, stream))
BULKHEAD_PER_THREAD(cudaMemPrefetchAsync, _ptsz,
                    (const void* pointer, std::size_t bytes, CUmemLocation location, unsigned flags, CUstream stream),
                    (pointer, bytes, location, flags, stream))

BULKHEAD_PER_THREAD(cudaEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))
BULKHEAD_PER_THREAD(cudaEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags),
                    (event, stream, flags))
BULKHEAD_PER_THREAD(cudaStreamAddCallback, _ptsz,
                    (CUstream stream, CUstreamCallback callback, void* data, unsigned flags),
                    (stream, callback, data, flags))
BULKHEAD_PER_THREAD(cudaStreamAttachMemAsync, _ptsz,
                    (CUstream stream, void* pointer, std::size_t bytes, unsigned flags),
                    (stream, pointer, bytes, flags))
BULKHEAD_PER_THREAD(cudaStreamBeginCapture, _ptsz, (CUstream stream, int mode), (stream, mode))
BULKHEAD_PER_THREAD(cudaStreamEndCapture, _ptsz, (CUstream stream, CUgraph* graph), (stream, graph))
BULKHEAD_PER_THREAD(cudaStreamGetCaptureInfo, _ptsz,
                    (CUstream stream, int* status, unsigned long long* id, CUgraph* graph,
                     const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* count),
                    (stream, status, id, graph, dependencies, edges, count))
BULKHEAD_PER_THREAD(cudaStreamGetDevice, _ptsz, (CUstream stream, int* device), (stream, device))
BULKHEAD_PER_THREAD(cudaStreamGetFlags, _ptsz, (CUstream stream, unsigned* flags), (stream, flags))
BULKHEAD_PER_THREAD(cudaStreamGetId, _ptsz, (CUstream stream, unsigned long long* id), (stream, id))
BULKHEAD_PER_THREAD(cudaStreamGetPriority, _ptsz, (CUstream stream, int* priority), (stream, priority))
BULKHEAD_PER_THREAD(cudaStreamIsCapturing, _ptsz, (CUstream stream, int* status), (stream, status))
BULKHEAD_PER_THREAD(cudaStreamQuery, _ptsz, (CUstream stream), (stream))
BULKHEAD_PER_THREAD(cudaStreamSynchronize, _ptsz, (CUstream stream), (stream))
BULKHEAD_PER_THREAD(cudaStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags),
                    (stream, event, flags))

BULKHEAD_PER_THREAD(cudaGetDriverEntryPoint, _ptsz,
                    (const char* symbol, void** function, unsigned long long flags, int* status),
                    (symbol, function, flags, status))
BULKHEAD_PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz,
                    (const char* symbol, void** function, unsigned version, unsigned long long flags, int* status),
                    (symbol, function, version, flags, status))
