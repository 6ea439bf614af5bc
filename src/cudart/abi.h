#pragma once

#include <cstddef>

#include "driver/cu_types.h"

namespace bulkhead::cudart {

// The types of CUDA 13's runtime library, as its binary interface has them. Enumerations cross it as int. Streams,
// events, memory pools and arrays are the driver's.

using CudaError = int;
using driver::CUarray;
using driver::CUevent;
using driver::CUmemoryPool;
using driver::CUstream;

/// Those that the library itself comes upon. All others are the driver's, which have the same numbers.
enum ErrorCode : CudaError {
    kSuccess = 0,
    kInvalidValue = 1,
    kMemoryAllocation = 2,
    kInvalidPitchValue = 12,
    kInvalidSymbol = 13,
    kInvalidMemcpyDirection = 21,
    kInsufficientDriver = 35,
    kMissingConfiguration = 52,
    kInvalidDeviceFunction = 98,
    kNoDevice = 100,
    kInvalidResourceHandle = 400,
    kSymbolNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kNotSupported = 801,
};

enum class CopyKind : int { hostToHost = 0, hostToDevice = 1, deviceToHost = 2, deviceToDevice = 3, fromPointers = 4 };

enum class MemoryType : int { unregistered = 0, host = 1, device = 2, managed = 3 };

struct Dim3 {
    unsigned x, y, z;
};

struct PitchedPointer {
    void* pointer;
    std::size_t pitch;
    std::size_t xBytes, yRows;
};

struct Extent {
    std::size_t width, height, depth;
};

struct Position {
    std::size_t x, y, z;
};

struct Copy3D {
    CUarray fromArray;
    Position fromPosition;
    PitchedPointer from;
    CUarray toArray;
    Position toPosition;
    PitchedPointer to;
    Extent extent;
    CopyKind kind;
};

struct PeerCopy3D {
    CUarray fromArray;
    Position fromPosition;
    PitchedPointer from;
    int fromDevice;
    CUarray toArray;
    Position toPosition;
    PitchedPointer to;
    int toDevice;
    Extent extent;
};

struct LaunchConfig {
    Dim3 grid, block;
    std::size_t dynamicBytes;
    CUstream stream;
    driver::CUlaunchAttribute* attributes;
    unsigned attributeCount;
};

struct FunctionAttributes {
    std::size_t sharedBytes, constantBytes, localBytes;
    int maxThreadsPerBlock;
    int registers;
    int ptxVersion, binaryVersion;
    int cacheModeCa;
    int maxDynamicSharedBytes;
    int sharedCarveout;
    int clusterSizeMustBeSet;
    int clusterWidth, clusterHeight, clusterDepth;
    int clusterScheduling;
    int nonPortableCluster;
    int reserved[16];
};

struct PointerAttributes {
    MemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
    long reserved[8];
};

struct ChannelFormat {
    int x, y, z, w;
    int kind;
};

struct DeviceProperties {
    char name[256];
    driver::CUuuid uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    std::size_t totalGlobalMem;
    std::size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    std::size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    std::size_t totalConstMem;
    int major;
    int minor;
    std::size_t textureAlignment;
    std::size_t texturePitchAlignment;
    int multiProcessorCount;
    int integrated;
    int canMapHostMemory;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    std::size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int deviceNumaConfig;
    int deviceNumaId;
    int mpsEnabled;
    int hostNumaId;
    unsigned gpuPciDeviceID;
    unsigned gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    int reserved[56];
};

static_assert(sizeof(Dim3) == 12 && sizeof(PitchedPointer) == 32 && sizeof(LaunchConfig) == 56);
static_assert(sizeof(Copy3D) == 160 && sizeof(PeerCopy3D) == 168);
static_assert(sizeof(FunctionAttributes) == 144 && sizeof(PointerAttributes) == 88 && sizeof(ChannelFormat) == 20);
static_assert(sizeof(DeviceProperties) == 1008);

}  // namespace bulkhead::cudart
