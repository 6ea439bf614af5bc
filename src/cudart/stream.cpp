#include "cudart/runtime.h"
#include "sdk/include/cuda_runtime_api.h"

using namespace bulkhead::cudart;
using bulkhead::driver::CUstreamCallback;

BULKHEAD_EXPORT cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return call([&] { check(ready().cuStreamCreate(stream, 0)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return call([&] { check(ready().cuStreamCreate(stream, flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return call([&] { check(ready().cuStreamCreateWithPriority(stream, flags, priority)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call([&] { check(ready().cuStreamDestroy(stream)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return call([&] { check(ready().cuStreamGetPriority(streamOf(stream), priority)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                                   const cudaLaunchAttributeValue* value) {
    return call([&] {
        check(newer(ready().cuStreamSetAttribute)(
            streamOf(stream), id, reinterpret_cast<const bulkhead::driver::CUlaunchAttributeValue*>(value)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID id,
                                                   cudaLaunchAttributeValue* value) {
    return call([&] {
        check(newer(ready().cuStreamGetAttribute)(streamOf(stream), id,
                                                  reinterpret_cast<bulkhead::driver::CUlaunchAttributeValue*>(value)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
    return call([&] { check(newer(ready().cuStreamCopyAttributes)(streamOf(to), streamOf(from))); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return call([&] { check(ready().cuStreamGetFlags(streamOf(stream), flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return call([&] { check(newer(ready().cuStreamGetId)(streamOf(stream), id)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return call([&] { check(newer(ready().cuStreamGetDevice)(streamOf(stream), device)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return call([&] { check(ready().cuStreamWaitEvent(streamOf(stream), event, flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                                  unsigned flags) {
    return call([&] {
        check(ready().cuStreamAddCallback(streamOf(stream), reinterpret_cast<CUstreamCallback>(callback), data, flags));
    });
}

BULKHEAD_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call([&] { check(ready().cuStreamSynchronize(streamOf(stream))); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return call([&] { check(ready().cuStreamQuery(streamOf(stream))); });
}

BULKHEAD_EXPORT cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t bytes,
                                                     unsigned flags) {
    return call([&] { check(ready().cuStreamAttachMemAsync(streamOf(stream), addressOf(pointer), bytes, flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return call([&] { check(ready().cuEventCreate(event, 0)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call([&] { check(ready().cuEventCreate(event, flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call([&] { check(ready().cuEventDestroy(event)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return call([&] { check(ready().cuEventRecord(event, streamOf(stream))); });
}

BULKHEAD_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return call([&] { check(ready().cuEventRecordWithFlags(event, streamOf(stream), flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call([&] { check(ready().cuEventQuery(event)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call([&] { check(ready().cuEventSynchronize(event)); });
}

BULKHEAD_EXPORT cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call([&] { check(ready().cuEventElapsedTime(milliseconds, start, end)); });
}
