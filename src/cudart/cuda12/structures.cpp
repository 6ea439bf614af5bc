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

/// Members that both structures have.
#define BULKHEAD_SAME_PROPERTIES(X)                                                                                    \
    X(name)                                                                                                            \
    X(uuid)                                                                                                            \
    X(luid)                                                                                                            \
    X(luidDeviceNodeMask)                                                                                              \
    X(totalGlobalMem) X(sharedMemPerBlock) X(regsPerBlock) X(warpSize) X(memPitch) X(maxThreadsPerBlock) X(            \
        maxThreadsDim) X(maxGridSize) X(totalConstMem) X(major) X(minor) X(textureAlignment) X(texturePitchAlignment)  \
        X(multiProcessorCount) X(integrated) X(canMapHostMemory) X(maxTexture1D) X(maxTexture1DMipmap) X(maxTexture2D) \
            X(maxTexture2DMipmap) X(maxTexture2DLinear) X(maxTexture2DGather) X(maxTexture3D) X(maxTexture3DAlt)       \
                X(maxTextureCubemap) X(maxTexture1DLayered) X(maxTexture2DLayered) X(maxTextureCubemapLayered) X(      \
                    maxSurface1D) X(maxSurface2D) X(maxSurface3D) X(maxSurface1DLayered) X(maxSurface2DLayered)        \
                    X(maxSurfaceCubemap) X(maxSurfaceCubemapLayered) X(surfaceAlignment) X(concurrentKernels) X(       \
                        ECCEnabled) X(pciBusID) X(pciDeviceID) X(pciDomainID) X(tccDriver) X(asyncEngineCount)         \
                        X(unifiedAddressing) X(memoryBusWidth) X(l2CacheSize) X(persistingL2CacheMaxSize) X(           \
                            maxThreadsPerMultiProcessor) X(streamPrioritiesSupported) X(globalL1CacheSupported)        \
                            X(localL1CacheSupported) X(sharedMemPerMultiprocessor) X(regsPerMultiprocessor) X(         \
                                managedMemory) X(isMultiGpuBoard) X(multiGpuBoardGroupID) X(hostNativeAtomicSupported) \
                                X(pageableMemoryAccess) X(concurrentManagedAccess) X(computePreemptionSupported) X(    \
                                    canUseHostPointerForRegisteredMem) X(cooperativeLaunch) X(sharedMemPerBlockOptin)  \
                                    X(pageableMemoryAccessUsesHostPageTables) X(directManagedMemAccessFromHost)        \
                                        X(maxBlocksPerMultiProcessor) X(accessPolicyMaxWindowSize)                     \
                                            X(reservedSharedMemPerBlock) X(hostRegisterSupported)                      \
                                                X(sparseCudaArraySupported) X(hostRegisterReadOnlySupported)           \
                                                    X(timelineSemaphoreInteropSupported) X(memoryPoolsSupported)       \
                                                        X(gpuDirectRDMASupported) X(gpuDirectRDMAFlushWritesOptions)   \
                                                            X(gpuDirectRDMAWritesOrdering)                             \
                                                                X(memoryPoolSupportedHandleTypes)                      \
                                                                    X(deferredMappingCudaArraySupported)               \
                                                                        X(ipcEventSupported) X(clusterLaunch)          \
                                                                            X(unifiedFunctionPointers)

template <class Member>
void copyMember(Member& to, const Member& from) {
    std::memcpy(&to, &from, sizeof to);
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
#define BULKHEAD_COPY_MEMBER(member) copyMember(to->member, from.member);
    BULKHEAD_SAME_PROPERTIES(BULKHEAD_COPY_MEMBER)
#undef BULKHEAD_COPY_MEMBER
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
#define BULKHEAD_COPY_MEMBER(member) copyMember(of13.member, wanted->member);
    BULKHEAD_SAME_PROPERTIES(BULKHEAD_COPY_MEMBER)
#undef BULKHEAD_COPY_MEMBER
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
