#include <cstring>

#include "cudart/runtime.h"

using namespace bulkhead::cudart;
using bulkhead::driver::CUmemAccessDesc;
using bulkhead::driver::CUmemLocation;
using bulkhead::driver::CUmemPoolProps;

namespace {

// CUpointer_attribute.
enum PointerAttribute : int {
    kMemoryType = 2,
    kDevicePointer = 3,
    kHostPointer = 4,
    kIsManaged = 8,
    kDeviceOrdinal = 9,
};

constexpr int kInvalidDeviceId = -2;
constexpr unsigned kElementBytes = 4;  ///< the narrowest access that pitched rows are aligned for

template <class Value>
bool pointerAttribute(Value& value, PointerAttribute which, const void* pointer) {
    return api().cuPointerGetAttribute(&value, which, addressOf(pointer)) == kSuccess;
}

/// Memory that CUDA knows nothing of is the program's own.
PointerAttributes attributesOf(const void* pointer) {
    PointerAttributes a;
    std::memset(&a, 0, sizeof a);
    a.device = kInvalidDeviceId;
    a.hostPointer = const_cast<void*>(pointer);
    int type = 0;
    unsigned managed = 0;
    if (!pointerAttribute(type, kMemoryType, pointer)) return a;
    pointerAttribute(managed, kIsManaged, pointer);
    a.type = managed ? MemoryType::managed : static_cast<MemoryType>(type);
    a.hostPointer = nullptr;
    pointerAttribute(a.device, kDeviceOrdinal, pointer);
    pointerAttribute(a.devicePointer, kDevicePointer, pointer);
    if (a.type != MemoryType::device) pointerAttribute(a.hostPointer, kHostPointer, pointer);
    return a;
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

BULKHEAD_EXPORT CudaError cudaMalloc(void** pointer, std::size_t bytes) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        ready();
        if (bytes > 0) check(api().cuMemAlloc(&address, bytes));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT CudaError cudaFree(void* pointer) {
    return call([&] {
        ready();  // programs call it with null to start the runtime
        if (pointer) check(api().cuMemFree(addressOf(pointer)));
    });
}

BULKHEAD_EXPORT CudaError cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t widthBytes,
                                          std::size_t rows) {
    return call([&] {
        require(pointer != nullptr && pitch != nullptr);
        allocatePitched(pointer, pitch, widthBytes, rows);
    });
}

BULKHEAD_EXPORT CudaError cudaMalloc3D(PitchedPointer* pitched, Extent extent) {
    return call([&] {
        require(pitched != nullptr);
        require(extent.depth == 0 || extent.height <= ~std::size_t{0} / extent.depth);
        pitched->xBytes = extent.width;
        pitched->yRows = extent.height;
        allocatePitched(&pitched->pointer, &pitched->pitch, extent.width, extent.height * extent.depth);
    });
}

BULKHEAD_EXPORT CudaError cudaMallocHost(void** pointer, std::size_t bytes) {
    return call([&] { check(ready().cuMemHostAlloc(pointer, bytes, 0)); });
}

BULKHEAD_EXPORT CudaError cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
    return call([&] { check(ready().cuMemHostAlloc(pointer, bytes, flags)); });
}

BULKHEAD_EXPORT CudaError cudaFreeHost(void* pointer) {
    return call([&] {
        ready();
        if (pointer) check(api().cuMemFreeHost(pointer));
    });
}

BULKHEAD_EXPORT CudaError cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
    return call([&] { check(ready().cuMemHostRegister(pointer, bytes, flags)); });
}

BULKHEAD_EXPORT CudaError cudaHostUnregister(void* pointer) {
    return call([&] { check(ready().cuMemHostUnregister(pointer)); });
}

BULKHEAD_EXPORT CudaError cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return call([&] {
        require(device != nullptr);
        CUdeviceptr address = 0;
        check(ready().cuMemHostGetDevicePointer(&address, host, flags));
        *device = pointerTo(address);
    });
}

BULKHEAD_EXPORT CudaError cudaHostGetFlags(unsigned* flags, void* pointer) {
    return call([&] { check(ready().cuMemHostGetFlags(flags, pointer)); });
}

BULKHEAD_EXPORT CudaError cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        check(ready().cuMemAllocManaged(&address, bytes, flags));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT CudaError cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call([&] { check(ready().cuMemGetInfo(free, total)); });
}

BULKHEAD_EXPORT CudaError cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
    return call([&] {
        require(attributes != nullptr);
        ready();
        *attributes = attributesOf(pointer);
    });
}

BULKHEAD_EXPORT CudaError cudaMemAdvise(const void* pointer, std::size_t bytes, int advice, CUmemLocation location) {
    return call([&] { check(newer(ready().cuMemAdvise_v2)(addressOf(pointer), bytes, advice, location)); });
}

BULKHEAD_EXPORT CudaError cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, CUmemLocation location,
                                               unsigned flags, CUstream stream) {
    return call([&] {
        check(newer(ready().cuMemPrefetchAsync_v2)(addressOf(pointer), bytes, location, flags, streamOf(stream)));
    });
}

BULKHEAD_EXPORT CudaError cudaMallocAsync(void** pointer, std::size_t bytes, CUstream stream) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        ready();
        if (bytes > 0) check(api().cuMemAllocAsync(&address, bytes, streamOf(stream)));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT CudaError cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, CUmemoryPool pool,
                                                  CUstream stream) {
    return call([&] {
        require(pointer != nullptr);
        CUdeviceptr address = 0;
        check(ready().cuMemAllocFromPoolAsync(&address, bytes, pool, streamOf(stream)));
        *pointer = pointerTo(address);
    });
}

BULKHEAD_EXPORT CudaError cudaFreeAsync(void* pointer, CUstream stream) {
    return call([&] {
        ready();
        if (pointer) check(api().cuMemFreeAsync(addressOf(pointer), streamOf(stream)));
    });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetDefaultMemPool(CUmemoryPool* pool, int device) {
    return call([&] { check(ready().cuDeviceGetDefaultMemPool(pool, deviceAt(device))); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetMemPool(CUmemoryPool* pool, int device) {
    return call([&] { check(ready().cuDeviceGetMemPool(pool, deviceAt(device))); });
}

BULKHEAD_EXPORT CudaError cudaDeviceSetMemPool(int device, CUmemoryPool pool) {
    return call([&] { check(ready().cuDeviceSetMemPool(deviceAt(device), pool)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    return call([&] { check(ready().cuMemPoolCreate(pool, properties)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolDestroy(CUmemoryPool pool) {
    return call([&] { check(ready().cuMemPoolDestroy(pool)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolTrimTo(CUmemoryPool pool, std::size_t keepBytes) {
    return call([&] { check(ready().cuMemPoolTrimTo(pool, keepBytes)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolGetAttribute(CUmemoryPool pool, int attribute, void* value) {
    return call([&] { check(ready().cuMemPoolGetAttribute(pool, attribute, value)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value) {
    return call([&] { check(ready().cuMemPoolSetAttribute(pool, attribute, value)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) {
    return call([&] { check(ready().cuMemPoolSetAccess(pool, access, count)); });
}

BULKHEAD_EXPORT CudaError cudaMemPoolGetAccess(int* flags, CUmemoryPool pool, CUmemLocation* location) {
    return call([&] { check(ready().cuMemPoolGetAccess(flags, pool, location)); });
}
