#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::driver {

// The CUDA driver's types, as its binary interface has them: no NVIDIA header is needed to build.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;

constexpr CUresult CUDA_SUCCESS = 0;

/// CUdevice_attribute: those that are asked for here.
enum class DeviceAttribute : int {
    maxThreadsPerBlock = 1,
    warpSize = 10,
    clockRateKHz = 13,
    multiprocessors = 16,
    memoryClockKHz = 36,
    memoryBusBits = 37,
    l2Bytes = 38,
    maxThreadsPerMultiprocessor = 39,
    computeMajor = 75,
    computeMinor = 76,
    sharedBytesPerMultiprocessor = 81,
    registersPerMultiprocessor = 82,
};

/// Every call that is used, as X(name, exported symbol, parameters).
#define BULKHEAD_DRIVER_CALLS(X)                                                                              \
    X(cuInit, "cuInit", (unsigned flags))                                                                     \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int* version))                                               \
    X(cuGetErrorName, "cuGetErrorName", (CUresult error, const char** name))                                  \
    X(cuGetErrorString, "cuGetErrorString", (CUresult error, const char** text))                              \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int* count))                                                     \
    X(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))                                           \
    X(cuDeviceGetName, "cuDeviceGetName", (char* name, int length, CUdevice device))                          \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t * bytes, CUdevice device))                        \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int* value, int attribute, CUdevice device))             \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext * context, CUdevice device))           \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice device))                           \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext context))                                                \
    X(cuCtxSynchronize, "cuCtxSynchronize", ())                                                               \
    X(cuModuleLoadData, "cuModuleLoadData", (CUmodule * module, const void* image))                           \
    X(cuModuleUnload, "cuModuleUnload", (CUmodule module))                                                    \
    X(cuModuleGetFunction, "cuModuleGetFunction", (CUfunction * function, CUmodule module, const char* name)) \
    X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * address, std::size_t bytes))                                \
    X(cuMemFree, "cuMemFree_v2", (CUdeviceptr address))                                                       \
    X(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr to, const void* from, std::size_t bytes))                 \
    X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void* to, CUdeviceptr from, std::size_t bytes))                       \
    X(cuMemsetD8, "cuMemsetD8_v2", (CUdeviceptr to, unsigned char value, std::size_t bytes))                  \
    X(cuStreamCreate, "cuStreamCreate", (CUstream * stream, unsigned flags))                                  \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (CUstream stream))                                               \
    X(cuStreamSynchronize, "cuStreamSynchronize", (CUstream stream))                                          \
    X(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))                                      \
    X(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))                                                   \
    X(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))                                       \
    X(cuEventSynchronize, "cuEventSynchronize", (CUevent event))                                              \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float* milliseconds, CUevent start, CUevent end))            \
    X(cuLaunchKernel, "cuLaunchKernel",                                                                       \
      (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, \
       unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters, void** extra))

/// The one interface to a device: a table of driver calls. A real driver's is filled from libcuda.so.1; everything
/// above the table is written once.
struct DriverApi {
#define BULKHEAD_DECLARE_CALL(name, symbol, parameters) CUresult(*name) parameters = nullptr;
    BULKHEAD_DRIVER_CALLS(BULKHEAD_DECLARE_CALL)
#undef BULKHEAD_DECLARE_CALL
};

}  // namespace bulkhead::driver
