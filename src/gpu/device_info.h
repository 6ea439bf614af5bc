#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "driver/driver_api.h"

namespace bulkhead::gpu {

/// What a driver says of one of its GPUs.
struct DeviceInfo {
    std::string name;
    int computeMajor = 0, computeMinor = 0;
    int sms = 0;
    Bytes memoryBytes = 0, l2Bytes = 0;
    double coreMHz = 0, memoryMHz = 0;
    int memoryBusBits = 0;
    Bytes sharedPerBlock = 0;  ///< at most, for kernels that ask for it

    /// Of so many cycles of its SMs.
    double seconds(Cycles cycles) const { return static_cast<double>(cycles) / (coreMHz * 1e6); }
};

DeviceInfo describeDevice(const driver::DriverApi&, driver::CUdevice);
std::vector<DeviceInfo> listDevices(const driver::DriverApi&);
/// "13.0", as the driver counts CUDA versions.
std::string cudaVersion(const driver::DriverApi&);

}  // namespace bulkhead::gpu
