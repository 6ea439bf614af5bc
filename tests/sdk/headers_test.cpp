// Our headers against NVIDIA's, where those are installed: what crosses the binary interface must be the same.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

const char* const kProbe = R"(
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#define SIZE(type) std::printf(#type " %zu %zu\n", sizeof(type), alignof(type))
#define OFFSET(type, member) std::printf(#type "." #member " %zu\n", offsetof(type, member))
#define NUMBER(name) std::printf(#name " %d\n", (int)(name))
int main() {
    SIZE(dim3); SIZE(char4); SIZE(short2); SIZE(int2); SIZE(int4); SIZE(float3); SIZE(float4); SIZE(double2); SIZE(ulong2);
    SIZE(uchar2); SIZE(longlong2); SIZE(ushort4);
    SIZE(cudaDeviceProp); OFFSET(cudaDeviceProp, totalGlobalMem); OFFSET(cudaDeviceProp, major);
    OFFSET(cudaDeviceProp, multiProcessorCount); OFFSET(cudaDeviceProp, l2CacheSize); OFFSET(cudaDeviceProp, sharedMemPerMultiprocessor);
    OFFSET(cudaDeviceProp, cooperativeLaunch); OFFSET(cudaDeviceProp, sharedMemPerBlockOptin); OFFSET(cudaDeviceProp, clusterLaunch);
    OFFSET(cudaDeviceProp, uuid); OFFSET(cudaDeviceProp, sharedMemPerBlock); OFFSET(cudaDeviceProp, maxThreadsDim);
    OFFSET(cudaDeviceProp, totalConstMem); OFFSET(cudaDeviceProp, maxTexture3DAlt); OFFSET(cudaDeviceProp, surfaceAlignment);
    OFFSET(cudaDeviceProp, maxThreadsPerMultiProcessor); OFFSET(cudaDeviceProp, reservedSharedMemPerBlock);
    OFFSET(cudaDeviceProp, memoryPoolsSupported); OFFSET(cudaDeviceProp, hostNumaMultinodeIpcSupported);
    SIZE(cudaPointerAttributes); OFFSET(cudaPointerAttributes, hostPointer);
    SIZE(cudaFuncAttributes); OFFSET(cudaFuncAttributes, numRegs); OFFSET(cudaFuncAttributes, preferredShmemCarveout);
    OFFSET(cudaFuncAttributes, maxDynamicSharedSizeBytes); OFFSET(cudaFuncAttributes, nonPortableClusterSizeAllowed);
    SIZE(cudaMemcpy3DParms); OFFSET(cudaMemcpy3DParms, dstPtr); OFFSET(cudaMemcpy3DParms, kind);
    OFFSET(cudaMemcpy3DParms, dstArray); OFFSET(cudaMemcpy3DParms, extent);
    SIZE(cudaMemcpy3DPeerParms); OFFSET(cudaMemcpy3DPeerParms, dstDevice); OFFSET(cudaMemcpy3DPeerParms, extent);
    SIZE(cudaLaunchConfig_t); OFFSET(cudaLaunchConfig_t, stream); OFFSET(cudaLaunchConfig_t, attrs); OFFSET(cudaLaunchConfig_t, numAttrs);
    SIZE(cudaLaunchAttribute); OFFSET(cudaLaunchAttribute, val);
    SIZE(cudaPitchedPtr); SIZE(cudaExtent); SIZE(cudaPos); SIZE(cudaMemLocation); SIZE(cudaChannelFormatDesc);
    SIZE(cudaTextureDesc); OFFSET(cudaTextureDesc, borderColor); OFFSET(cudaTextureDesc, maxMipmapLevelClamp);
    OFFSET(cudaResourceDesc, res); OFFSET(cudaResourceDesc, res.pitch2D.pitchInBytes); OFFSET(cudaResourceViewDesc, lastLayer);
    SIZE(CUDA_ARRAY3D_DESCRIPTOR); SIZE(CUDA_RESOURCE_DESC); SIZE(CUDA_TEXTURE_DESC); SIZE(CUDA_RESOURCE_VIEW_DESC);
    SIZE(CUDA_MEMCPY2D); SIZE(CUDA_MEMCPY3D); OFFSET(CUDA_MEMCPY3D, dstArray); OFFSET(CUDA_RESOURCE_DESC, flags);
    NUMBER(cudaAddressModeMirror); NUMBER(cudaReadModeNormalizedFloat); NUMBER(cudaBoundaryModeTrap); NUMBER(cudaResViewFormatHalf1);
    NUMBER(cudaArrayCubemap); NUMBER(cudaResourceTypePitch2D); NUMBER(CU_AD_FORMAT_HALF); NUMBER(CU_TRSF_SRGB);
    NUMBER(cudaErrorInvalidValue); NUMBER(cudaErrorIllegalAddress); NUMBER(cudaErrorCooperativeLaunchTooLarge); NUMBER(cudaErrorNotSupported);
    NUMBER(cudaErrorNotReady); NUMBER(cudaErrorUnknown); NUMBER(cudaErrorLaunchFailure); NUMBER(cudaErrorInvalidConfiguration);
    NUMBER(cudaErrorInvalidSymbol); NUMBER(cudaErrorInvalidPitchValue); NUMBER(cudaErrorInvalidMemcpyDirection);
    NUMBER(cudaErrorInsufficientDriver); NUMBER(cudaErrorMissingConfiguration); NUMBER(cudaErrorInvalidDeviceFunction);
    NUMBER(cudaMemcpyDefault); NUMBER(cudaMemoryTypeManaged); NUMBER(cudaFuncAttributeMaxDynamicSharedMemorySize);
    NUMBER(cudaDevAttrMultiProcessorCount); NUMBER(cudaDevAttrCooperativeLaunch); NUMBER(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    NUMBER(cudaLimitMallocHeapSize); NUMBER(cudaStreamNonBlocking); NUMBER(cudaEventDisableTiming); NUMBER(cudaHostAllocMapped);
    NUMBER(cudaHostRegisterReadOnly); NUMBER(cudaDeviceMapHost); NUMBER(cudaMemAttachSingle); NUMBER(cudaMemAdviseSetAccessedBy);
    NUMBER(cudaLaunchAttributeCooperative); NUMBER(cudaLaunchAttributePriority); NUMBER(cudaLaunchAttributeNvlinkUtilCentricScheduling); NUMBER(cudaLaunchAttributeClusterDimension);
    NUMBER(cudaMemPoolAttrReleaseThreshold); NUMBER(cudaMemLocationTypeHost); NUMBER(cudaStreamCaptureModeRelaxed);
    NUMBER(CUDA_ERROR_OUT_OF_MEMORY); NUMBER(CUDA_ERROR_LAUNCH_FAILED); NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    NUMBER(CU_FUNC_ATTRIBUTE_NUM_REGS); NUMBER(CU_STREAM_NON_BLOCKING); NUMBER(CU_MEMHOSTALLOC_DEVICEMAP); NUMBER(CUDART_VERSION);
    SIZE(cudaGraphNodeParams); OFFSET(cudaGraphNodeParams, kernel); OFFSET(cudaGraphNodeParams, reserved2); SIZE(cudaGraphEdgeData);
    SIZE(cudaKernelNodeParams); OFFSET(cudaKernelNodeParams, kernelParams); SIZE(cudaKernelNodeParamsV2);
    OFFSET(cudaKernelNodeParamsV2, extra); SIZE(cudaMemcpyNodeParams); OFFSET(cudaMemcpyNodeParams, copyParams);
    SIZE(cudaMemsetParams); OFFSET(cudaMemsetParams, elementSize); OFFSET(cudaMemsetParams, height); SIZE(cudaMemsetParamsV2);
    SIZE(cudaHostNodeParams); SIZE(cudaMemAllocNodeParams); OFFSET(cudaMemAllocNodeParams, accessDescs);
    OFFSET(cudaMemAllocNodeParams, dptr); SIZE(cudaMemPoolProps); OFFSET(cudaMemPoolProps, usage); SIZE(cudaMemAccessDesc);
    SIZE(cudaConditionalNodeParams); OFFSET(cudaConditionalNodeParams, phGraph_out); SIZE(cudaChildGraphNodeParams);
    SIZE(cudaGraphInstantiateParams); OFFSET(cudaGraphInstantiateParams, result_out); SIZE(cudaGraphExecUpdateResultInfo);
    OFFSET(cudaGraphExecUpdateResultInfo, errorFromNode); SIZE(cudaGraphConditionalHandle);
    NUMBER(cudaGraphNodeTypeEmpty); NUMBER(cudaGraphNodeTypeMemFree); NUMBER(cudaGraphNodeTypeConditional); NUMBER(cudaGraphNodeTypeCount);
    NUMBER(cudaGraphCondTypeSwitch); NUMBER(cudaGraphCondAssignDefault); NUMBER(cudaGraphExecUpdateErrorAttributesChanged);
    NUMBER(cudaGraphInstantiateFlagUseNodePriority); NUMBER(cudaGraphInstantiateConditionalHandleUnused);
    NUMBER(cudaGraphMemAttrReservedMemHigh); NUMBER(cudaUserObjectNoDestructorSync); NUMBER(cudaGraphUserObjectMove);
    NUMBER(cudaGraphDebugDotFlagsConditionalNodeParams); NUMBER(cudaStreamSetCaptureDependencies); NUMBER(cudaEventWaitExternal);
    NUMBER(cudaEventRecordExternal); NUMBER(cudaGraphDependencyTypeProgrammatic); NUMBER(cudaGraphKernelNodePortLaunchCompletion);
    NUMBER(cudaMemAllocationTypePinned); NUMBER(cudaMemHandleTypeFabric); NUMBER(cudaMemAccessFlagsProtReadWrite);
    NUMBER(cudaGraphChildGraphOwnershipMove); NUMBER(cudaKernelNodeAttributeCooperative);
    SIZE(CUgraphNodeParams); OFFSET(CUgraphNodeParams, conditional); OFFSET(CUgraphNodeParams, reserved2); SIZE(CUgraphEdgeData);
    SIZE(CUDA_KERNEL_NODE_PARAMS); OFFSET(CUDA_KERNEL_NODE_PARAMS, kern); SIZE(CUDA_MEMCPY_NODE_PARAMS);
    OFFSET(CUDA_MEMCPY_NODE_PARAMS, copyParams); SIZE(CUDA_MEMSET_NODE_PARAMS); SIZE(CUDA_MEMSET_NODE_PARAMS_v2);
    SIZE(CUDA_HOST_NODE_PARAMS); SIZE(CUDA_MEM_ALLOC_NODE_PARAMS); OFFSET(CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
    SIZE(CUDA_CONDITIONAL_NODE_PARAMS); OFFSET(CUDA_CONDITIONAL_NODE_PARAMS, ctx); SIZE(CUDA_CHILD_GRAPH_NODE_PARAMS);
    SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS); OFFSET(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out); SIZE(CUgraphExecUpdateResultInfo);
    SIZE(CUDA_MEMCPY3D); OFFSET(CUDA_MEMCPY3D, dstDevice); SIZE(CUmemPoolProps); SIZE(CUmemAccessDesc); SIZE(CUlaunchAttributeValue);
    NUMBER(CU_GRAPH_NODE_TYPE_CONDITIONAL); NUMBER(CU_GRAPH_COND_TYPE_WHILE); NUMBER(CU_GRAPH_COND_ASSIGN_DEFAULT);
    NUMBER(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE); NUMBER(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    NUMBER(CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED); NUMBER(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH);
    NUMBER(CU_STREAM_CAPTURE_MODE_RELAXED); NUMBER(CU_STREAM_CAPTURE_STATUS_INVALIDATED); NUMBER(CU_MEMORYTYPE_UNIFIED);
    SIZE(cudaAccessPolicyWindow); OFFSET(cudaAccessPolicyWindow, missProp); SIZE(cudaLaunchAttributeValue);
    OFFSET(cudaLaunchAttributeValue, launchCompletionEvent.flags); SIZE(cudaIpcMemHandle_t); SIZE(cudaIpcEventHandle_t);
    SIZE(cudaMemPoolPtrExportData); SIZE(cudaMemcpyAttributes); OFFSET(cudaMemcpyAttributes, flags); SIZE(cudaUUID_t);
    NUMBER(cudaAccessPropertyPersisting); NUMBER(cudaSyncPolicyBlockingSync); NUMBER(cudaClusterSchedulingPolicyLoadBalancing);
    NUMBER(cudaStreamAttributePriority); NUMBER(cudaMemRangeAttributeLastPrefetchLocationId); NUMBER(cudaLibraryBinaryIsPreserved);
    NUMBER(cudaJitCacheMode); NUMBER(cudaJitOverrideDirectiveValues); NUMBER(cudaEnablePerThreadDefaultStream);
    NUMBER(cudaDriverEntryPointVersionNotSufficent); NUMBER(cudaDeviceMask); NUMBER(cudaIpcMemLazyEnablePeerAccess);
    NUMBER(cudaMemcpySrcAccessOrderAny); NUMBER(cudaRoundMinInf); SIZE(CUlaunchConfig); OFFSET(CUlaunchConfig, attrs);
    SIZE(CUlaunchAttribute); OFFSET(CUlaunchAttribute, value); SIZE(CUaccessPolicyWindow); SIZE(CUdevResource);
    OFFSET(CUdevResource, sm); SIZE(CUtensorMap); SIZE(CUipcMemHandle); SIZE(CUmemcpyAttributes); SIZE(CUuuid);
    SIZE(CUmemPoolPtrExportData); NUMBER(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE); NUMBER(CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    NUMBER(CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED); NUMBER(CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
    NUMBER(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B); NUMBER(CU_FUNC_ATTRIBUTE_MAX); NUMBER(CU_STREAM_WAIT_VALUE_FLUSH);
    NUMBER(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT); NUMBER(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING);
    NUMBER(CU_SYNC_POLICY_BLOCKING_SYNC); NUMBER(CU_MODULE_LAZY_LOADING); NUMBER(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID);
    NUMBER(CU_LAUNCH_ATTRIBUTE_PRIORITY); NUMBER(CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE); NUMBER(CU_MEM_LOCATION_TYPE_DEVICE);
}
)";

std::string numbersWith(const std::string& include) {
    TemporaryDirectory folder;
    writeFile(folder / "probe.cpp", kProbe);
    const std::string program = (folder / "probe").string();
    const Outcome built = run({"c++", "-std=c++17", "-I", include, (folder / "probe.cpp").string(), "-o", program});
    EXPECT_EQ(built.exitCode, 0) << built.output;
    return run({program}).output;
}

TEST(Headers, LayoutsAndNumbersAreThoseOfCuda13) {
    const std::string nvcc = findNvcc();
    if (nvcc.empty()) GTEST_SKIP() << "nvcc is not installed";
    const auto nvidia = std::filesystem::canonical(nvcc).parent_path().parent_path() / "include";
    // nvcc may be a script that starts one elsewhere.
    if (!std::filesystem::exists(nvidia / "cuda_runtime.h")) GTEST_SKIP() << "nvcc has no headers beside it";
    const std::string theirs = numbersWith(nvidia.string());
    if (theirs.find("CUDART_VERSION 13000\n") == std::string::npos)
        GTEST_SKIP() << "another CUDA than 13.0 is installed";
    EXPECT_EQ(numbersWith(std::string(BULKHEAD_SOURCE_DIR) + "/src/sdk/include"), theirs);
}

}  // namespace
}  // namespace bulkhead
