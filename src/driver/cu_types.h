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
using CUgraphExec = struct CUgraphExec_st*;
using CUuserObject = struct CUuserObject_st*;
using CUgraphConditionalHandle = std::uint64_t;
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
using CUgraphConditionalNodeType = int;
using CUgraphExecUpdateResult = int;
using CUgraphInstantiateResult = int;
using CUgraphMem_attribute = int;
using CUgraphNodeType = int;
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

/// What CUDA 2 told of a device.
struct CUdevprop {
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int sharedMemPerBlock, totalConstantMemory, SIMDWidth, memPitch, regsPerBlock, clockRate, textureAlign;
};

/// A launch attribute's value is one of many things, 64 bytes long at most.
using CUaccessProperty = int;
struct CUaccessPolicyWindow {
    void* base_ptr;
    std::size_t num_bytes;
    float hitRatio;
    CUaccessProperty hitProp, missProp;
};

union CUlaunchAttributeValue {
    char pad[64];
    CUaccessPolicyWindow accessPolicyWindow;
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    struct {
        CUevent event;
        int flags;
        int triggerAtBlockStart;
    } programmaticEvent;
    struct {
        CUevent event;
        int flags;
    } launchCompletionEvent;
    int priority;
    unsigned sharedMemCarveout;
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

/// Opaque: what it holds is sim::TensorMap's.
struct alignas(64) CUtensorMap {
    std::uint64_t opaque[16];
};

struct CUgraphEdgeData {
    unsigned char from_port, to_port, type;
    unsigned char reserved[5];
};

struct CUDA_KERNEL_NODE_PARAMS_v1 {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void** kernelParams;
    void** extra;
};

/// Versions 2 and 3 are alike.
struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void** kernelParams;
    void** extra;
    CUkernel kern;
    CUcontext ctx;
};

struct CUDA_MEMCPY_NODE_PARAMS {
    int flags;
    int reserved;
    CUcontext copyCtx;
    CUDA_MEMCPY3D copyParams;
};

struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    std::size_t pitch;
    unsigned value;
    unsigned elementSize;
    std::size_t width, height;
};

struct CUDA_MEMSET_NODE_PARAMS_v2 {
    CUDA_MEMSET_NODE_PARAMS fill;
    CUcontext ctx;
};

struct CUDA_HOST_NODE_PARAMS {
    CUhostFn fn;
    void* userData;
};

struct CUDA_MEM_ALLOC_NODE_PARAMS {
    CUmemPoolProps poolProps;
    const CUmemAccessDesc* accessDescs;
    std::size_t accessDescCount;
    std::size_t bytesize;
    CUdeviceptr dptr;
};

struct CUDA_CONDITIONAL_NODE_PARAMS {
    CUgraphConditionalHandle handle;
    CUgraphConditionalNodeType type;
    unsigned size;
    CUgraph* phGraph_out;
    CUcontext ctx;
};

struct CUDA_CHILD_GRAPH_NODE_PARAMS {
    CUgraph graph;
    int ownership;
};

/// What cuGraphAddNode takes: the parameters of a node of any kind.
struct CUgraphNodeParams {
    CUgraphNodeType type;
    int reserved0[3];
    union {
        long long reserved1[29];
        CUDA_KERNEL_NODE_PARAMS kernel;
        CUDA_MEMCPY_NODE_PARAMS memcpy;
        CUDA_MEMSET_NODE_PARAMS_v2 memset;
        CUDA_HOST_NODE_PARAMS host;
        CUDA_CHILD_GRAPH_NODE_PARAMS graph;
        CUevent eventWait;
        CUevent eventRecord;
        CUDA_MEM_ALLOC_NODE_PARAMS alloc;
        CUdeviceptr free;
        CUDA_CONDITIONAL_NODE_PARAMS conditional;
    };
    long long reserved2;
};

struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    std::uint64_t flags;
    CUstream hUploadStream;
    CUgraphNode hErrNode_out;
    CUgraphInstantiateResult result_out;
};

struct CUgraphExecUpdateResultInfo {
    CUgraphExecUpdateResult result;
    CUgraphNode errorNode;
    CUgraphNode errorFromNode;
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
static_assert(sizeof(CUgraphEdgeData) == 8 && sizeof(CUDA_KERNEL_NODE_PARAMS) == 72 &&
              sizeof(CUDA_MEM_ALLOC_NODE_PARAMS) == 120 && sizeof(CUDA_MEMCPY_NODE_PARAMS) == 216);
static_assert(sizeof(CUgraphNodeParams) == 256 && offsetof(CUgraphNodeParams, kernel) == 16 &&
              offsetof(CUgraphNodeParams, reserved2) == 248);
static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32 && sizeof(CUgraphExecUpdateResultInfo) == 24);
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

/// CUgraphNodeType.
enum class NodeType : CUgraphNodeType {
    kernel = 0,
    copy = 1,
    fill = 2,
    host = 3,
    graph = 4,
    empty = 5,
    eventWait = 6,
    eventRecord = 7,
    semaphoreSignal = 8,
    semaphoreWait = 9,
    allocation = 10,
    release = 11,
    memoryOperations = 12,
    conditional = 13,
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
