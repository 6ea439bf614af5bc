// Inside walls there is one GPU, of the size of the share.

#include <tuple>

#include "walls/walled_calls.h"

namespace bulkhead::walls {
namespace {

using namespace driver;

/// The tenant that a device stands for: the current one, or the one that this process was put into.
std::shared_ptr<WalledContext> contextOn(CUdevice device) {
    std::shared_ptr<WalledContext> walled = ContextRegistry::instance().latestOn(device);
    if (walled == nullptr) throw Failure{CUDA_ERROR_INVALID_DEVICE, "no such device inside walls"};
    try {
        if (std::shared_ptr<WalledContext> current = currentContext(); current->device() == device) return current;
    } catch (const Failure&) {
        // No context is current yet.
    }
    return walled;
}

/// Programs that ask whether they can have what walls refuse are told so.
bool isRefused(const WalledContext& walled, DeviceAttribute attribute) {
    using A = DeviceAttribute;
    switch (attribute) {
        case A::cooperativeLaunch:
        case A::clusterLaunch:
            return !walled.placedByDriver();
        case A::cooperativeMultiDevice:
        case A::tensorMaps:
        case A::multicast:
        case A::ipcEvents:
            return true;
        case A::pageableMemoryAccess:
        case A::pageableUsesHostTables:
        case A::posixHandles:
        case A::poolHandleTypes:
        case A::gpuDirectRdma:
        case A::maxPersistingL2Bytes:
        case A::maxAccessPolicyWindow:
            return walled.limitsMemory();
        default:
            return false;
    }
}

CUresult deviceGetCount(int* count) {
    return call([&] {
        requireOutput(count);
        *count = ContextRegistry::instance().latest() ? 1 : 0;
    });
}
CUresult deviceGet(CUdevice* device, int ordinal) {
    return call([&] {
        requireOutput(device);
        const std::shared_ptr<WalledContext> walled = ContextRegistry::instance().latest();
        if (walled == nullptr || ordinal != 0) throw Failure{CUDA_ERROR_INVALID_DEVICE, "no such device inside walls"};
        *device = walled->device();
    });
}
CUresult deviceGetByPciBusId(CUdevice* device, const char* name) {
    return call([&] {
        requireOutput(device, name);
        CUdevice found = 0;
        check(innerDriver().cuDeviceGetByPCIBusId(&found, name));
        *device = contextOn(found)->device();
    });
}
CUresult deviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return call([&] {
        requireOutput(value);
        const std::shared_ptr<WalledContext> walled = contextOn(device);
        check(walled->inner().cuDeviceGetAttribute(value, attribute, device));
        const auto asked = static_cast<DeviceAttribute>(attribute);
        if (asked == DeviceAttribute::sms) *value = walled->sms();
        if (asked == DeviceAttribute::sharedBytesPerBlock || asked == DeviceAttribute::sharedBytesPerBlockOptIn)
            *value -= walled->sharedBytesTaken();
        if (isRefused(*walled, asked)) *value = 0;
    });
}
CUresult deviceTotalMem(std::size_t* bytes, CUdevice device) {
    return call([&] {
        requireOutput(bytes);
        const std::shared_ptr<WalledContext> walled = contextOn(device);
        check(walled->inner().cuDeviceTotalMem(bytes, device));
        if (walled->walls().memory != 0) *bytes = walled->walls().memory;
    });
}

/// Of which the last parameter is the device.
template <auto member>
struct OfDevice;
template <class... Parameters, CUresult (*DriverApi::*member)(Parameters...)>
struct OfDevice<member> {
    static CUresult call(Parameters... parameters) {
        return walls::call([&] {
            const CUdevice device = std::get<sizeof...(parameters) - 1>(std::tuple(parameters...));
            check((contextOn(device)->inner().*member)(parameters...));
        });
    }
};
template <auto... members>
void passOnOfDevice(DriverApi& api) {
    ((api.*members = OfDevice<members>::call), ...);
}

}  // namespace

void enterDeviceCalls(DriverApi& api) {
    passOnAnywhere<&DriverApi::cuInit, &DriverApi::cuDriverGetVersion, &DriverApi::cuGetErrorName,
                   &DriverApi::cuGetErrorString, &DriverApi::cuProfilerStart, &DriverApi::cuProfilerStop,
                   &DriverApi::cuModuleGetLoadingMode>(api);
    passOnOfDevice<&DriverApi::cuDeviceGetName, &DriverApi::cuDeviceGetUuid, &DriverApi::cuDeviceGetPCIBusId,
                   &DriverApi::cuDeviceGetDefaultMemPool, &DriverApi::cuDeviceGetMemPool>(api);
    api.cuDeviceGetCount = deviceGetCount;
    api.cuDeviceGet = deviceGet;
    api.cuDeviceGetByPCIBusId = deviceGetByPciBusId;
    api.cuDeviceGetAttribute = deviceGetAttribute;
    api.cuDeviceTotalMem = deviceTotalMem;
}

}  // namespace bulkhead::walls
