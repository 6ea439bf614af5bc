#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::driver {

// The CUDA driver's types, as its binary interface has them (CUDA 13): no NVIDIA header is needed to build.
// Enumerations cross the interface as int; those whose values matter here follow as enum classes of readable names.

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUmemGenericAllocationHandle = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUgreenCtx = struct CUgreenCtx_st*;
using CUmodule = struct CUmod_st*;
using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUarray = struct CUarray_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphEdgeData = struct CUgraphEdgeData_st;
using CUlinkState = struct CUlinkState_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUdevResourceDesc = struct CUdevResourceDesc_st*;

using CUdevice_attribute = int;
using CUdevice_P2PAttribute = int;
using CUdevResourceType = int;
using CUdriverProcAddressQueryResult = int;
using CUfunc_cache = int;
using CUfunction_attribute = int;
using CUfunctionLoadingState = int;
using CUjitInputType = int;
using CUjit_option = int;
using CUlaunchAttributeID = int;
using CUlibraryOption = int;
using CUlimit = int;
using CUmemAccess_flags = int;
using CUmemAllocationGranularity_flags = int;
using CUmemAllocationHandleType = int;
using CUmemAllocationType = int;
using CUmemLocationType = int;
using CUmemPool_attribute = int;
using CUmem_advise = int;
using CUmemorytype = int;
using CUmoduleLoadingMode = int;
using CUpointer_attribute = int;
using CUsharedconfig = int;
using CUstreamCaptureMode = int;
using CUstreamCaptureStatus = int;

using CUhostFn = void (*)(void* data);
using CUstreamCallback = void (*)(CUstream, CUresult, void* data);
using CUoccupancyB2DSize = std::size_t (*)(int blockThreads);

struct CUuuid {
    char bytes[16];
};

struct CUexecAffinityParam {
    int type;
    unsigned smCount;
};

struct CUctxCreateParams {
    CUexecAffinityParam* execAffinityParams;
    int numExecAffinityParams;
    void* cigParams;
};

struct CUmemLocation {
    CUmemLocationType type;
    int id;
};

struct CUmemAllocationProp {
    CUmemAllocationType type;
    CUmemAllocationHandleType requestedHandleTypes;
    CUmemLocation location;
    void* win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
};

struct CUmemAccessDesc {
    CUmemLocation location;
    CUmemAccess_flags flags;
};

struct CUmemPoolProps {
    CUmemAllocationType allocType;
    CUmemAllocationHandleType handleTypes;
    CUmemLocation location;
    void* win32SecurityAttributes;
    std::size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};

struct CUDA_MEMCPY2D {
    std::size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    std::size_t srcPitch;
    std::size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    std::size_t dstPitch;
    std::size_t WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
    std::size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void* reserved0;
    std::size_t srcPitch, srcHeight;
    std::size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void* reserved1;
    std::size_t dstPitch, dstHeight;
    std::size_t WidthInBytes, Height, Depth;
};

/// A launch attribute's value is one of many things, 64 bytes long at most.
union CUlaunchAttributeValue {
    char pad[64];
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    int priority;
};

struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    char pad[8 - sizeof(CUlaunchAttributeID)];
    CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute* attrs;
    unsigned numAttrs;
};

struct CUdevSmResource {
    unsigned smCount;
    unsigned minSmPartitionSize;
    unsigned smCoscheduledAlignment;
};

struct CUdevResource {
    CUdevResourceType type;
    unsigned char internal[92];
    union {
        CUdevSmResource sm;
        unsigned char oversize[48];
    };
    unsigned smCount() const { return sm.smCount; }
};
constexpr CUdevResourceType kDevResourceSm = 1;

static_assert(sizeof(CUmemAllocationProp) == 32 && sizeof(CUmemAccessDesc) == 12 && sizeof(CUmemPoolProps) == 88);
static_assert(sizeof(CUDA_MEMCPY2D) == 128 && sizeof(CUDA_MEMCPY3D) == 200);
static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56 && sizeof(CUdevResource) == 144);
static_assert(sizeof(CUctxCreateParams) == 24 && sizeof(CUexecAffinityParam) == 8);

/// Handles of the default streams that a program may name: the one that blocks, and the calling thread's.
inline const CUstream kLegacyStream = reinterpret_cast<CUstream>(std::uintptr_t{1});
inline const CUstream kPerThreadStream = reinterpret_cast<CUstream>(std::uintptr_t{2});

/// CUdevice_attribute.
enum class DeviceAttribute : CUdevice_attribute {
    maxThreadsPerBlock = 1,
    maxBlockX = 2,
    maxBlockY = 3,
    maxBlockZ = 4,
    maxGridX = 5,
    maxGridY = 6,
    maxGridZ = 7,
    sharedBytesPerBlock = 8,
    constantBytes = 9,
    warpSize = 10,
    maxPitch = 11,
    registersPerBlock = 12,
    clockRateKHz = 13,
    textureAlignment = 14,
    gpuOverlap = 15,
    sms = 16,
    kernelTimeout = 17,
    integrated = 18,
    canMapHostMemory = 19,
    computeMode = 20,
    surfaceAlignment = 30,
    concurrentKernels = 31,
    eccEnabled = 32,
    pciBus = 33,
    pciDevice = 34,
    tccDriver = 35,
    memoryClockKHz = 36,
    memoryBusBits = 37,
    l2Bytes = 38,
    maxThreadsPerSm = 39,
    copyEngines = 40,
    unifiedAddressing = 41,
    pciDomain = 50,
    texturePitchAlignment = 51,
    computeMajor = 75,
    computeMinor = 76,
    streamPriorities = 78,
    globalL1 = 79,
    localL1 = 80,
    sharedBytesPerSm = 81,
    registersPerSm = 82,
    managedMemory = 83,
    multiGpuBoard = 84,
    multiGpuBoardGroup = 85,
    hostNativeAtomics = 86,
    singleToDoubleRatio = 87,
    pageableMemoryAccess = 88,
    concurrentManagedAccess = 89,
    computePreemption = 90,
    hostPointerForRegistered = 91,
    cooperativeLaunch = 95,
    cooperativeMultiDevice = 96,
    sharedBytesPerBlockOptIn = 97,
    canFlushRemoteWrites = 98,
    hostRegister = 99,
    pageableUsesHostTables = 100,
    directManagedFromHost = 101,
    virtualMemory = 102,
    posixHandles = 103,
    maxBlocksPerSm = 106,
    compression = 107,
    maxPersistingL2Bytes = 108,
    maxAccessPolicyWindow = 109,
    reservedSharedBytesPerBlock = 111,
    readOnlyHostRegister = 113,
    memoryPools = 115,
    gpuDirectRdma = 116,
    poolHandleTypes = 119,
    clusterLaunch = 120,
    ipcEvents = 125,
    memorySyncDomains = 126,
    tensorMaps = 127,
    unifiedFunctionPointers = 129,
    numaConfig = 130,
    numaId = 131,
    multicast = 132,
    mps = 133,
    hostNumaId = 134,
};

/// CUfunction_attribute.
enum class FunctionAttribute : CUfunction_attribute {
    maxThreadsPerBlock = 0,
    sharedBytes = 1,
    constantBytes = 2,
    localBytes = 3,
    registers = 4,
    ptxVersion = 5,
    binaryVersion = 6,
    cacheModeCa = 7,
    maxDynamicSharedBytes = 8,
    sharedCarveout = 9,
    clusterSizeMustBeSet = 10,
    clusterWidth = 11,
    clusterHeight = 12,
    clusterDepth = 13,
    nonPortableCluster = 14,
    clusterScheduling = 15,
};

}  // namespace bulkhead::driver
