#include "cudart/runtime.h"

using namespace bulkhead::cudart;
using bulkhead::driver::CUgraph;
using bulkhead::driver::CUgraphEdgeData;
using bulkhead::driver::CUgraphNode;
using bulkhead::driver::CUstreamCallback;

BULKHEAD_EXPORT CudaError cudaStreamCreate(CUstream* stream) {
    return call([&] { check(ready().cuStreamCreate(stream, 0)); });
}

BULKHEAD_EXPORT CudaError cudaStreamCreateWithFlags(CUstream* stream, unsigned flags) {
    return call([&] { check(ready().cuStreamCreate(stream, flags)); });
}

BULKHEAD_EXPORT CudaError cudaStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return call([&] { check(ready().cuStreamCreateWithPriority(stream, flags, priority)); });
}

BULKHEAD_EXPORT CudaError cudaStreamDestroy(CUstream stream) {
    return call([&] { check(ready().cuStreamDestroy(stream)); });
}

BULKHEAD_EXPORT CudaError cudaStreamGetPriority(CUstream stream, int* priority) {
    return call([&] { check(ready().cuStreamGetPriority(streamOf(stream), priority)); });
}

BULKHEAD_EXPORT CudaError cudaStreamGetFlags(CUstream stream, unsigned* flags) {
    return call([&] { check(ready().cuStreamGetFlags(streamOf(stream), flags)); });
}

BULKHEAD_EXPORT CudaError cudaStreamGetId(CUstream stream, unsigned long long* id) {
    return call([&] { check(newer(ready().cuStreamGetId)(streamOf(stream), id)); });
}

BULKHEAD_EXPORT CudaError cudaStreamGetDevice(CUstream stream, int* device) {
    return call([&] { check(newer(ready().cuStreamGetDevice)(streamOf(stream), device)); });
}

BULKHEAD_EXPORT CudaError cudaStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return call([&] { check(ready().cuStreamWaitEvent(streamOf(stream), event, flags)); });
}

BULKHEAD_EXPORT CudaError cudaStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                                                unsigned flags) {
    return call([&] { check(ready().cuStreamAddCallback(streamOf(stream), callback, data, flags)); });
}

BULKHEAD_EXPORT CudaError cudaStreamSynchronize(CUstream stream) {
    return call([&] { check(ready().cuStreamSynchronize(streamOf(stream))); });
}

BULKHEAD_EXPORT CudaError cudaStreamQuery(CUstream stream) {
    return call([&] { check(ready().cuStreamQuery(streamOf(stream))); });
}

BULKHEAD_EXPORT CudaError cudaStreamAttachMemAsync(CUstream stream, void* pointer, std::size_t bytes, unsigned flags) {
    return call([&] { check(ready().cuStreamAttachMemAsync(streamOf(stream), addressOf(pointer), bytes, flags)); });
}

BULKHEAD_EXPORT CudaError cudaStreamBeginCapture(CUstream stream, int mode) {
    return call([&] { check(ready().cuStreamBeginCapture(streamOf(stream), mode)); });
}

BULKHEAD_EXPORT CudaError cudaStreamEndCapture(CUstream stream, CUgraph* graph) {
    return call([&] { check(ready().cuStreamEndCapture(streamOf(stream), graph)); });
}

BULKHEAD_EXPORT CudaError cudaStreamIsCapturing(CUstream stream, int* status) {
    return call([&] { check(ready().cuStreamIsCapturing(streamOf(stream), status)); });
}

BULKHEAD_EXPORT CudaError cudaStreamGetCaptureInfo(CUstream stream, int* status, unsigned long long* id, CUgraph* graph,
                                                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                                   std::size_t* dependencyCount) {
    return call([&] {
        check(newer(ready().cuStreamGetCaptureInfo_v3)(streamOf(stream), status, reinterpret_cast<std::uint64_t*>(id),
                                                       graph, dependencies, edges, dependencyCount));
    });
}

BULKHEAD_EXPORT CudaError cudaThreadExchangeStreamCaptureMode(int* mode) {
    return call([&] { check(ready().cuThreadExchangeStreamCaptureMode(mode)); });
}

BULKHEAD_EXPORT CudaError cudaEventCreate(CUevent* event) {
    return call([&] { check(ready().cuEventCreate(event, 0)); });
}

BULKHEAD_EXPORT CudaError cudaEventCreateWithFlags(CUevent* event, unsigned flags) {
    return call([&] { check(ready().cuEventCreate(event, flags)); });
}

BULKHEAD_EXPORT CudaError cudaEventDestroy(CUevent event) {
    return call([&] { check(ready().cuEventDestroy(event)); });
}

BULKHEAD_EXPORT CudaError cudaEventRecord(CUevent event, CUstream stream) {
    return call([&] { check(ready().cuEventRecord(event, streamOf(stream))); });
}

BULKHEAD_EXPORT CudaError cudaEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    return call([&] { check(ready().cuEventRecordWithFlags(event, streamOf(stream), flags)); });
}

BULKHEAD_EXPORT CudaError cudaEventQuery(CUevent event) {
    return call([&] { check(ready().cuEventQuery(event)); });
}

BULKHEAD_EXPORT CudaError cudaEventSynchronize(CUevent event) {
    return call([&] { check(ready().cuEventSynchronize(event)); });
}

BULKHEAD_EXPORT CudaError cudaEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return call([&] { check(ready().cuEventElapsedTime(milliseconds, start, end)); });
}
