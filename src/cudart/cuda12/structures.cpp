// Calls with structures that CUDA 13 changed: some lost members, some gained room.

#include <cstddef>
#include <cstring>

#include "cudart/cuda12/calls13.h"

using namespace bulkhead::cudart;

namespace {

struct DeviceProperties12 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    std::size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    std::size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    std::size_t totalConstMem;
    int major, minor;
    std::size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
        maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap,
        maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3],
        maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    std::size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
        unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize,
        maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
        singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
        canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
        accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
    // Here the structure of CUDA 11 ends.
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
        timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63];
};
constexpr std::size_t kBytesOf11 = offsetof(DeviceProperties12, hostRegisterSupported);
static_assert(sizeof(DeviceProperties12) == 1032 && kBytesOf11 == 728);

template <class Member>
void copyMember(Member& to, const Member& from) {
    std::memcpy(&to, &from, sizeof to);
}

/// Members that both structures have.
template <class To, class From>
void copyMembers(To& to, const From& from) {
    copyMember(to.name, from.name);
    copyMember(to.uuid, from.uuid);
    copyMember(to.luid, from.luid);
    copyMember(to.luidDeviceNodeMask, from.luidDeviceNodeMask);
    copyMember(to.totalGlobalMem, from.totalGlobalMem);
    copyMember(to.sharedMemPerBlock, from.sharedMemPerBlock);
    copyMember(to.regsPerBlock, from.regsPerBlock);
    copyMember(to.warpSize, from.warpSize);
    copyMember(to.memPitch, from.memPitch);
    copyMember(to.maxThreadsPerBlock, from.maxThreadsPerBlock);
    copyMember(to.maxThreadsDim, from.maxThreadsDim);
    copyMember(to.maxGridSize, from.maxGridSize);
    copyMember(to.totalConstMem, from.totalConstMem);
    copyMember(to.major, from.major);
    copyMember(to.minor, from.minor);
    copyMember(to.textureAlignment, from.textureAlignment);
    copyMember(to.texturePitchAlignment, from.texturePitchAlignment);
    copyMember(to.multiProcessorCount, from.multiProcessorCount);
    copyMember(to.integrated, from.integrated);
    copyMember(to.canMapHostMemory, from.canMapHostMemory);
    copyMember(to.maxTexture1D, from.maxTexture1D);
    copyMember(to.maxTexture1DMipmap, from.maxTexture1DMipmap);
    copyMember(to.maxTexture2D, from.maxTexture2D);
    copyMember(to.maxTexture2DMipmap, from.maxTexture2DMipmap);
    copyMember(to.maxTexture2DLinear, from.maxTexture2DLinear);
    copyMember(to.maxTexture2DGather, from.maxTexture2DGather);
    copyMember(to.maxTexture3D, from.maxTexture3D);
    copyMember(to.maxTexture3DAlt, from.maxTexture3DAlt);
    copyMember(to.maxTextureCubemap, from.maxTextureCubemap);
    copyMember(to.maxTexture1DLayered, from.maxTexture1DLayered);
    copyMember(to.maxTexture2DLayered, from.maxTexture2DLayered);
    copyMember(to.maxTextureCubemapLayered, from.maxTextureCubemapLayered);
    copyMember(to.maxSurface1D, from.maxSurface1D);
    copyMember(to.maxSurface2D, from.maxSurface2D);
    copyMember(to.maxSurface3D, from.maxSurface3D);
    copyMember(to.maxSurface1DLayered, from.maxSurface1DLayered);
    copyMember(to.maxSurface2DLayered, from.maxSurface2DLayered);
    copyMember(to.maxSurfaceCubemap, from.maxSurfaceCubemap);
    copyMember(to.maxSurfaceCubemapLayered, from.maxSurfaceCubemapLayered);
    copyMember(to.surfaceAlignment, from.surfaceAlignment);
    copyMember(to.concurrentKernels, from.concurrentKernels);
    copyMember(to.ECCEnabled, from.ECCEnabled);
    copyMember(to.pciBusID, from.pciBusID);
    copyMember(to.pciDeviceID, from.pciDeviceID);
    copyMember(to.pciDomainID, from.pciDomainID);
    copyMember(to.tccDriver, from.tccDriver);
    copyMember(to.asyncEngineCount, from.asyncEngineCount);
    copyMember(to.unifiedAddressing, from.unifiedAddressing);
    copyMember(to.memoryBusWidth, from.memoryBusWidth);
    copyMember(to.l2CacheSize, from.l2CacheSize);
    copyMember(to.persistingL2CacheMaxSize, from.persistingL2CacheMaxSize);
    copyMember(to.maxThreadsPerMultiProcessor, from.maxThreadsPerMultiProcessor);
    copyMember(to.streamPrioritiesSupported, from.streamPrioritiesSupported);
    copyMember(to.globalL1CacheSupported, from.globalL1CacheSupported);
    copyMember(to.localL1CacheSupported, from.localL1CacheSupported);
    copyMember(to.sharedMemPerMultiprocessor, from.sharedMemPerMultiprocessor);
    copyMember(to.regsPerMultiprocessor, from.regsPerMultiprocessor);
    copyMember(to.managedMemory, from.managedMemory);
    copyMember(to.isMultiGpuBoard, from.isMultiGpuBoard);
    copyMember(to.multiGpuBoardGroupID, from.multiGpuBoardGroupID);
    copyMember(to.hostNativeAtomicSupported, from.hostNativeAtomicSupported);
    copyMember(to.pageableMemoryAccess, from.pageableMemoryAccess);
    copyMember(to.concurrentManagedAccess, from.concurrentManagedAccess);
    copyMember(to.computePreemptionSupported, from.computePreemptionSupported);
    copyMember(to.canUseHostPointerForRegisteredMem, from.canUseHostPointerForRegisteredMem);
    copyMember(to.cooperativeLaunch, from.cooperativeLaunch);
    copyMember(to.sharedMemPerBlockOptin, from.sharedMemPerBlockOptin);
    copyMember(to.pageableMemoryAccessUsesHostPageTables, from.pageableMemoryAccessUsesHostPageTables);
    copyMember(to.directManagedMemAccessFromHost, from.directManagedMemAccessFromHost);
    copyMember(to.maxBlocksPerMultiProcessor, from.maxBlocksPerMultiProcessor);
    copyMember(to.accessPolicyMaxWindowSize, from.accessPolicyMaxWindowSize);
    copyMember(to.reservedSharedMemPerBlock, from.reservedSharedMemPerBlock);
    copyMember(to.hostRegisterSupported, from.hostRegisterSupported);
    copyMember(to.sparseCudaArraySupported, from.sparseCudaArraySupported);
    copyMember(to.hostRegisterReadOnlySupported, from.hostRegisterReadOnlySupported);
    copyMember(to.timelineSemaphoreInteropSupported, from.timelineSemaphoreInteropSupported);
    copyMember(to.memoryPoolsSupported, from.memoryPoolsSupported);
    copyMember(to.gpuDirectRDMASupported, from.gpuDirectRDMASupported);
    copyMember(to.gpuDirectRDMAFlushWritesOptions, from.gpuDirectRDMAFlushWritesOptions);
    copyMember(to.gpuDirectRDMAWritesOrdering, from.gpuDirectRDMAWritesOrdering);
    copyMember(to.memoryPoolSupportedHandleTypes, from.memoryPoolSupportedHandleTypes);
    copyMember(to.deferredMappingCudaArraySupported, from.deferredMappingCudaArraySupported);
    copyMember(to.ipcEventSupported, from.ipcEventSupported);
    copyMember(to.clusterLaunch, from.clusterLaunch);
    copyMember(to.unifiedFunctionPointers, from.unifiedFunctionPointers);
}

/// Members that CUDA 13 dropped are attributes of a device still.
struct DroppedProperty {
    int attribute;
    int DeviceProperties12::*member;
};
constexpr DroppedProperty kDropped[] = {
    {13, &DeviceProperties12::clockRate},
    {15, &DeviceProperties12::deviceOverlap},
    {17, &DeviceProperties12::kernelExecTimeoutEnabled},
    {20, &DeviceProperties12::computeMode},
    {36, &DeviceProperties12::memoryClockRate},
    {69, &DeviceProperties12::maxTexture1DLinear},
    {87, &DeviceProperties12::singleToDoublePrecisionPerfRatio},
    {96, &DeviceProperties12::cooperativeMultiDeviceLaunch},
};

cudaError_t getProperties(DeviceProperties12* to, int device) {
    cudaDeviceProp from;
    if (const cudaError_t error = cudaGetDeviceProperties_13(&from, device)) return error;
    std::memset(to, 0, sizeof *to);
    copyMembers(*to, from);
    for (const DroppedProperty& dropped : kDropped) {
        int value = 0;
        if (api().cuDeviceGetAttribute(&value, dropped.attribute, device) == cudaSuccess) to->*dropped.member = value;
    }
    return cudaSuccess;
}

struct PointerAttributes12 {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

/// How much of these CUDA 12 has: less room in the union, and nothing behind it.
constexpr std::size_t kResourceBytes = 64, kViewBytes = 48;
static_assert(kResourceBytes < sizeof(cudaResourceDesc) && kViewBytes <= sizeof(cudaResourceViewDesc));

/// A structure of CUDA 13 that begins with one of CUDA 12 and is zero behind it.
template <class Structure, std::size_t bytes>
class Widened {
  public:
    explicit Widened(const void* of12) : isThere_(of12 != nullptr) {
        std::memset(&wide_, 0, sizeof wide_);
        if (of12) std::memcpy(&wide_, of12, bytes);
    }
    const Structure* get() const { return isThere_ ? &wide_ : nullptr; }

  private:
    Structure wide_;
    bool isThere_;
};

/// Gives a program the part of a structure that it knows.
template <std::size_t bytes, class Structure, class Get>
cudaError_t narrowed(void* to, Get&& get) {
    Structure wide;
    const cudaError_t error = get(to ? &wide : nullptr);
    if (error == cudaSuccess && to) std::memcpy(to, &wide, bytes);
    return error;
}

}  // namespace

BULKHEAD_CUDA12(cudaGetDeviceProperties_v2, (DeviceProperties12 * properties, int device)) {
    if (!properties) return cudaGetDeviceProperties_13(nullptr, device);
    DeviceProperties12 of12;
    const cudaError_t error = getProperties(&of12, device);
    if (error == cudaSuccess) *properties = of12;
    return error;
}

/// By this name, CUDA 12 gives the structure of CUDA 11.
BULKHEAD_CUDA12(cudaGetDeviceProperties, (void* properties, int device)) {
    if (!properties) return cudaGetDeviceProperties_13(nullptr, device);
    DeviceProperties12 of12;
    const cudaError_t error = getProperties(&of12, device);
    if (error == cudaSuccess) std::memcpy(properties, &of12, kBytesOf11);
    return error;
}

BULKHEAD_CUDA12(cudaChooseDevice, (int* device, const DeviceProperties12* wanted)) {
    if (!wanted) return cudaChooseDevice_13(device, nullptr);
    cudaDeviceProp of13;
    std::memset(&of13, 0, sizeof of13);
    copyMembers(of13, *wanted);
    return cudaChooseDevice_13(device, &of13);
}

BULKHEAD_CUDA12(cudaPointerGetAttributes, (PointerAttributes12 * attributes, const void* pointer)) {
    return narrowed<sizeof(PointerAttributes12), cudaPointerAttributes>(
        attributes, [&](cudaPointerAttributes* wide) { return cudaPointerGetAttributes_13(wide, pointer); });
}

BULKHEAD_CUDA12(cudaCreateTextureObject, (cudaTextureObject_t * texture, const void* resource,
                                          const cudaTextureDesc* description, const void* view)) {
    const Widened<cudaResourceDesc, kResourceBytes> wideResource(resource);
    const Widened<cudaResourceViewDesc, kViewBytes> wideView(view);
    return cudaCreateTextureObject_13(texture, wideResource.get(), description, wideView.get());
}
BULKHEAD_CUDA12(cudaGetTextureObjectResourceDesc, (void* resource, cudaTextureObject_t texture)) {
    return narrowed<kResourceBytes, cudaResourceDesc>(
        resource, [&](cudaResourceDesc* wide) { return cudaGetTextureObjectResourceDesc_13(wide, texture); });
}
BULKHEAD_CUDA12(cudaGetTextureObjectResourceViewDesc, (void* view, cudaTextureObject_t texture)) {
    return narrowed<kViewBytes, cudaResourceViewDesc>(
        view, [&](cudaResourceViewDesc* wide) { return cudaGetTextureObjectResourceViewDesc_13(wide, texture); });
}
BULKHEAD_CUDA12(cudaCreateSurfaceObject, (cudaSurfaceObject_t * surface, const void* resource)) {
    const Widened<cudaResourceDesc, kResourceBytes> wide(resource);
    return cudaCreateSurfaceObject_13(surface, wide.get());
}
BULKHEAD_CUDA12(cudaGetSurfaceObjectResourceDesc, (void* resource, cudaSurfaceObject_t surface)) {
    return narrowed<kResourceBytes, cudaResourceDesc>(
        resource, [&](cudaResourceDesc* wide) { return cudaGetSurfaceObjectResourceDesc_13(wide, surface); });
}
