// libcuda.so.1 for programs with a compute wall alone. It needs the driver that is installed, so whatever is not here
// is found there, as it is: undocumented tables, machine code, libraries. Here is what chooses where work runs and what
// tells how much of a GPU there is.

#include "base/error.h"
#include "driver/proc_address.h"
#include "gpu/real_driver.h"
#include "placed_driver/place.h"

#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

using namespace bulkhead::driver;
using bulkhead::placed::Place;

namespace {

/// Carries a call out where there is a place; there is no device otherwise.
template <class Body>
CUresult inPlace(Body&& body) {
    Place* const place = Place::ofProcess();
    return place ? body(*place) : CUDA_ERROR_NO_DEVICE;
}

/// Also where there is no place. Null if it does not start.
const DriverApi* driverBehind() {
    if (const Place* const place = Place::ofProcess()) return &place->api();
    try {
        return &bulkhead::gpu::realDriver();
    } catch (const bulkhead::Error&) {
        return nullptr;
    }
}

/// Passes a context on that a call has answered with.
CUresult outward(const Place& place, CUresult result, CUcontext* context) {
    if (result == CUDA_SUCCESS && context) *context = place.outward(*context);
    return result;
}

}  // namespace

BULKHEAD_EXPORT CUresult cuInit(unsigned flags) {
    return inPlace([&](Place& place) { return place.api().cuInit(flags); });
}

// Without a place there is no device, and so no context.
BULKHEAD_EXPORT CUresult cuDeviceGetCount(int* count) {
    return inPlace([&](Place& place) { return place.api().cuDeviceGetCount(count); });
}
BULKHEAD_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return inPlace([&](Place& place) { return place.api().cuDeviceGet(device, ordinal); });
}
BULKHEAD_EXPORT CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus) {
    return inPlace([&](Place& place) { return place.api().cuDeviceGetByPCIBusId(device, bus); });
}
BULKHEAD_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc description, CUdevice device,
                                          unsigned flags) {
    return inPlace([&](Place& place) { return place.api().cuGreenCtxCreate(green, description, device, flags); });
}

BULKHEAD_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return inPlace([&](Place& place) {
        const CUresult result = place.api().cuDeviceGetAttribute(value, attribute, device);
        if (result == CUDA_SUCCESS && attribute == static_cast<int>(DeviceAttribute::sms))
            *value = static_cast<int>(place.sms());
        return result;
    });
}

BULKHEAD_EXPORT CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
    return inPlace([&](Place& place) {
        const CUresult result = place.api().cuDeviceTotalMem(bytes, device);
        if (result == CUDA_SUCCESS) *bytes = place.memory();
        return result;
    });
}

BULKHEAD_EXPORT CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    return inPlace([&](Place& place) {
        const CUresult result = place.api().cuMemGetInfo(free, total);
        if (result == CUDA_SUCCESS && total) *total = place.memory();
        return result;
    });
}

BULKHEAD_EXPORT CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
    return inPlace([&](Place& place) {
        if (type != kDevResourceSm || !resource) return place.api().cuDeviceGetDevResource(device, resource, type);
        *resource = place.resource();
        return CUDA_SUCCESS;
    });
}

BULKHEAD_EXPORT CUresult cuCtxGetDevResource(CUcontext context, CUdevResource* resource, CUdevResourceType type) {
    return inPlace(
        [&](Place& place) { return place.api().cuCtxGetDevResource(place.inward(context), resource, type); });
}

BULKHEAD_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    return inPlace([&](Place& place) { return place.api().cuCtxSetCurrent(place.inward(context)); });
}
BULKHEAD_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
    return inPlace([&](Place& place) { return outward(place, place.api().cuCtxGetCurrent(context), context); });
}
BULKHEAD_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    return inPlace([&](Place& place) { return place.api().cuCtxPushCurrent(place.inward(context)); });
}
BULKHEAD_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    return inPlace([&](Place& place) { return outward(place, place.api().cuCtxPopCurrent(context), context); });
}

BULKHEAD_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
    return inPlace([&](Place& place) { return place.create(context); });
}
BULKHEAD_EXPORT CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned, CUdevice) {
    return inPlace([&](Place& place) { return place.create(context); });
}
BULKHEAD_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
    return inPlace([&](Place& place) { return place.create(context); });
}
BULKHEAD_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
    return inPlace([&](Place& place) { return place.destroy(context); });
}

BULKHEAD_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return inPlace([&](Place& place) { return place.api().cuDevicePrimaryCtxRetain(context, device); });
}
BULKHEAD_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return inPlace([&](Place& place) { return place.resetPrimary(device); });
}

BULKHEAD_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    return inPlace([&](Place& place) { return outward(place, place.api().cuStreamGetCtx(stream, context), context); });
}

// The names that they had in CUDA 3 and earlier, or that per-thread default streams have.
#define BULKHEAD_ALSO(name, existing) BULKHEAD_EXPORT decltype(existing) name __attribute__((alias(#existing)));
BULKHEAD_ALSO(cuDeviceTotalMem, cuDeviceTotalMem_v2)
BULKHEAD_ALSO(cuMemGetInfo, cuMemGetInfo_v2)
BULKHEAD_ALSO(cuCtxPushCurrent, cuCtxPushCurrent_v2)
BULKHEAD_ALSO(cuCtxPopCurrent, cuCtxPopCurrent_v2)
BULKHEAD_ALSO(cuCtxCreate, cuCtxCreate_v2)
BULKHEAD_ALSO(cuCtxDestroy, cuCtxDestroy_v2)
BULKHEAD_ALSO(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2)
BULKHEAD_ALSO(cuStreamGetCtx_ptsz, cuStreamGetCtx)

BULKHEAD_EXPORT CUresult cuGetProcAddress(const char* name, void** address, int version, std::uint64_t flags);
BULKHEAD_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** address, int version, std::uint64_t flags,
                                             CUdriverProcAddressQueryResult* status);

namespace {

#define BULKHEAD_NAMED(name, symbol) \
    { #name, #symbol, reinterpret_cast < void*>(symbol), reinterpret_cast < void*>(symbol) }
const NamedCall kCalls[] = {
    BULKHEAD_NAMED(cuInit, cuInit),
    BULKHEAD_NAMED(cuDeviceGetCount, cuDeviceGetCount),
    BULKHEAD_NAMED(cuDeviceGet, cuDeviceGet),
    BULKHEAD_NAMED(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId),
    BULKHEAD_NAMED(cuGreenCtxCreate, cuGreenCtxCreate),
    BULKHEAD_NAMED(cuDeviceGetAttribute, cuDeviceGetAttribute),
    BULKHEAD_NAMED(cuDeviceTotalMem, cuDeviceTotalMem_v2),
    BULKHEAD_NAMED(cuMemGetInfo, cuMemGetInfo_v2),
    BULKHEAD_NAMED(cuDeviceGetDevResource, cuDeviceGetDevResource),
    BULKHEAD_NAMED(cuCtxGetDevResource, cuCtxGetDevResource),
    BULKHEAD_NAMED(cuCtxSetCurrent, cuCtxSetCurrent),
    BULKHEAD_NAMED(cuCtxGetCurrent, cuCtxGetCurrent),
    BULKHEAD_NAMED(cuCtxPushCurrent, cuCtxPushCurrent_v2),
    BULKHEAD_NAMED(cuCtxPopCurrent, cuCtxPopCurrent_v2),
    BULKHEAD_NAMED(cuCtxCreate, cuCtxCreate_v2),
    BULKHEAD_NAMED(cuCtxCreate_v3, cuCtxCreate_v3),
    BULKHEAD_NAMED(cuCtxCreate_v4, cuCtxCreate_v4),
    BULKHEAD_NAMED(cuCtxDestroy, cuCtxDestroy_v2),
    BULKHEAD_NAMED(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain),
    BULKHEAD_NAMED(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2),
    BULKHEAD_NAMED(cuStreamGetCtx, cuStreamGetCtx),
    BULKHEAD_NAMED(cuGetProcAddress, cuGetProcAddress),
    BULKHEAD_NAMED(cuGetProcAddress_v2, cuGetProcAddress_v2),
};
#undef BULKHEAD_NAMED

}  // namespace

BULKHEAD_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** address, int version, std::uint64_t flags,
                                             CUdriverProcAddressQueryResult* status) {
    // NVIDIA's runtime takes an error here for a driver that is too old.
    const DriverApi* const behind = driverBehind();
    if (!behind) return CUDA_ERROR_NO_DEVICE;
    const CUresult result = behind->cuGetProcAddress_v2(name, address, version, flags, status);
    void* own = nullptr;
    if (result == CUDA_SUCCESS && address && *address &&
        findCall(kCalls, name, &own, version, flags, nullptr) == CUDA_SUCCESS)
        *address = own;
    return result;
}

BULKHEAD_EXPORT CUresult cuGetProcAddress(const char* name, void** address, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(name, address, version, flags, nullptr);
}
