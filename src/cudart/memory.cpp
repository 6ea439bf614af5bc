#include <cstring>

#include "cudart/runtime.h"
#include "driver/pointer_attributes.h"
#include "sdk/include/cuda_runtime_api.h"

using namespace bulkhead::cudart;
using bulkhead::driver::CUmemAccessDesc;
using bulkhead::driver::CUmemLocation;
using bulkhead::driver::CUmemPoolProps;
using bulkhead::driver::PointerAttribute;

namespace {

constexpr unsigned kElementBytes = 4;  ///< the narrowest access that pitched rows are aligned for

template <class Value>
bool pointerAttribute(Value& value, PointerAttribute which, const void* pointer) {
    return api().cuPointerGetAttribute(&value, static_cast<int>(which), addressOf(pointer)) == cudaSuccess;
}

/// Memory that CUDA knows nothing of is the program's own.
cudaPointerAttributes attributesOf(const void* pointer) {
    cudaPointerAttributes a;
    std::memset(&a, 0, sizeof a);
    a.device = cudaInvalidDeviceId;
    a.hostPointer = const_cast<void*>(pointer);
    int type = 0;
    unsigned managed = 0;
    if (!pointerAttribute(type, PointerAttribute::memoryType, pointer)) return a;
    pointerAttribute(managed, PointerAttribute::isManaged, pointer);
    a.type = managed ? cudaMemoryTypeManaged : static_cast<cudaMemoryType>(type);
    a.hostPointer = nullptr;
    pointerAttribute(a.device, PointerAttribute::deviceOrdinal, pointer);
    pointerAttribute(a.devicePointer, PointerAttribute::devicePointer, pointer);
    if (a.type != cudaMemoryTypeDevice) pointerAttribute(a.hostPointer, PointerAttribute::hostPointer, pointer);
    return a;
}

CUmemLocation drivers(cudaMemLocation location) {
    return {location.type, location.id};
}

/// Rows of a pitched allocation; nothing at all is no error.
void allocatePitched(void** pointer, std::size_t* pitch, std::size_t widthBytes, std::size_t rows) {
    CUdeviceptr address = 0;
    if (widthBytes == 0 || rows == 0) {
        *pitch = 0;
    } else {
        check(ready().cuMemAllocPitch(&address, pitch, widthBytes, rows, kElementBytes));
    }
    *pointer = pointerTo(address);
}

}  // namespace

BULKHEAD_EXPORT cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        ready();
        if (bytes > 0) check(api().cuMemAlloc(&address, bytes));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaFree(void* pointer) {
    return call([&] {
        ready();  // programs call it with null to start the runtime
        if (pointer) check(api().cuMemFree(addressOf(pointer)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t widthBytes,
                                            std::size_t rows) {
    return call([&] {
        require(pointer != nullptr && pitch != nullptr);
        allocatePitched(pointer, pitch, widthBytes, rows);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
    return call([&] {
        require(pitched != nullptr);
        require(extent.depth == 0 || extent.height <= ~std::size_t{0} / extent.depth);
        pitched->xsize = extent.width;
        pitched->ysize = extent.height;
        allocatePitched(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
    return call([&] { check(ready().cuMemHostAlloc(pointer, bytes, 0)); });
}

BULKHEAD_EXPORT cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
    return call([&] { check(ready().cuMemHostAlloc(pointer, bytes, flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaFreeHost(void* pointer) {
    return call([&] {
        ready();
        if (pointer) check(api().cuMemFreeHost(pointer));
    });
}

BULKHEAD_EXPORT cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
    return call([&] { check(ready().cuMemHostRegister(pointer, bytes, flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaHostUnregister(void* pointer) {
    return call([&] { check(ready().cuMemHostUnregister(pointer)); });
}

BULKHEAD_EXPORT cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return call([&] {
        require(device != nullptr);
        CUdeviceptr address = 0;
        check(ready().cuMemHostGetDevicePointer(&address, host, flags));
        *device = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
    return call([&] { check(ready().cuMemHostGetFlags(flags, pointer)); });
}

BULKHEAD_EXPORT cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        check(ready().cuMemAllocManaged(&address, bytes, flags));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call([&] { check(ready().cuMemGetInfo(free, total)); });
}

BULKHEAD_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    return call([&] {
        require(attributes != nullptr);
        ready();
        *attributes = attributesOf(pointer);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice,
                                          cudaMemLocation location) {
    return call([&] { check(newer(ready().cuMemAdvise_v2)(addressOf(pointer), bytes, advice, drivers(location))); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location,
                                                 unsigned flags, cudaStream_t stream) {
    return call([&] {
        check(newer(ready().cuMemPrefetchAsync_v2)(addressOf(pointer), bytes, drivers(location), flags,
                                                   streamOf(stream)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        ready();
        if (bytes > 0) check(api().cuMemAllocAsync(&address, bytes, streamOf(stream)));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool,
                                                    cudaStream_t stream) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        check(ready().cuMemAllocFromPoolAsync(&address, bytes, pool, streamOf(stream)));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return call([&] {
        ready();
        if (pointer) check(api().cuMemFreeAsync(addressOf(pointer), streamOf(stream)));
    });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return call([&] { check(ready().cuDeviceGetDefaultMemPool(pool, deviceAt(device))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return call([&] { check(ready().cuDeviceGetMemPool(pool, deviceAt(device))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return call([&] { check(ready().cuDeviceSetMemPool(deviceAt(device), pool)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const CUmemPoolProps* properties) {
    return call([&] { check(ready().cuMemPoolCreate(pool, properties)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call([&] { check(ready().cuMemPoolDestroy(pool)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keepBytes) {
    return call([&] { check(ready().cuMemPoolTrimTo(pool, keepBytes)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call([&] { check(ready().cuMemPoolGetAttribute(pool, attribute, value)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call([&] { check(ready().cuMemPoolSetAttribute(pool, attribute, value)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const CUmemAccessDesc* access, std::size_t count) {
    return call([&] { check(ready().cuMemPoolSetAccess(pool, access, count)); });
}

BULKHEAD_EXPORT cudaError_t cudaMemPoolGetAccess(int* flags, cudaMemPool_t pool, CUmemLocation* location) {
    return call([&] { check(ready().cuMemPoolGetAccess(flags, pool, location)); });
}
