// Memory of the tenant's colors, and no more than its share. Pools and streams do not matter to where it comes from.

#include "driver/pointer_attributes.h"
#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

CUresult memGetInfo(std::size_t* free, std::size_t* total) {
    return inside([&](WalledContext& walled) { walled.memoryInfo(free, total); });
}
CUresult memAlloc(CUdeviceptr* address, std::size_t bytes) {
    return inside([&](WalledContext& walled) {
        requireOutput(address);
        *address = walled.allocate(bytes);
    });
}
CUresult memAllocPitch(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
    return inside([&](WalledContext& walled) {
        requireOutput(address, pitch);
        constexpr std::size_t kRowAlignment = 512;
        std::size_t row = 0, bytes = 0;
        if (__builtin_add_overflow(width, kRowAlignment - 1, &row) ||
            __builtin_mul_overflow(row / kRowAlignment * kRowAlignment, height, &bytes))
            throw Failure{CUDA_ERROR_INVALID_VALUE, "rows of more bytes than there are addresses"};
        *pitch = row / kRowAlignment * kRowAlignment;
        *address = walled.allocate(bytes);
    });
}
/// Memory of the share has its place when it is asked for, not when a graph runs.
void expectNoCapture(WalledContext& walled, CUstream stream) {
    if (!isDefaultStream(stream) && walled.graphs().isCaptured(stream))
        throw Failure{CUDA_ERROR_NOT_SUPPORTED, "graphs inside walls allocate and free no memory"};
}
CUresult memAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
    return inside([&](WalledContext& walled) {
        requireOutput(address);
        expectNoCapture(walled, stream);
        *address = walled.allocate(bytes);
    });
}
CUresult memAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool, CUstream stream) {
    return memAllocAsync(address, bytes, stream);
}
/// Nobody may still be using it.
CUresult memFree(CUdeviceptr address) {
    return waitingInside([&](WalledContext& walled) {
        if (address != 0) walled.synchronize();
        const auto held = walled.lock();
        walled.free(address);
    });
}
CUresult memFreeAsync(CUdeviceptr address, CUstream stream) {
    const CUresult allowed = inside([&](WalledContext& walled) { expectNoCapture(walled, stream); });
    return allowed == CUDA_SUCCESS ? memFree(address) : allowed;
}
CUresult memGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
    return inside([&](WalledContext& walled) {
        const auto range = walled.allocationAt(address);
        if (!range) return check(walled.inner().cuMemGetAddressRange(base, bytes, address));
        if (base) *base = range->base;
        if (bytes) *bytes = range->bytes;
    });
}

// Memory that the program maps itself: the driver's where nothing limits it, else of the share.

/// Needs no context that is current.
CUresult memGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* properties,
                                     CUmemAllocationGranularity_flags option) {
    return call([&] { check(innerDriver().cuMemGetAllocationGranularity(granularity, properties, option)); });
}
CUresult memAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                           unsigned long long flags) {
    return inside([&](WalledContext& walled) {
        requireOutput(address);
        if (!walled.limitsMemory())
            return check(walled.inner().cuMemAddressReserve(address, bytes, alignment, wanted, flags));
        *address = walled.mapped().reserve(bytes, alignment);
    });
}
CUresult memAddressFree(CUdeviceptr address, std::size_t bytes) {
    return inside([&](WalledContext& walled) {
        if (!walled.limitsMemory()) return check(walled.inner().cuMemAddressFree(address, bytes));
        walled.mapped().free(address, bytes);
    });
}
CUresult memCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                   unsigned long long flags) {
    return inside([&](WalledContext& walled) {
        requireOutput(handle);
        if (!walled.limitsMemory()) return check(walled.inner().cuMemCreate(handle, bytes, properties, flags));
        if (!properties || properties->requestedHandleTypes != 0)
            throw Failure{CUDA_ERROR_NOT_SUPPORTED, "memory for other processes cannot be had inside walls"};
        *handle = walled.mapped().create(bytes);
    });
}
CUresult memRelease(CUmemGenericAllocationHandle handle) {
    return inside([&](WalledContext& walled) {
        if (!walled.limitsMemory()) return check(walled.inner().cuMemRelease(handle));
        walled.mapped().release(handle);
    });
}
CUresult memMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                unsigned long long flags) {
    return inside([&](WalledContext& walled) {
        if (!walled.limitsMemory()) return check(walled.inner().cuMemMap(address, bytes, offset, handle, flags));
        walled.mapped().map(address, bytes, offset, handle);
    });
}
/// Nobody may still be using it.
CUresult memUnmap(CUdeviceptr address, std::size_t bytes) {
    return waitingInside([&](WalledContext& walled) {
        if (!walled.limitsMemory()) return check(walled.inner().cuMemUnmap(address, bytes));
        walled.synchronize();
        const auto held = walled.lock();
        walled.mapped().unmap(address, bytes);
    });
}
CUresult memSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
    return inside([&](WalledContext& walled) {
        if (!walled.limitsMemory()) return check(walled.inner().cuMemSetAccess(address, bytes, access, count));
        if (!walled.mapped().isMapped(address, bytes))
            throw Failure{CUDA_ERROR_INVALID_VALUE, "addresses that are not mapped"};
    });
}

/// Calls by which memory would come from elsewhere than the share.
template <auto member>
struct Unlimited;
template <class... Parameters, CUresult (*DriverApi::*member)(Parameters...)>
struct Unlimited<member> {
    static CUresult call(Parameters... parameters) {
        return waitingInside([&](WalledContext& walled) {
            if (walled.limitsMemory())
                throw Failure{CUDA_ERROR_NOT_SUPPORTED, "memory that is not of the share cannot be had inside walls"};
            const auto behindIt = walled.inner().*member;
            check(behindIt ? behindIt(behind(walled, parameters)...) : CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
        });
    }
};
template <auto... members>
void passOnUnlimited(DriverApi& api) {
    ((api.*members = Unlimited<members>::call), ...);
}
/// The address among the arguments of advice.
template <class... Others>
CUdeviceptr addressIn(CUdeviceptr address, Others...) {
    return address;
}
template <class... Others>
CUdeviceptr addressIn(CUstream, CUdeviceptr address, Others...) {
    return address;
}
/// Advice of where managed memory should be: behind a memory wall it stays where it is.
template <auto member>
struct Advice;
template <class... Parameters, CUresult (*DriverApi::*member)(Parameters...)>
struct Advice<member> {
    static CUresult call(Parameters... parameters) {
        return waitingInside([&](WalledContext& walled) {
            if (walled.hasMemoryWall()) {
                const auto held = walled.lock();
                if (!walled.isManaged(addressIn(parameters...)))
                    throw Failure{CUDA_ERROR_INVALID_VALUE, "memory that is not managed"};
                return;
            }
            const auto behindIt = walled.inner().*member;
            check(behindIt ? behindIt(behind(walled, parameters)...) : CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
        });
    }
};
template <auto... members>
void passOnAdvice(DriverApi& api) {
    ((api.*members = Advice<members>::call), ...);
}

CUresult memAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
    return inside([&](WalledContext& walled) {
        requireOutput(address);
        *address = walled.allocateManaged(bytes, flags);
    });
}

template <class T>
void answer(void* data, T value) {
    *static_cast<T*>(data) = value;
}

CUresult pointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    return inside([&](WalledContext& walled) {
        requireOutput(data);
        const auto asked = static_cast<PointerAttribute>(attribute);
        if (!walled.isTranslated(address)) {
            check(walled.inner().cuPointerGetAttribute(data, attribute, address));
            if (asked == PointerAttribute::context) answer(data, walled.handle());
            if (asked == PointerAttribute::memoryType && walled.isManaged(address)) answer(data, kDeviceMemory);
            if (asked == PointerAttribute::isManaged && walled.isManaged(address)) answer(data, 1);
            return;
        }
        const auto range = walled.allocationAt(address);
        if (!range) throw Failure{CUDA_ERROR_INVALID_VALUE, "nothing was allocated there"};
        switch (asked) {
            case PointerAttribute::context:
                return answer(data, walled.handle());
            case PointerAttribute::memoryType:
                return answer(data, kDeviceMemory);
            case PointerAttribute::devicePointer:
                return answer(data, address);
            case PointerAttribute::syncMemops:
            case PointerAttribute::isManaged:
            case PointerAttribute::deviceOrdinal:
                return answer(data, 0);
            case PointerAttribute::rangeStart:
                return answer(data, range->base);
            case PointerAttribute::rangeBytes:
                return answer(data, static_cast<std::size_t>(range->bytes));
            case PointerAttribute::mapped:
                return answer(data, 1);
            default:
                throw Failure{CUDA_ERROR_INVALID_VALUE, "an attribute that memory inside walls has not"};
        }
    });
}
CUresult pointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i)
        if (const CUresult result = pointerGetAttribute(data[i], attributes[i], address); result != CUDA_SUCCESS)
            return result;
    return CUDA_SUCCESS;
}
CUresult pointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    return inside([&](WalledContext& walled) {
        if (!walled.isTranslated(address))
            return check(walled.inner().cuPointerSetAttribute(value, attribute, address));
        throw Failure{CUDA_ERROR_NOT_SUPPORTED, "an attribute that memory inside walls has not"};
    });
}

}  // namespace

void enterMemoryCalls(DriverApi& api) {
    // The host's memory, and pools, which give none here.
    passOn<&DriverApi::cuMemAllocHost, &DriverApi::cuMemFreeHost, &DriverApi::cuMemHostAlloc,
           &DriverApi::cuMemHostGetDevicePointer, &DriverApi::cuMemHostGetFlags, &DriverApi::cuMemHostRegister,
           &DriverApi::cuMemHostUnregister, &DriverApi::cuMemPoolCreate, &DriverApi::cuMemPoolDestroy,
           &DriverApi::cuMemPoolGetAttribute, &DriverApi::cuMemPoolSetAttribute, &DriverApi::cuMemPoolTrimTo>(api);
    api.cuMemGetAllocationGranularity = memGetAllocationGranularity;
    api.cuMemAllocManaged = memAllocManaged;
    passOnAdvice<&DriverApi::cuMemAdvise, &DriverApi::cuMemAdvise_v2, &DriverApi::cuMemPrefetchAsync,
                 &DriverApi::cuMemPrefetchAsync_v2, &DriverApi::cuStreamAttachMemAsync>(api);
    api.cuMemAddressReserve = memAddressReserve;
    api.cuMemAddressFree = memAddressFree;
    api.cuMemCreate = memCreate;
    api.cuMemRelease = memRelease;
    api.cuMemMap = memMap;
    api.cuMemUnmap = memUnmap;
    api.cuMemSetAccess = memSetAccess;
    passOnUnlimited<&DriverApi::cuMemGetAccess, &DriverApi::cuMemRetainAllocationHandle,
                    &DriverApi::cuMemGetAllocationPropertiesFromHandle, &DriverApi::cuMemExportToShareableHandle,
                    &DriverApi::cuMemImportFromShareableHandle>(api);
    api.cuMemGetInfo = memGetInfo;
    api.cuMemAlloc = memAlloc;
    api.cuMemAllocPitch = memAllocPitch;
    api.cuMemAllocAsync = memAllocAsync;
    api.cuMemAllocFromPoolAsync = memAllocFromPoolAsync;
    api.cuMemFree = memFree;
    api.cuMemFreeAsync = memFreeAsync;
    api.cuMemGetAddressRange = memGetAddressRange;
    api.cuPointerGetAttribute = pointerGetAttribute;
    api.cuPointerGetAttributes = pointerGetAttributes;
    api.cuPointerSetAttribute = pointerSetAttribute;
}

}  // namespace bulkhead::walls
