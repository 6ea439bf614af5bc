#include "gpu/device_info.h"

#include <fmt/format.h>

#include "gpu/real_driver.h"

namespace bulkhead::gpu {

using driver::DeviceAttribute;
using driver::DriverApi;

DeviceInfo describeDevice(const DriverApi& api, driver::CUdevice device) {
    const auto attribute = [&](DeviceAttribute which) {
        int value = 0;
        check(api, api.cuDeviceGetAttribute(&value, static_cast<int>(which), device), "cannot ask a GPU");
        return value;
    };
    DeviceInfo info;
    char name[256] = {};
    check(api, api.cuDeviceGetName(name, sizeof name, device), "cannot name a GPU");
    std::size_t bytes = 0;
    check(api, api.cuDeviceTotalMem(&bytes, device), "cannot ask for a GPU's memory");
    info.name = name;
    info.memoryBytes = bytes;
    info.computeMajor = attribute(DeviceAttribute::computeMajor);
    info.computeMinor = attribute(DeviceAttribute::computeMinor);
    info.sms = attribute(DeviceAttribute::sms);
    info.l2Bytes = static_cast<Bytes>(attribute(DeviceAttribute::l2Bytes));
    info.coreMHz = attribute(DeviceAttribute::clockRateKHz) / 1e3;
    info.memoryMHz = attribute(DeviceAttribute::memoryClockKHz) / 1e3;
    info.memoryBusBits = attribute(DeviceAttribute::memoryBusBits);
    info.sharedPerBlock = static_cast<Bytes>(attribute(DeviceAttribute::sharedBytesPerBlockOptIn));
    return info;
}

std::vector<DeviceInfo> listDevices(const DriverApi& api) {
    int count = 0;
    check(api, api.cuDeviceGetCount(&count), "cannot count the GPUs");
    std::vector<DeviceInfo> devices;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        driver::CUdevice device = 0;
        check(api, api.cuDeviceGet(&device, ordinal), "cannot open a GPU");
        devices.push_back(describeDevice(api, device));
    }
    return devices;
}

std::string cudaVersion(const DriverApi& api) {
    int version = 0;
    check(api, api.cuDriverGetVersion(&version), "cannot ask for the driver's version");
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace bulkhead::gpu
