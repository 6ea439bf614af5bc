#include <bit>
#include <cstring>
#include <initializer_list>

#include "cudart/runtime.h"
#include "sdk/include/cuda_runtime_api.h"

using namespace bulkhead::cudart;

namespace {

/// CUdevice_attribute and cudaDeviceAttr have the same numbers. Zero where the driver does not know of one.
int attribute(int which, CUdevice device) {
    int value = 0;
    return api().cuDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

struct IntProperty {
    int attribute;
    int cudaDeviceProp::*member;
};
constexpr IntProperty kIntProperties[] = {
    {12, &cudaDeviceProp::regsPerBlock},
    {10, &cudaDeviceProp::warpSize},
    {1, &cudaDeviceProp::maxThreadsPerBlock},
    {75, &cudaDeviceProp::major},
    {76, &cudaDeviceProp::minor},
    {16, &cudaDeviceProp::multiProcessorCount},
    {18, &cudaDeviceProp::integrated},
    {19, &cudaDeviceProp::canMapHostMemory},
    {21, &cudaDeviceProp::maxTexture1D},
    {77, &cudaDeviceProp::maxTexture1DMipmap},
    {52, &cudaDeviceProp::maxTextureCubemap},
    {55, &cudaDeviceProp::maxSurface1D},
    {66, &cudaDeviceProp::maxSurfaceCubemap},
    {31, &cudaDeviceProp::concurrentKernels},
    {32, &cudaDeviceProp::ECCEnabled},
    {33, &cudaDeviceProp::pciBusID},
    {34, &cudaDeviceProp::pciDeviceID},
    {50, &cudaDeviceProp::pciDomainID},
    {35, &cudaDeviceProp::tccDriver},
    {40, &cudaDeviceProp::asyncEngineCount},
    {41, &cudaDeviceProp::unifiedAddressing},
    {37, &cudaDeviceProp::memoryBusWidth},
    {38, &cudaDeviceProp::l2CacheSize},
    {108, &cudaDeviceProp::persistingL2CacheMaxSize},
    {39, &cudaDeviceProp::maxThreadsPerMultiProcessor},
    {78, &cudaDeviceProp::streamPrioritiesSupported},
    {79, &cudaDeviceProp::globalL1CacheSupported},
    {80, &cudaDeviceProp::localL1CacheSupported},
    {82, &cudaDeviceProp::regsPerMultiprocessor},
    {83, &cudaDeviceProp::managedMemory},
    {84, &cudaDeviceProp::isMultiGpuBoard},
    {85, &cudaDeviceProp::multiGpuBoardGroupID},
    {86, &cudaDeviceProp::hostNativeAtomicSupported},
    {88, &cudaDeviceProp::pageableMemoryAccess},
    {89, &cudaDeviceProp::concurrentManagedAccess},
    {90, &cudaDeviceProp::computePreemptionSupported},
    {91, &cudaDeviceProp::canUseHostPointerForRegisteredMem},
    {95, &cudaDeviceProp::cooperativeLaunch},
    {100, &cudaDeviceProp::pageableMemoryAccessUsesHostPageTables},
    {101, &cudaDeviceProp::directManagedMemAccessFromHost},
    {106, &cudaDeviceProp::maxBlocksPerMultiProcessor},
    {109, &cudaDeviceProp::accessPolicyMaxWindowSize},
    {99, &cudaDeviceProp::hostRegisterSupported},
    {112, &cudaDeviceProp::sparseCudaArraySupported},
    {113, &cudaDeviceProp::hostRegisterReadOnlySupported},
    {114, &cudaDeviceProp::timelineSemaphoreInteropSupported},
    {115, &cudaDeviceProp::memoryPoolsSupported},
    {116, &cudaDeviceProp::gpuDirectRDMASupported},
    {118, &cudaDeviceProp::gpuDirectRDMAWritesOrdering},
    {121, &cudaDeviceProp::deferredMappingCudaArraySupported},
    {125, &cudaDeviceProp::ipcEventSupported},
    {120, &cudaDeviceProp::clusterLaunch},
    {129, &cudaDeviceProp::unifiedFunctionPointers},
    {130, &cudaDeviceProp::deviceNumaConfig},
    {131, &cudaDeviceProp::deviceNumaId},
    {133, &cudaDeviceProp::mpsEnabled},
    {134, &cudaDeviceProp::hostNumaId},
    {143, &cudaDeviceProp::hostNumaMultinodeIpcSupported},
};

struct SizeProperty {
    int attribute;
    std::size_t cudaDeviceProp::*member;
};
constexpr SizeProperty kSizeProperties[] = {
    {8, &cudaDeviceProp::sharedMemPerBlock},
    {11, &cudaDeviceProp::memPitch},
    {9, &cudaDeviceProp::totalConstMem},
    {14, &cudaDeviceProp::textureAlignment},
    {51, &cudaDeviceProp::texturePitchAlignment},
    {30, &cudaDeviceProp::surfaceAlignment},
    {81, &cudaDeviceProp::sharedMemPerMultiprocessor},
    {97, &cudaDeviceProp::sharedMemPerBlockOptin},
    {111, &cudaDeviceProp::reservedSharedMemPerBlock},
};

/// Enumerations cross the driver's interface as int.
template <class Enumeration>
int* number(Enumeration* value) {
    static_assert(sizeof(Enumeration) == sizeof(int));
    return reinterpret_cast<int*>(value);
}

cudaUUID_t uuidOf(CUdevice device) {
    bulkhead::driver::CUuuid drivers;
    check(api().cuDeviceGetUuid(&drivers, device));
    return std::bit_cast<cudaUUID_t>(drivers);
}

cudaDeviceProp propertiesOf(CUdevice device) {
    cudaDeviceProp p;
    std::memset(&p, 0, sizeof p);
    check(api().cuDeviceGetName(p.name, sizeof p.name, device));
    p.uuid = uuidOf(device);
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
int resemblance(const cudaDeviceProp& wanted, const cudaDeviceProp& has) {
    int points = 0;
    points += wanted.major == 0 || has.major * 10 + has.minor >= wanted.major * 10 + wanted.minor;
    points += has.totalGlobalMem >= wanted.totalGlobalMem;
    points += has.sharedMemPerBlock >= wanted.sharedMemPerBlock;
    points += has.multiProcessorCount >= wanted.multiProcessorCount;
    return points;
}

}  // namespace

BULKHEAD_EXPORT cudaError_t cudaDriverGetVersion(int* version) {
    return call([&] {
        require(version != nullptr);
        *version = 0;  // what a machine without a driver has
        try {
            check(api().cuDriverGetVersion(version));
        } catch (const Failure& failure) {
            if (failure.code != cudaErrorInsufficientDriver) throw;
        }
    });
}

BULKHEAD_EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
    return call([&] {
        require(version != nullptr);
        *version = CUDART_VERSION;
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetDeviceCount(int* count) {
    return call([&] {
        require(count != nullptr);
        *count = 0;
        check(api().cuDeviceGetCount(count));
        require(*count > 0, cudaErrorNoDevice);
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetDevice(int* device) {
    return call([&] {
        require(device != nullptr);
        *device = currentDevice();
    });
}

BULKHEAD_EXPORT cudaError_t cudaSetDevice(int device) {
    return call([&] { setDevice(device); });
}

BULKHEAD_EXPORT cudaError_t cudaInitDevice(int device, unsigned deviceFlags, unsigned flags) {
    return call([&] {
        constexpr unsigned flagsAreValid = 1;
        if (flags & flagsAreValid) check(api().cuDevicePrimaryCtxSetFlags(deviceAt(device), deviceFlags));
        const int before = currentDevice();
        setDevice(device);  // makes its context
        setDevice(before);
    });
}

BULKHEAD_EXPORT cudaError_t cudaSetValidDevices(int* devices, int count) {
    return call([&] {
        require(devices != nullptr && count > 0);
        for (int i = 0; i < count; ++i) deviceAt(devices[i]);
    });
}

BULKHEAD_EXPORT cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return call([&] { check(api().cuDevicePrimaryCtxSetFlags(currentDevice(), flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    return call([&] {
        int active = 0;
        require(flags != nullptr);
        check(api().cuDevicePrimaryCtxGetState(currentDevice(), flags, &active));
    });
}

BULKHEAD_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call([&] {
        require(properties != nullptr);
        *properties = propertiesOf(deviceAt(device));
    });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    return call([&] { check(api().cuDeviceGetAttribute(value, which, deviceAt(device))); });
}

BULKHEAD_EXPORT cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
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
        require(best >= 0, cudaErrorNoDevice);
    });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceReset() {
    return call([] { resetDevice(); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceSynchronize() {
    return call([] { check(ready().cuCtxSynchronize()); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
    return call([&] { check(ready().cuCtxGetLimit(value, limit)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
    return call([&] { check(ready().cuCtxSetLimit(limit, value)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return call([&] { check(ready().cuCtxGetCacheConfig(number(config))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
    return call([&] { check(ready().cuCtxSetCacheConfig(config)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    return call([&] { check(ready().cuCtxGetSharedMemConfig(number(config))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return call([&] { check(ready().cuCtxSetSharedMemConfig(config)); });
}

BULKHEAD_EXPORT cudaError_t cudaCtxResetPersistingL2Cache() {
    return call([] { check(ready().cuCtxResetPersistingL2Cache()); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] { check(ready().cuCtxGetStreamPriorityRange(least, greatest)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* busId) {
    return call([&] { check(api().cuDeviceGetByPCIBusId(device, busId)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetPCIBusId(char* busId, int length, int device) {
    return call([&] { check(api().cuDeviceGetPCIBusId(busId, length, deviceAt(device))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceCanAccessPeer(int* possible, int device, int peer) {
    return call([&] { check(api().cuDeviceCanAccessPeer(possible, deviceAt(device), deviceAt(peer))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int from, int to) {
    return call([&] { check(api().cuDeviceGetP2PAttribute(value, which, deviceAt(from), deviceAt(to))); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    return call([&] { check(ready().cuCtxEnablePeerAccess(primaryContext(peer), flags)); });
}

BULKHEAD_EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call([&] { check(ready().cuCtxDisablePeerAccess(primaryContext(peer))); });
}

BULKHEAD_EXPORT cudaError_t cudaProfilerStart() {
    return call([] { check(ready().cuProfilerStart()); });
}

BULKHEAD_EXPORT cudaError_t cudaProfilerStop() {
    return call([] { check(ready().cuProfilerStop()); });
}
