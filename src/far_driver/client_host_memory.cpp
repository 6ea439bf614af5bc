// Pinned memory is memory of this process as any other: copies take its bytes along, and kernels do not reach it.

#include <cstdlib>
#include <map>
#include <mutex>

#include "far_driver/client.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

constexpr unsigned kHostAllocFlags = 0x7, kHostRegisterFlags = 0xf;
constexpr std::size_t kPage = 4096;
constexpr const char* kUnreachable = "memory of this process is not reached by a GPU that another process has";

struct Pinned {
    std::size_t bytes = 0;
    unsigned flags = 0;
    bool allocated = false;
};

/// By address.
struct PinnedMemory {
    std::mutex mutex;
    std::map<void*, Pinned> at;
};
PinnedMemory& pinned() {
    static auto* const one = new PinnedMemory;
    return *one;
}

CUresult hostAlloc(void** address, std::size_t bytes, unsigned flags) {
    if (!address || bytes == 0 || (flags & ~kHostAllocFlags) != 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes, or unknown flags");
    void* const memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
    if (!memory) return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host is out of memory");
    const std::lock_guard lock(pinned().mutex);
    pinned().at[memory] = {bytes, flags, true};
    *address = memory;
    return CUDA_SUCCESS;
}
CUresult allocHost(void** address, std::size_t bytes) {
    return hostAlloc(address, bytes, 0);
}

/// Copies may use it until they have ended.
CUresult forget(void* pointer, bool allocated, CUresult otherwise) {
    {
        const std::lock_guard lock(pinned().mutex);
        const auto found = pinned().at.find(pointer);
        if (found == pinned().at.end() || found->second.allocated != allocated)
            return refuse(otherwise, "not the beginning of such memory");
        pinned().at.erase(found);
    }
    const CUresult result = FarCall<&DriverApi::cuCtxSynchronize>::call();
    if (allocated) std::free(pointer);
    return result;
}
CUresult freeHost(void* pointer) {
    return forget(pointer, true, CUDA_ERROR_INVALID_VALUE);
}
CUresult hostUnregister(void* pointer) {
    return forget(pointer, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}
CUresult hostRegister(void* pointer, std::size_t bytes, unsigned flags) {
    if (!pointer || bytes == 0 || (flags & ~kHostRegisterFlags) != 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "no memory, or unknown flags");
    const std::lock_guard lock(pinned().mutex);
    if (!pinned().at.insert({pointer, {bytes, flags, false}}).second)
        return refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "some of it is registered already");
    return CUDA_SUCCESS;
}
CUresult hostGetFlags(unsigned* flags, void* pointer) {
    const std::lock_guard lock(pinned().mutex);
    const auto found = pinned().at.find(pointer);
    if (!flags || found == pinned().at.end() || !found->second.allocated)
        return refuse(CUDA_ERROR_INVALID_VALUE, "not the beginning of such memory");
    *flags = found->second.flags;
    return CUDA_SUCCESS;
}
CUresult hostGetDevicePointer(CUdeviceptr*, void*, unsigned) {
    return refuse(CUDA_ERROR_NOT_SUPPORTED, kUnreachable);
}
CUresult allocManaged(CUdeviceptr*, std::size_t, unsigned) {
    return refuse(CUDA_ERROR_NOT_SUPPORTED, kUnreachable);
}

}  // namespace

void enterHostMemory(DriverApi& api) {
    api.cuMemHostAlloc = hostAlloc;
    api.cuMemAllocHost = allocHost;
    api.cuMemFreeHost = freeHost;
    api.cuMemHostRegister = hostRegister;
    api.cuMemHostUnregister = hostUnregister;
    api.cuMemHostGetFlags = hostGetFlags;
    api.cuMemHostGetDevicePointer = hostGetDevicePointer;
    api.cuMemAllocManaged = allocManaged;
}

}  // namespace bulkhead::far_driver
