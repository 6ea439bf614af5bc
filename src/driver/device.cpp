#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "driver/access_policy.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr int kCudaVersion = 13000;

/// How many times as fast 32-bit floating point is as 64-bit.
int singleToDouble(const arch::DeviceProfile& p) {
    const auto rate = [&](arch::OpClass c) {
        return static_cast<double>(p.unitCount[static_cast<int>(arch::unitOf(c))]) /
               static_cast<double>(p.interval[static_cast<int>(c)]);
    };
    return std::max(1, static_cast<int>(std::lround(rate(arch::OpClass::fp32) / rate(arch::OpClass::fp64))));
}

/// Attributes that follow from the profile.
std::int64_t figureOf(const Device& device, DeviceAttribute attribute) {
    using A = DeviceAttribute;
    const arch::DeviceProfile& p = device.gpu->profile();
    switch (attribute) {
        case A::maxThreadsPerBlock:
        case A::maxBlockX:
        case A::maxBlockY:
            return p.sm.maxThreadsPerBlock;
        case A::sharedBytesPerBlock:
            return std::min(p.sm.maxSharedPerBlock, kSharedWithoutOptIn);
        case A::sharedBytesPerBlockOptIn:
            return p.sm.maxSharedPerBlock;
        case A::registersPerBlock:
        case A::registersPerSm:
            return p.sm.registers;
        case A::clockRateKHz:
            return p.clock.coreMHz * 1000;
        case A::sms:
            return p.sm.count;
        case A::memoryClockKHz:
            return p.clock.memoryMHz * 1000;
        case A::memoryBusBits:  // two transfers a clock give the peak bandwidth
            return std::llround(p.dramGBps() * 1e3 * 8 / (2 * static_cast<double>(p.clock.memoryMHz)));
        case A::l2Bytes:
            return p.l2.bytes;
        case A::maxPersistingL2Bytes:
            return p.l2.persistingBytes;
        case A::maxAccessPolicyWindow:
            return static_cast<std::int64_t>(largestAccessWindow(device));
        case A::compression:  // accepted since compute capability 8.0; nothing is compressed
            return p.compute.major >= 8 ? 1 : 0;
        case A::maxThreadsPerSm:
            return p.sm.maxThreads;
        case A::maxBlocksPerSm:
            return p.sm.maxBlocks;
        case A::sharedBytesPerSm:
            return p.sm.sharedBytes;
        case A::computeMajor:
            return p.compute.major;
        case A::computeMinor:
            return p.compute.minor;
        case A::globalL1:
            return p.l1.cachesGlobal ? 1 : 0;
        case A::singleToDoubleRatio:
            return singleToDouble(p);
        case A::clusterLaunch:
        case A::tensorMaps:  // compute capability 9.0 has both
            return p.cluster.sms ? 1 : 0;
        case A::pciBus:
        case A::multiGpuBoardGroup:
            return device.ordinal + 1;
        default:
            break;
    }
    throw Failure{CUDA_ERROR_INVALID_VALUE, "an attribute that the simulated driver does not know"};
}

struct Constant {
    DeviceAttribute attribute;
    int value;
};

/// Attributes that are the same for every simulated GPU.
constexpr Constant kConstants[] = {
    {DeviceAttribute::maxBlockZ, 64},
    {DeviceAttribute::maxGridX, 0x7fff'ffff},
    {DeviceAttribute::maxGridY, 65535},
    {DeviceAttribute::maxGridZ, 65535},
    {DeviceAttribute::constantBytes, 65536},
    {DeviceAttribute::warpSize, sim::kLanes},
    {DeviceAttribute::maxPitch, 0x7fff'ffff},
    {DeviceAttribute::textureAlignment, 512},
    {DeviceAttribute::gpuOverlap, 1},
    {DeviceAttribute::kernelTimeout, 0},
    {DeviceAttribute::integrated, 0},
    {DeviceAttribute::canMapHostMemory, 1},
    {DeviceAttribute::computeMode, 0},
    {DeviceAttribute::surfaceAlignment, 512},
    {DeviceAttribute::concurrentKernels, 1},
    {DeviceAttribute::eccEnabled, 0},
    {DeviceAttribute::pciDevice, 0},
    {DeviceAttribute::pciDomain, 0},
    {DeviceAttribute::tccDriver, 0},
    {DeviceAttribute::copyEngines, 2},
    {DeviceAttribute::unifiedAddressing, 1},
    {DeviceAttribute::texturePitchAlignment, 32},
    {DeviceAttribute::localL1, 1},
    {DeviceAttribute::managedMemory, 1},
    {DeviceAttribute::multiGpuBoard, 0},
    {DeviceAttribute::hostNativeAtomics, 0},
    {DeviceAttribute::pageableMemoryAccess, 0},
    {DeviceAttribute::concurrentManagedAccess, 0},
    {DeviceAttribute::computePreemption, 1},
    {DeviceAttribute::hostPointerForRegistered, 1},
    {DeviceAttribute::cooperativeLaunch, 1},
    {DeviceAttribute::cooperativeMultiDevice, 0},
    {DeviceAttribute::canFlushRemoteWrites, 0},
    {DeviceAttribute::hostRegister, 1},
    {DeviceAttribute::pageableUsesHostTables, 0},
    {DeviceAttribute::directManagedFromHost, 0},
    {DeviceAttribute::virtualMemory, 1},
    {DeviceAttribute::posixHandles, 0},
    {DeviceAttribute::reservedSharedBytesPerBlock, 0},
    {DeviceAttribute::readOnlyHostRegister, 0},
    {DeviceAttribute::memoryPools, 1},
    {DeviceAttribute::gpuDirectRdma, 0},
    {DeviceAttribute::poolHandleTypes, 0},
    {DeviceAttribute::ipcEvents, 0},
    {DeviceAttribute::memorySyncDomains, 1},
    {DeviceAttribute::unifiedFunctionPointers, 0},
    {DeviceAttribute::numaConfig, 0},
    {DeviceAttribute::numaId, -1},
    {DeviceAttribute::multicast, 0},
    {DeviceAttribute::mps, 0},
    {DeviceAttribute::hostNumaId, -1},
};

int attributeOf(const Device& device, CUdevice_attribute attribute) {
    const auto wanted = static_cast<DeviceAttribute>(attribute);
    for (const Constant& constant : kConstants)
        if (constant.attribute == wanted) return constant.value;
    if (wanted == DeviceAttribute::streamPriorities) return greatestPriority(device) < 0 ? 1 : 0;
    if (const std::optional<int> limit = imageLimit(attribute)) return *limit;
    return static_cast<int>(figureOf(device, wanted));
}

/// The same for the same GPU in every run: 64-bit FNV-1a of its name and number, twice.
CUuuid uuidOf(const Device& device) {
    CUuuid uuid = {};
    for (unsigned half = 0; half < 2; ++half) {
        std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
        for (const char c : fmt::format("{} {} {}", half, device.gpu->profile().name, device.ordinal))
            hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100'0000'01b3;
        std::memcpy(uuid.bytes + 8 * half, &hash, sizeof hash);
    }
    return uuid;
}

void copyText(char* to, int length, const std::string& text) {
    require(to && length > 0, CUDA_ERROR_INVALID_VALUE, "no room for a text");
    std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
}

}  // namespace

namespace simulated {

CUresult cuInit(unsigned flags) {
    return call([&] {
        require(flags == 0, CUDA_ERROR_INVALID_VALUE, "cuInit has no flags");
        require(!state().devices.empty(), CUDA_ERROR_NO_DEVICE, "no simulated GPU has been made");
        state().initialized = true;
    });
}
CUresult cuDriverGetVersion(int* version) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = kCudaVersion;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    return call([&] {
        requireInitialized();
        requireOutput(count);
        *count = static_cast<int>(state().devices.size());
    });
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return call([&] {
        requireInitialized();
        requireOutput(device);
        require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < state().devices.size(), CUDA_ERROR_INVALID_DEVICE,
                "no such device");
        *device = std::next(state().devices.begin(), ordinal)->first;
    });
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    return call([&] { copyText(name, length, "sim:" + deviceAt(device).gpu->profile().name); });
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    return call([&] {
        requireOutput(uuid);
        *uuid = uuidOf(deviceAt(device));
    });
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
    return call([&] {
        requireOutput(bytes);
        *bytes = deviceAt(device).gpu->physicalMemory().totalBytes();
    });
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return call([&] {
        requireOutput(value);
        *value = attributeOf(deviceAt(device), attribute);
    });
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* pciBusId) {
    return call([&] {
        requireInitialized();
        requireOutput(device, pciBusId);
        unsigned domain = 0, bus = 0, slot = 0;
        const bool whole = std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) == 3;
        require(whole || std::sscanf(pciBusId, "%x:%x", &bus, &slot) == 2, CUDA_ERROR_INVALID_VALUE,
                "write a PCI address as 0000:01:00.0");
        const auto found = state().devices.find(static_cast<CUdevice>(bus) - 1);
        require(found != state().devices.end(), CUDA_ERROR_INVALID_DEVICE, "no device at that PCI address");
        *device = found->first;
    });
}
CUresult cuDeviceGetPCIBusId(char* pciBusId, int length, CUdevice device) {
    return call([&] { copyText(pciBusId, length, fmt::format("0000:{:02x}:00.0", deviceAt(device).ordinal + 1)); });
}

CUresult cuProfilerStart() {
    return call([] { currentContext(); });
}
CUresult cuProfilerStop() {
    return call([] { currentContext(); });
}

}  // namespace simulated
}  // namespace bulkhead::driver
