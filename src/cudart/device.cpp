#include <cstring>
#include <initializer_list>

#include "cudart/runtime.h"

using namespace bulkhead::cudart;

namespace {

/// CUdevice_attribute and cudaDeviceAttr have the same numbers. Zero where the driver does not know of one.
int attribute(int which, CUdevice device) {
    int value = 0;
    return api().cuDeviceGetAttribute(&value, which, device) == kSuccess ? value : 0;
}

struct IntProperty {
    int attribute;
    int DeviceProperties::*member;
};
constexpr IntProperty kIntProperties[] = {
    {12, &DeviceProperties::regsPerBlock},
    {10, &DeviceProperties::warpSize},
    {1, &DeviceProperties::maxThreadsPerBlock},
    {75, &DeviceProperties::major},
    {76, &DeviceProperties::minor},
    {16, &DeviceProperties::multiProcessorCount},
    {18, &DeviceProperties::integrated},
    {19, &DeviceProperties::canMapHostMemory},
    {21, &DeviceProperties::maxTexture1D},
    {77, &DeviceProperties::maxTexture1DMipmap},
    {52, &DeviceProperties::maxTextureCubemap},
    {55, &DeviceProperties::maxSurface1D},
    {66, &DeviceProperties::maxSurfaceCubemap},
    {31, &DeviceProperties::concurrentKernels},
    {32, &DeviceProperties::ECCEnabled},
    {33, &DeviceProperties::pciBusID},
    {34, &DeviceProperties::pciDeviceID},
    {50, &DeviceProperties::pciDomainID},
    {35, &DeviceProperties::tccDriver},
    {40, &DeviceProperties::asyncEngineCount},
    {41, &DeviceProperties::unifiedAddressing},
    {37, &DeviceProperties::memoryBusWidth},
    {38, &DeviceProperties::l2CacheSize},
    {108, &DeviceProperties::persistingL2CacheMaxSize},
    {39, &DeviceProperties::maxThreadsPerMultiProcessor},
    {78, &DeviceProperties::streamPrioritiesSupported},
    {79, &DeviceProperties::globalL1CacheSupported},
    {80, &DeviceProperties::localL1CacheSupported},
    {82, &DeviceProperties::regsPerMultiprocessor},
    {83, &DeviceProperties::managedMemory},
    {84, &DeviceProperties::isMultiGpuBoard},
    {85, &DeviceProperties::multiGpuBoardGroupID},
    {86, &DeviceProperties::hostNativeAtomicSupported},
    {88, &DeviceProperties::pageableMemoryAccess},
    {89, &DeviceProperties::concurrentManagedAccess},
    {90, &DeviceProperties::computePreemptionSupported},
    {91, &DeviceProperties::canUseHostPointerForRegisteredMem},
    {95, &DeviceProperties::cooperativeLaunch},
    {100, &DeviceProperties::pageableMemoryAccessUsesHostPageTables},
    {101, &DeviceProperties::directManagedMemAccessFromHost},
    {106, &DeviceProperties::maxBlocksPerMultiProcessor},
    {109, &DeviceProperties::accessPolicyMaxWindowSize},
    {99, &DeviceProperties::hostRegisterSupported},
    {112, &DeviceProperties::sparseCudaArraySupported},
    {113, &DeviceProperties::hostRegisterReadOnlySupported},
    {114, &DeviceProperties::timelineSemaphoreInteropSupported},
    {115, &DeviceProperties::memoryPoolsSupported},
    {116, &DeviceProperties::gpuDirectRDMASupported},
    {118, &DeviceProperties::gpuDirectRDMAWritesOrdering},
    {121, &DeviceProperties::deferredMappingCudaArraySupported},
    {125, &DeviceProperties::ipcEventSupported},
    {120, &DeviceProperties::clusterLaunch},
    {129, &DeviceProperties::unifiedFunctionPointers},
    {130, &DeviceProperties::deviceNumaConfig},
    {131, &DeviceProperties::deviceNumaId},
    {133, &DeviceProperties::mpsEnabled},
    {134, &DeviceProperties::hostNumaId},
    {143, &DeviceProperties::hostNumaMultinodeIpcSupported},
};

struct SizeProperty {
    int attribute;
    std::size_t DeviceProperties::*member;
};
constexpr SizeProperty kSizeProperties[] = {
    {8, &DeviceProperties::sharedMemPerBlock},
    {11, &DeviceProperties::memPitch},
    {9, &DeviceProperties::totalConstMem},
    {14, &DeviceProperties::textureAlignment},
    {51, &DeviceProperties::texturePitchAlignment},
    {30, &DeviceProperties::surfaceAlignment},
    {81, &DeviceProperties::sharedMemPerMultiprocessor},
    {97, &DeviceProperties::sharedMemPerBlockOptin},
    {111, &DeviceProperties::reservedSharedMemPerBlock},
};

DeviceProperties propertiesOf(CUdevice device) {
    DeviceProperties p;
    std::memset(&p, 0, sizeof p);
    check(api().cuDeviceGetName(p.name, sizeof p.name, device));
    check(api().cuDeviceGetUuid(&p.uuid, device));
    check(api().cuDeviceTotalMem(&p.totalGlobalMem, device));
    for (const IntProperty& property : kIntProperties) p.*property.member = attribute(property.attribute, device);
    for (const SizeProperty& property : kSizeProperties)
        p.*property.member = static_cast<std::size_t>(attribute(property.attribute, device));
    const auto fill = [&](int* first, std::initializer_list<int> attributes) {
        for (int which : attributes) *first++ = attribute(which, device);
    };
    fill(p.maxThreadsDim, {2, 3, 4});
    fill(p.maxGridSize, {5, 6, 7});
    fill(p.maxTexture2D, {22, 23});
    fill(p.maxTexture2DMipmap, {73, 74});
    fill(p.maxTexture2DLinear, {70, 71, 72});
    fill(p.maxTexture2DGather, {45, 46});
    fill(p.maxTexture3D, {24, 25, 26});
    fill(p.maxTexture3DAlt, {47, 48, 49});
    fill(p.maxTexture1DLayered, {42, 43});
    fill(p.maxTexture2DLayered, {27, 28, 29});
    fill(p.maxTextureCubemapLayered, {53, 54});
    fill(p.maxSurface2D, {56, 57});
    fill(p.maxSurface3D, {58, 59, 60});
    fill(p.maxSurface1DLayered, {61, 62});
    fill(p.maxSurface2DLayered, {63, 64, 65});
    fill(p.maxSurfaceCubemapLayered, {67, 68});
    p.gpuDirectRDMAFlushWritesOptions = static_cast<unsigned>(attribute(117, device));
    p.memoryPoolSupportedHandleTypes = static_cast<unsigned>(attribute(119, device));
    p.gpuPciDeviceID = static_cast<unsigned>(attribute(139, device));
    p.gpuPciSubsystemID = static_cast<unsigned>(attribute(140, device));
    return p;
}

/// How many of the wanted figures a device reaches.
int resemblance(const DeviceProperties& wanted, const DeviceProperties& has) {
    int points = 0;
    points += wanted.major == 0 || has.major * 10 + has.minor >= wanted.major * 10 + wanted.minor;
    points += has.totalGlobalMem >= wanted.totalGlobalMem;
    points += has.sharedMemPerBlock >= wanted.sharedMemPerBlock;
    points += has.multiProcessorCount >= wanted.multiProcessorCount;
    return points;
}

constexpr int kRuntimeVersion = 13000;

}  // namespace

BULKHEAD_EXPORT CudaError cudaDriverGetVersion(int* version) {
    return call([&] {
        require(version != nullptr);
        *version = 0;  // what a machine without a driver has
        try {
            check(api().cuDriverGetVersion(version));
        } catch (const Failure& failure) {
            if (failure.code != kInsufficientDriver) throw;
        }
    });
}

BULKHEAD_EXPORT CudaError cudaRuntimeGetVersion(int* version) {
    return call([&] {
        require(version != nullptr);
        *version = kRuntimeVersion;
    });
}

BULKHEAD_EXPORT CudaError cudaGetDeviceCount(int* count) {
    return call([&] {
        require(count != nullptr);
        *count = 0;
        check(api().cuDeviceGetCount(count));
        require(*count > 0, kNoDevice);
    });
}

BULKHEAD_EXPORT CudaError cudaGetDevice(int* device) {
    return call([&] {
        require(device != nullptr);
        *device = currentDevice();
    });
}

BULKHEAD_EXPORT CudaError cudaSetDevice(int device) {
    return call([&] { setDevice(device); });
}

BULKHEAD_EXPORT CudaError cudaInitDevice(int device, unsigned deviceFlags, unsigned flags) {
    return call([&] {
        constexpr unsigned flagsAreValid = 1;
        if (flags & flagsAreValid) check(api().cuDevicePrimaryCtxSetFlags(deviceAt(device), deviceFlags));
        const int before = currentDevice();
        setDevice(device);  // makes its context
        setDevice(before);
    });
}

BULKHEAD_EXPORT CudaError cudaSetValidDevices(int* devices, int count) {
    return call([&] {
        require(devices != nullptr && count > 0);
        for (int i = 0; i < count; ++i) deviceAt(devices[i]);
    });
}

BULKHEAD_EXPORT CudaError cudaSetDeviceFlags(unsigned flags) {
    return call([&] { check(api().cuDevicePrimaryCtxSetFlags(currentDevice(), flags)); });
}

BULKHEAD_EXPORT CudaError cudaGetDeviceFlags(unsigned* flags) {
    return call([&] {
        int active = 0;
        require(flags != nullptr);
        check(api().cuDevicePrimaryCtxGetState(currentDevice(), flags, &active));
    });
}

BULKHEAD_EXPORT CudaError cudaGetDeviceProperties(DeviceProperties* properties, int device) {
    return call([&] {
        require(properties != nullptr);
        *properties = propertiesOf(deviceAt(device));
    });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetAttribute(int* value, int which, int device) {
    return call([&] { check(api().cuDeviceGetAttribute(value, which, deviceAt(device))); });
}

BULKHEAD_EXPORT CudaError cudaChooseDevice(int* device, const DeviceProperties* wanted) {
    return call([&] {
        require(device != nullptr && wanted != nullptr);
        int count = 0, best = -1;
        check(api().cuDeviceGetCount(&count));
        for (int i = 0; i < count; ++i) {
            const int points = resemblance(*wanted, propertiesOf(deviceAt(i)));
            if (points <= best) continue;
            best = points;
            *device = i;
        }
        require(best >= 0, kNoDevice);
    });
}

BULKHEAD_EXPORT CudaError cudaDeviceReset() {
    return call([] { resetDevice(); });
}

BULKHEAD_EXPORT CudaError cudaDeviceSynchronize() {
    return call([] { check(ready().cuCtxSynchronize()); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetLimit(std::size_t* value, int limit) {
    return call([&] { check(ready().cuCtxGetLimit(value, limit)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceSetLimit(int limit, std::size_t value) {
    return call([&] { check(ready().cuCtxSetLimit(limit, value)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetCacheConfig(int* config) {
    return call([&] { check(ready().cuCtxGetCacheConfig(config)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceSetCacheConfig(int config) {
    return call([&] { check(ready().cuCtxSetCacheConfig(config)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetSharedMemConfig(int* config) {
    return call([&] { check(ready().cuCtxGetSharedMemConfig(config)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceSetSharedMemConfig(int config) {
    return call([&] { check(ready().cuCtxSetSharedMemConfig(config)); });
}

BULKHEAD_EXPORT CudaError cudaCtxResetPersistingL2Cache() {
    return call([] { check(ready().cuCtxResetPersistingL2Cache()); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] { check(ready().cuCtxGetStreamPriorityRange(least, greatest)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetByPCIBusId(int* device, const char* busId) {
    return call([&] { check(api().cuDeviceGetByPCIBusId(device, busId)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetPCIBusId(char* busId, int length, int device) {
    return call([&] { check(api().cuDeviceGetPCIBusId(busId, length, deviceAt(device))); });
}

BULKHEAD_EXPORT CudaError cudaDeviceCanAccessPeer(int* possible, int device, int peer) {
    return call([&] { check(api().cuDeviceCanAccessPeer(possible, deviceAt(device), deviceAt(peer))); });
}

BULKHEAD_EXPORT CudaError cudaDeviceGetP2PAttribute(int* value, int which, int from, int to) {
    return call([&] { check(api().cuDeviceGetP2PAttribute(value, which, deviceAt(from), deviceAt(to))); });
}

BULKHEAD_EXPORT CudaError cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return call([&] { check(ready().cuCtxEnablePeerAccess(primaryContext(peer), flags)); });
}

BULKHEAD_EXPORT CudaError cudaDeviceDisablePeerAccess(int peer) {
    return call([&] { check(ready().cuCtxDisablePeerAccess(primaryContext(peer))); });
}

BULKHEAD_EXPORT CudaError cudaProfilerStart() {
    return call([] { check(ready().cuProfilerStart()); });
}

BULKHEAD_EXPORT CudaError cudaProfilerStop() {
    return call([] { check(ready().cuProfilerStop()); });
}
