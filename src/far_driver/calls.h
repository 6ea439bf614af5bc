#pragma once

#include <cstdint>

#include "far_driver/arguments.h"

namespace bulkhead::far_driver {

/// A call's place in the table, which names it between processes.
template <class Call>
std::uint32_t numberOf(Call DriverApi::*member) {
    static const DriverApi table;
    const auto* place = reinterpret_cast<const char*>(&(table.*member));
    return static_cast<std::uint32_t>((place - reinterpret_cast<const char*>(&table)) / sizeof(void*));
}
constexpr std::uint32_t kCalls = sizeof(DriverApi) / sizeof(void*);

/// What is asked besides the driver's calls.
enum class Request : std::uint32_t {
    greet = kCalls,  ///< the first of a connection
    setAllocation,
    physicalAddress,
    pageColor,
    limitThreads,
    seconds,
    end,
};
constexpr std::uint32_t kRequests = static_cast<std::uint32_t>(Request::end) + 1;

/// Calls whose parameters' types tell how they travel.
template <auto... members>
struct CallList {};

using PlainCalls = CallList<
    &DriverApi::cuInit, &DriverApi::cuDriverGetVersion, &DriverApi::cuDeviceGetCount, &DriverApi::cuDeviceGet,
    &DriverApi::cuDeviceGetUuid, &DriverApi::cuDeviceTotalMem, &DriverApi::cuDeviceGetAttribute,
    &DriverApi::cuDeviceGetByPCIBusId, &DriverApi::cuDeviceCanAccessPeer, &DriverApi::cuDeviceGetDefaultMemPool,
    &DriverApi::cuDeviceGetMemPool, &DriverApi::cuDeviceSetMemPool,

    &DriverApi::cuDevicePrimaryCtxRetain, &DriverApi::cuDevicePrimaryCtxRelease, &DriverApi::cuDevicePrimaryCtxReset,
    &DriverApi::cuDevicePrimaryCtxGetState, &DriverApi::cuDevicePrimaryCtxSetFlags, &DriverApi::cuCtxCreate,
    &DriverApi::cuCtxDestroy, &DriverApi::cuCtxPushCurrent, &DriverApi::cuCtxPopCurrent, &DriverApi::cuCtxSetCurrent,
    &DriverApi::cuCtxGetCurrent, &DriverApi::cuCtxGetDevice, &DriverApi::cuCtxGetDevice_v2, &DriverApi::cuCtxGetFlags,
    &DriverApi::cuCtxSetFlags, &DriverApi::cuCtxGetId, &DriverApi::cuCtxGetApiVersion, &DriverApi::cuCtxSynchronize,
    &DriverApi::cuCtxSynchronize_v2, &DriverApi::cuCtxGetLimit, &DriverApi::cuCtxSetLimit,
    &DriverApi::cuCtxGetCacheConfig, &DriverApi::cuCtxSetCacheConfig, &DriverApi::cuCtxGetSharedMemConfig,
    &DriverApi::cuCtxSetSharedMemConfig, &DriverApi::cuCtxResetPersistingL2Cache,
    &DriverApi::cuCtxGetStreamPriorityRange,

    &DriverApi::cuModuleUnload, &DriverApi::cuModuleGetFunction, &DriverApi::cuModuleGetGlobal,
    &DriverApi::cuModuleGetLoadingMode, &DriverApi::cuModuleGetFunctionCount, &DriverApi::cuFuncGetAttribute,
    &DriverApi::cuFuncSetAttribute, &DriverApi::cuFuncSetCacheConfig, &DriverApi::cuFuncSetSharedMemConfig,
    &DriverApi::cuFuncGetModule, &DriverApi::cuFuncGetName, &DriverApi::cuFuncGetParamInfo, &DriverApi::cuFuncIsLoaded,
    &DriverApi::cuFuncLoad, &DriverApi::cuOccupancyMaxActiveBlocksPerMultiprocessor,
    &DriverApi::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    &DriverApi::cuOccupancyAvailableDynamicSMemPerBlock,

    &DriverApi::cuMemGetInfo, &DriverApi::cuMemAlloc, &DriverApi::cuMemAllocPitch, &DriverApi::cuMemFree,
    &DriverApi::cuMemGetAddressRange, &DriverApi::cuMemAllocAsync, &DriverApi::cuMemAllocFromPoolAsync,
    &DriverApi::cuMemFreeAsync, &DriverApi::cuMemPoolCreate, &DriverApi::cuMemPoolDestroy, &DriverApi::cuMemPoolTrimTo,
    &DriverApi::cuMemGetAllocationGranularity, &DriverApi::cuMemAddressReserve, &DriverApi::cuMemAddressFree,
    &DriverApi::cuMemCreate, &DriverApi::cuMemRelease, &DriverApi::cuMemMap, &DriverApi::cuMemUnmap,
    &DriverApi::cuMemGetAccess, &DriverApi::cuMemGetAllocationPropertiesFromHandle,

    &DriverApi::cuMemcpyDtoD, &DriverApi::cuMemcpyDtoDAsync, &DriverApi::cuMemcpyPeer, &DriverApi::cuMemcpyPeerAsync,
    &DriverApi::cuMemsetD8, &DriverApi::cuMemsetD16, &DriverApi::cuMemsetD32, &DriverApi::cuMemsetD2D8,
    &DriverApi::cuMemsetD2D16, &DriverApi::cuMemsetD2D32, &DriverApi::cuMemsetD8Async, &DriverApi::cuMemsetD16Async,
    &DriverApi::cuMemsetD32Async, &DriverApi::cuMemsetD2D8Async, &DriverApi::cuMemsetD2D16Async,
    &DriverApi::cuMemsetD2D32Async,

    &DriverApi::cuStreamCreate, &DriverApi::cuStreamCreateWithPriority, &DriverApi::cuStreamDestroy,
    &DriverApi::cuStreamQuery, &DriverApi::cuStreamSynchronize, &DriverApi::cuStreamWaitEvent,
    &DriverApi::cuStreamGetFlags, &DriverApi::cuStreamGetPriority, &DriverApi::cuStreamGetCtx,
    &DriverApi::cuStreamGetId, &DriverApi::cuStreamGetDevice, &DriverApi::cuStreamIsCapturing,
    &DriverApi::cuThreadExchangeStreamCaptureMode, &DriverApi::cuEventCreate, &DriverApi::cuEventDestroy,
    &DriverApi::cuEventRecord, &DriverApi::cuEventRecordWithFlags, &DriverApi::cuEventQuery,
    &DriverApi::cuEventSynchronize, &DriverApi::cuEventElapsedTime, &DriverApi::cuEventElapsedTime_v2,
    &DriverApi::cuProfilerStart, &DriverApi::cuProfilerStop,

    &DriverApi::cuDeviceGetDevResource, &DriverApi::cuGreenCtxCreate, &DriverApi::cuGreenCtxDestroy,
    &DriverApi::cuCtxFromGreenCtx, &DriverApi::cuCtxGetDevResource, &DriverApi::cuGreenCtxGetDevResource,
    &DriverApi::cuGreenCtxRecordEvent, &DriverApi::cuGreenCtxWaitEvent, &DriverApi::cuGreenCtxStreamCreate,
    &DriverApi::cuGreenCtxGetId, &DriverApi::cuStreamGetGreenCtx>;

}  // namespace bulkhead::far_driver
