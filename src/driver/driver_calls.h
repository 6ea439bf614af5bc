#pragma once

#include "driver/cu_types.h"
#include "driver/image_types.h"

// Every call of the CUDA driver that is used or provided, as X(name, symbol, variant, parameters, arguments):
//   name        member of DriverApi; of a call with several versions, the plain name is the one that every driver has
//   symbol      what libcuda.so.1 exports it as
//   variant     suffix of the symbol whose default stream is the calling thread's own: ptsz or ptds, or none
//   parameters  (declared) and arguments (passed on), in parentheses

#define BULKHEAD_DEVICE_CALLS(X)                                                                                     \
    X(cuInit, cuInit, none, (unsigned flags), (flags))                                                               \
    X(cuDriverGetVersion, cuDriverGetVersion, none, (int* version), (version))                                       \
    X(cuGetErrorName, cuGetErrorName, none, (CUresult error, const char** text), (error, text))                      \
    X(cuGetErrorString, cuGetErrorString, none, (CUresult error, const char** text), (error, text))                  \
    X(cuDeviceGetCount, cuDeviceGetCount, none, (int* count), (count))                                               \
    X(cuDeviceGet, cuDeviceGet, none, (CUdevice * device, int ordinal), (device, ordinal))                           \
    X(cuDeviceGetName, cuDeviceGetName, none, (char* name, int length, CUdevice device), (name, length, device))     \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, none, (CUuuid * uuid, CUdevice device), (uuid, device))                   \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, none, (std::size_t * bytes, CUdevice device), (bytes, device))          \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, none, (int* value, CUdevice_attribute attribute, CUdevice device), \
      (value, attribute, device))                                                                                    \
    X(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, none, (CUdevice * device, const char* pciBusId),                 \
      (device, pciBusId))                                                                                            \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, none, (char* pciBusId, int length, CUdevice device),                 \
      (pciBusId, length, device))                                                                                    \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, none, (int* possible, CUdevice device, CUdevice peer),           \
      (possible, device, peer))                                                                                      \
    X(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, none,                                                        \
      (int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to), (value, attribute, from, to))       \
    X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, none, (CUmemoryPool * pool, CUdevice device),            \
      (pool, device))                                                                                                \
    X(cuDeviceGetMemPool, cuDeviceGetMemPool, none, (CUmemoryPool * pool, CUdevice device), (pool, device))          \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool, none, (CUdevice device, CUmemoryPool pool), (device, pool))

#define BULKHEAD_CONTEXT_CALLS(X)                                                                                     \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, none, (CUcontext * context, CUdevice device),               \
      (context, device))                                                                                              \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, none, (CUdevice device), (device))                     \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, none, (CUdevice device), (device))                         \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, none, (CUdevice device, unsigned* flags, int* active),  \
      (device, flags, active))                                                                                        \
    X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, none, (CUdevice device, unsigned flags),             \
      (device, flags))                                                                                                \
    X(cuCtxCreate, cuCtxCreate_v2, none, (CUcontext * context, unsigned flags, CUdevice device),                      \
      (context, flags, device))                                                                                       \
    X(cuCtxDestroy, cuCtxDestroy_v2, none, (CUcontext context), (context))                                            \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, none, (CUcontext context), (context))                                    \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, none, (CUcontext * context), (context))                                    \
    X(cuCtxSetCurrent, cuCtxSetCurrent, none, (CUcontext context), (context))                                         \
    X(cuCtxGetCurrent, cuCtxGetCurrent, none, (CUcontext * context), (context))                                       \
    X(cuCtxGetDevice, cuCtxGetDevice, none, (CUdevice * device), (device))                                            \
    X(cuCtxGetFlags, cuCtxGetFlags, none, (unsigned* flags), (flags))                                                 \
    X(cuCtxGetApiVersion, cuCtxGetApiVersion, none, (CUcontext context, unsigned* version), (context, version))       \
    X(cuCtxSynchronize, cuCtxSynchronize, none, (), ())                                                               \
    X(cuCtxGetLimit, cuCtxGetLimit, none, (std::size_t * value, CUlimit limit), (value, limit))                       \
    X(cuCtxSetLimit, cuCtxSetLimit, none, (CUlimit limit, std::size_t value), (limit, value))                         \
    X(cuCtxGetCacheConfig, cuCtxGetCacheConfig, none, (CUfunc_cache * config), (config))                              \
    X(cuCtxSetCacheConfig, cuCtxSetCacheConfig, none, (CUfunc_cache config), (config))                                \
    X(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, none, (CUsharedconfig * config), (config))                    \
    X(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, none, (CUsharedconfig config), (config))                      \
    X(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, none, (), ())                                         \
    X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, none, (int* least, int* greatest), (least, greatest)) \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, none, (CUcontext peer, unsigned flags), (peer, flags))            \
    X(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, none, (CUcontext peer), (peer))

#define BULKHEAD_MODULE_CALLS(X)                                                                                       \
    X(cuModuleLoad, cuModuleLoad, none, (CUmodule * module, const char* path), (module, path))                         \
    X(cuModuleLoadData, cuModuleLoadData, none, (CUmodule * module, const void* image), (module, image))               \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, none,                                                                    \
      (CUmodule * module, const void* image, unsigned optionCount, CUjit_option* options, void** optionValues),        \
      (module, image, optionCount, options, optionValues))                                                             \
    X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, none, (CUmodule * module, const void* image), (module, image))     \
    X(cuModuleUnload, cuModuleUnload, none, (CUmodule module), (module))                                               \
    X(cuModuleGetFunction, cuModuleGetFunction, none, (CUfunction * function, CUmodule module, const char* name),      \
      (function, module, name))                                                                                        \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2, none,                                                                   \
      (CUdeviceptr * address, std::size_t * bytes, CUmodule module, const char* name), (address, bytes, module, name)) \
    X(cuModuleGetLoadingMode, cuModuleGetLoadingMode, none, (CUmoduleLoadingMode * mode), (mode))                      \
    X(cuLinkCreate, cuLinkCreate_v2, none,                                                                             \
      (unsigned optionCount, CUjit_option* options, void** optionValues, CUlinkState* state),                          \
      (optionCount, options, optionValues, state))                                                                     \
    X(cuLinkAddData, cuLinkAddData_v2, none,                                                                           \
      (CUlinkState state, CUjitInputType type, void* data, std::size_t bytes, const char* name, unsigned optionCount,  \
       CUjit_option* options, void** optionValues),                                                                    \
      (state, type, data, bytes, name, optionCount, options, optionValues))                                            \
    X(cuLinkAddFile, cuLinkAddFile_v2, none,                                                                           \
      (CUlinkState state, CUjitInputType type, const char* path, unsigned optionCount, CUjit_option* options,          \
       void** optionValues),                                                                                           \
      (state, type, path, optionCount, options, optionValues))                                                         \
    X(cuLinkComplete, cuLinkComplete, none, (CUlinkState state, void** image, std::size_t* bytes),                     \
      (state, image, bytes))                                                                                           \
    X(cuLinkDestroy, cuLinkDestroy, none, (CUlinkState state), (state))

#define BULKHEAD_FUNCTION_CALLS(X)                                                                                     \
    X(cuFuncGetAttribute, cuFuncGetAttribute, none, (int* value, CUfunction_attribute attribute, CUfunction function), \
      (value, attribute, function))                                                                                    \
    X(cuFuncSetAttribute, cuFuncSetAttribute, none, (CUfunction function, CUfunction_attribute attribute, int value),  \
      (function, attribute, value))                                                                                    \
    X(cuFuncSetCacheConfig, cuFuncSetCacheConfig, none, (CUfunction function, CUfunc_cache config),                    \
      (function, config))                                                                                              \
    X(cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, none, (CUfunction function, CUsharedconfig config),          \
      (function, config))                                                                                              \
    X(cuFuncGetModule, cuFuncGetModule, none, (CUmodule * module, CUfunction function), (module, function))            \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, none,                  \
      (int* blocks, CUfunction function, int blockThreads, std::size_t dynamicBytes),                                  \
      (blocks, function, blockThreads, dynamicBytes))                                                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,      \
      none, (int* blocks, CUfunction function, int blockThreads, std::size_t dynamicBytes, unsigned flags),            \
      (blocks, function, blockThreads, dynamicBytes, flags))                                                           \
    X(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, none,                                        \
      (int* gridBlocks, int* blockThreads, CUfunction function, CUoccupancyB2DSize dynamicBytesOf,                     \
       std::size_t dynamicBytes, int limit),                                                                           \
      (gridBlocks, blockThreads, function, dynamicBytesOf, dynamicBytes, limit))                                       \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, cuOccupancyMaxPotentialBlockSizeWithFlags, none,                      \
      (int* gridBlocks, int* blockThreads, CUfunction function, CUoccupancyB2DSize dynamicBytesOf,                     \
       std::size_t dynamicBytes, int limit, unsigned flags),                                                           \
      (gridBlocks, blockThreads, function, dynamicBytesOf, dynamicBytes, limit, flags))                                \
    X(cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyAvailableDynamicSMemPerBlock, none,                          \
      (std::size_t * dynamicBytes, CUfunction function, int blocks, int blockThreads),                                 \
      (dynamicBytes, function, blocks, blockThreads))                                                                  \
    X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, none,                                                \
      (int* clusters, CUfunction function, const CUlaunchConfig* config), (clusters, function, config))                \
    X(cuOccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, none,                                    \
      (int* size, CUfunction function, const CUlaunchConfig* config), (size, function, config))                        \
    X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, none,                                                            \
      (CUtensorMap * map, int type, unsigned rank, void* address, const std::uint64_t* extents,                        \
       const std::uint64_t* strides, const unsigned* box, const unsigned* elementStrides, int interleave, int swizzle, \
       int promotion, int fill),                                                                                       \
      (map, type, rank, address, extents, strides, box, elementStrides, interleave, swizzle, promotion, fill))         \
    X(cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2col, none,                                                          \
      (CUtensorMap * map, int type, unsigned rank, void* address, const std::uint64_t* extents,                        \
       const std::uint64_t* strides, const int* lower, const int* upper, unsigned channels, unsigned pixels,           \
       const unsigned* elementStrides, int interleave, int swizzle, int promotion, int fill),                          \
      (map, type, rank, address, extents, strides, lower, upper, channels, pixels, elementStrides, interleave,         \
       swizzle, promotion, fill))                                                                                      \
    X(cuTensorMapReplaceAddress, cuTensorMapReplaceAddress, none, (CUtensorMap * map, void* address), (map, address))

#define BULKHEAD_MEMORY_CALLS(X)                                                                                       \
    X(cuMemGetInfo, cuMemGetInfo_v2, none, (std::size_t * free, std::size_t * total), (free, total))                   \
    X(cuMemAlloc, cuMemAlloc_v2, none, (CUdeviceptr * address, std::size_t bytes), (address, bytes))                   \
    X(cuMemAllocPitch, cuMemAllocPitch_v2, none,                                                                       \
      (CUdeviceptr * address, std::size_t * pitch, std::size_t widthBytes, std::size_t height, unsigned elementBytes), \
      (address, pitch, widthBytes, height, elementBytes))                                                              \
    X(cuMemFree, cuMemFree_v2, none, (CUdeviceptr address), (address))                                                 \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2, none,                                                             \
      (CUdeviceptr * base, std::size_t * bytes, CUdeviceptr address), (base, bytes, address))                          \
    X(cuMemAllocHost, cuMemAllocHost_v2, none, (void** address, std::size_t bytes), (address, bytes))                  \
    X(cuMemFreeHost, cuMemFreeHost, none, (void* pointer), (pointer))                                                  \
    X(cuMemHostAlloc, cuMemHostAlloc, none, (void** address, std::size_t bytes, unsigned flags),                       \
      (address, bytes, flags))                                                                                         \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, none,                                                   \
      (CUdeviceptr * address, void* pointer, unsigned flags), (address, pointer, flags))                               \
    X(cuMemHostGetFlags, cuMemHostGetFlags, none, (unsigned* flags, void* pointer), (flags, pointer))                  \
    X(cuMemHostRegister, cuMemHostRegister_v2, none, (void* pointer, std::size_t bytes, unsigned flags),               \
      (pointer, bytes, flags))                                                                                         \
    X(cuMemHostUnregister, cuMemHostUnregister, none, (void* pointer), (pointer))                                      \
    X(cuMemAllocManaged, cuMemAllocManaged, none, (CUdeviceptr * address, std::size_t bytes, unsigned flags),          \
      (address, bytes, flags))                                                                                         \
    X(cuMemAdvise, cuMemAdvise, none, (CUdeviceptr address, std::size_t count, CUmem_advise advice, CUdevice device),  \
      (address, count, advice, device))                                                                                \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync, ptsz,                                                                    \
      (CUdeviceptr address, std::size_t count, CUdevice to, CUstream stream), (address, count, to, stream))            \
    X(cuPointerGetAttribute, cuPointerGetAttribute, none,                                                              \
      (void* data, CUpointer_attribute attribute, CUdeviceptr address), (data, attribute, address))                    \
    X(cuPointerGetAttributes, cuPointerGetAttributes, none,                                                            \
      (unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address),                             \
      (count, attributes, data, address))                                                                              \
    X(cuPointerSetAttribute, cuPointerSetAttribute, none,                                                              \
      (const void* value, CUpointer_attribute attribute, CUdeviceptr address), (value, attribute, address))

#define BULKHEAD_COPY_CALLS(X)                                                                                         \
    X(cuMemcpy, cuMemcpy, ptds, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), (to, from, bytes))              \
    X(cuMemcpyAsync, cuMemcpyAsync, ptsz, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),      \
      (to, from, bytes, stream))                                                                                       \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, ptds, (CUdeviceptr to, const void* from, std::size_t bytes), (to, from, bytes))   \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, ptds, (void* to, CUdeviceptr from, std::size_t bytes), (to, from, bytes))         \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, ptds, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), (to, from, bytes))   \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, ptsz,                                                                   \
      (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream), (to, from, bytes, stream))               \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, ptsz, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream), \
      (to, from, bytes, stream))                                                                                       \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, ptsz,                                                                   \
      (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream), (to, from, bytes, stream))               \
    X(cuMemcpyPeer, cuMemcpyPeer, ptds,                                                                                \
      (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, std::size_t bytes),               \
      (to, toContext, from, fromContext, bytes))                                                                       \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, ptsz,                                                                      \
      (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, std::size_t bytes,                \
       CUstream stream),                                                                                               \
      (to, toContext, from, fromContext, bytes, stream))                                                               \
    X(cuMemcpy2D, cuMemcpy2D_v2, ptds, (const CUDA_MEMCPY2D* copy), (copy))                                            \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, ptds, (const CUDA_MEMCPY2D* copy), (copy))                          \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, ptsz, (const CUDA_MEMCPY2D* copy, CUstream stream), (copy, stream))         \
    X(cuMemcpy3D, cuMemcpy3D_v2, ptds, (const CUDA_MEMCPY3D* copy), (copy))                                            \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, ptsz, (const CUDA_MEMCPY3D* copy, CUstream stream), (copy, stream))         \
    X(cuMemsetD8, cuMemsetD8_v2, ptds, (CUdeviceptr to, unsigned char value, std::size_t count), (to, value, count))   \
    X(cuMemsetD16, cuMemsetD16_v2, ptds, (CUdeviceptr to, unsigned short value, std::size_t count),                    \
      (to, value, count))                                                                                              \
    X(cuMemsetD32, cuMemsetD32_v2, ptds, (CUdeviceptr to, unsigned value, std::size_t count), (to, value, count))      \
    X(cuMemsetD2D8, cuMemsetD2D8_v2, ptds,                                                                             \
      (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height),                 \
      (to, pitch, value, width, height))                                                                               \
    X(cuMemsetD2D16, cuMemsetD2D16_v2, ptds,                                                                           \
      (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height),                \
      (to, pitch, value, width, height))                                                                               \
    X(cuMemsetD2D32, cuMemsetD2D32_v2, ptds,                                                                           \
      (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height),                      \
      (to, pitch, value, width, height))                                                                               \
    X(cuMemsetD8Async, cuMemsetD8Async, ptsz,                                                                          \
      (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream), (to, value, count, stream))           \
    X(cuMemsetD16Async, cuMemsetD16Async, ptsz,                                                                        \
      (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream), (to, value, count, stream))          \
    X(cuMemsetD32Async, cuMemsetD32Async, ptsz, (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream),  \
      (to, value, count, stream))                                                                                      \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async, ptsz,                                                                      \
      (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,                  \
       CUstream stream),                                                                                               \
      (to, pitch, value, width, height, stream))                                                                       \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async, ptsz,                                                                    \
      (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height,                 \
       CUstream stream),                                                                                               \
      (to, pitch, value, width, height, stream))                                                                       \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async, ptsz,                                                                    \
      (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height, CUstream stream),     \
      (to, pitch, value, width, height, stream))

#define BULKHEAD_IMAGE_CALLS(X)                                                                                        \
    X(cuArrayCreate, cuArrayCreate_v2, none, (CUarray * array, const CUDA_ARRAY_DESCRIPTOR* description),              \
      (array, description))                                                                                            \
    X(cuArrayGetDescriptor, cuArrayGetDescriptor_v2, none, (CUDA_ARRAY_DESCRIPTOR * description, CUarray array),       \
      (description, array))                                                                                            \
    X(cuArrayDestroy, cuArrayDestroy, none, (CUarray array), (array))                                                  \
    X(cuArray3DCreate, cuArray3DCreate_v2, none, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR* description),        \
      (array, description))                                                                                            \
    X(cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2, none, (CUDA_ARRAY3D_DESCRIPTOR * description, CUarray array), \
      (description, array))                                                                                            \
    X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, none,                                                            \
      (CUmipmappedArray * array, const CUDA_ARRAY3D_DESCRIPTOR* description, unsigned levels),                         \
      (array, description, levels))                                                                                    \
    X(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel, none,                                                        \
      (CUarray * level, CUmipmappedArray array, unsigned index), (level, array, index))                                \
    X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, none, (CUmipmappedArray array), (array))                       \
    X(cuMemcpyDtoA, cuMemcpyDtoA_v2, ptds, (CUarray to, std::size_t toOffset, CUdeviceptr from, std::size_t bytes),    \
      (to, toOffset, from, bytes))                                                                                     \
    X(cuMemcpyAtoD, cuMemcpyAtoD_v2, ptds, (CUdeviceptr to, CUarray from, std::size_t fromOffset, std::size_t bytes),  \
      (to, from, fromOffset, bytes))                                                                                   \
    X(cuMemcpyHtoA, cuMemcpyHtoA_v2, ptds, (CUarray to, std::size_t toOffset, const void* from, std::size_t bytes),    \
      (to, toOffset, from, bytes))                                                                                     \
    X(cuMemcpyAtoH, cuMemcpyAtoH_v2, ptds, (void* to, CUarray from, std::size_t fromOffset, std::size_t bytes),        \
      (to, from, fromOffset, bytes))                                                                                   \
    X(cuMemcpyAtoA, cuMemcpyAtoA_v2, ptds,                                                                             \
      (CUarray to, std::size_t toOffset, CUarray from, std::size_t fromOffset, std::size_t bytes),                     \
      (to, toOffset, from, fromOffset, bytes))                                                                         \
    X(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2, ptsz,                                                                   \
      (CUarray to, std::size_t toOffset, const void* from, std::size_t bytes, CUstream stream),                        \
      (to, toOffset, from, bytes, stream))                                                                             \
    X(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2, ptsz,                                                                   \
      (void* to, CUarray from, std::size_t fromOffset, std::size_t bytes, CUstream stream),                            \
      (to, from, fromOffset, bytes, stream))                                                                           \
    X(cuTexObjectCreate, cuTexObjectCreate, none,                                                                      \
      (CUtexObject * texture, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* description,                \
       const CUDA_RESOURCE_VIEW_DESC* view),                                                                           \
      (texture, resource, description, view))                                                                          \
    X(cuTexObjectDestroy, cuTexObjectDestroy, none, (CUtexObject texture), (texture))                                  \
    X(cuTexObjectGetResourceDesc, cuTexObjectGetResourceDesc, none,                                                    \
      (CUDA_RESOURCE_DESC * resource, CUtexObject texture), (resource, texture))                                       \
    X(cuTexObjectGetTextureDesc, cuTexObjectGetTextureDesc, none,                                                      \
      (CUDA_TEXTURE_DESC * description, CUtexObject texture), (description, texture))                                  \
    X(cuTexObjectGetResourceViewDesc, cuTexObjectGetResourceViewDesc, none,                                            \
      (CUDA_RESOURCE_VIEW_DESC * view, CUtexObject texture), (view, texture))                                          \
    X(cuSurfObjectCreate, cuSurfObjectCreate, none, (CUsurfObject * surface, const CUDA_RESOURCE_DESC* resource),      \
      (surface, resource))                                                                                             \
    X(cuSurfObjectDestroy, cuSurfObjectDestroy, none, (CUsurfObject surface), (surface))                               \
    X(cuSurfObjectGetResourceDesc, cuSurfObjectGetResourceDesc, none,                                                  \
      (CUDA_RESOURCE_DESC * resource, CUsurfObject surface), (resource, surface))                                      \
    X(cuDeviceGetTexture1DLinearMaxWidth, cuDeviceGetTexture1DLinearMaxWidth, none,                                    \
      (std::size_t * texels, CUarray_format format, unsigned channels, CUdevice device),                               \
      (texels, format, channels, device))

#define BULKHEAD_POOL_CALLS(X)                                                                                        \
    X(cuMemAllocAsync, cuMemAllocAsync, ptsz, (CUdeviceptr * address, std::size_t bytes, CUstream stream),            \
      (address, bytes, stream))                                                                                       \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, ptsz,                                                         \
      (CUdeviceptr * address, std::size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, stream)) \
    X(cuMemFreeAsync, cuMemFreeAsync, ptsz, (CUdeviceptr address, CUstream stream), (address, stream))                \
    X(cuMemPoolCreate, cuMemPoolCreate, none, (CUmemoryPool * pool, const CUmemPoolProps* properties),                \
      (pool, properties))                                                                                             \
    X(cuMemPoolDestroy, cuMemPoolDestroy, none, (CUmemoryPool pool), (pool))                                          \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, none,                                                             \
      (CUmemoryPool pool, CUmemPool_attribute attribute, void* value), (pool, attribute, value))                      \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, none,                                                             \
      (CUmemoryPool pool, CUmemPool_attribute attribute, void* value), (pool, attribute, value))                      \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo, none, (CUmemoryPool pool, std::size_t keepBytes), (pool, keepBytes))          \
    X(cuMemPoolSetAccess, cuMemPoolSetAccess, none,                                                                   \
      (CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count), (pool, access, count))                   \
    X(cuMemPoolGetAccess, cuMemPoolGetAccess, none,                                                                   \
      (CUmemAccess_flags * flags, CUmemoryPool pool, CUmemLocation * location), (flags, pool, location))

#define BULKHEAD_VIRTUAL_MEMORY_CALLS(X)                                                                               \
    X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, none,                                              \
      (std::size_t * granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option),     \
      (granularity, properties, option))                                                                               \
    X(cuMemAddressReserve, cuMemAddressReserve, none,                                                                  \
      (CUdeviceptr * address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted, unsigned long long flags), \
      (address, bytes, alignment, wanted, flags))                                                                      \
    X(cuMemAddressFree, cuMemAddressFree, none, (CUdeviceptr address, std::size_t bytes), (address, bytes))            \
    X(cuMemCreate, cuMemCreate, none,                                                                                  \
      (CUmemGenericAllocationHandle * handle, std::size_t bytes, const CUmemAllocationProp* properties,                \
       unsigned long long flags),                                                                                      \
      (handle, bytes, properties, flags))                                                                              \
    X(cuMemRelease, cuMemRelease, none, (CUmemGenericAllocationHandle handle), (handle))                               \
    X(cuMemMap, cuMemMap, none,                                                                                        \
      (CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,                \
       unsigned long long flags),                                                                                      \
      (address, bytes, offset, handle, flags))                                                                         \
    X(cuMemUnmap, cuMemUnmap, none, (CUdeviceptr address, std::size_t bytes), (address, bytes))                        \
    X(cuMemSetAccess, cuMemSetAccess, none,                                                                            \
      (CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* description, std::size_t count),                 \
      (address, bytes, description, count))                                                                            \
    X(cuMemGetAccess, cuMemGetAccess, none,                                                                            \
      (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address), (flags, location, address))     \
    X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, none,                                                  \
      (CUmemGenericAllocationHandle * handle, void* wanted), (handle, wanted))                                         \
    X(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle, none,                            \
      (CUmemAllocationProp * properties, CUmemGenericAllocationHandle handle), (properties, handle))                   \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, none,                                                \
      (void* shareable, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,                           \
       unsigned long long flags),                                                                                      \
      (shareable, handle, type, flags))                                                                                \
    X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, none,                                            \
      (CUmemGenericAllocationHandle * handle, void* shareable, CUmemAllocationHandleType type),                        \
      (handle, shareable, type))

#define BULKHEAD_STREAM_CALLS(X)                                                                                       \
    X(cuStreamCreate, cuStreamCreate, none, (CUstream * stream, unsigned flags), (stream, flags))                      \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, none, (CUstream * stream, unsigned flags, int priority), \
      (stream, flags, priority))                                                                                       \
    X(cuStreamDestroy, cuStreamDestroy_v2, none, (CUstream stream), (stream))                                          \
    X(cuStreamQuery, cuStreamQuery, ptsz, (CUstream stream), (stream))                                                 \
    X(cuStreamSynchronize, cuStreamSynchronize, ptsz, (CUstream stream), (stream))                                     \
    X(cuStreamWaitEvent, cuStreamWaitEvent, ptsz, (CUstream stream, CUevent event, unsigned flags),                    \
      (stream, event, flags))                                                                                          \
    X(cuStreamAddCallback, cuStreamAddCallback, ptsz,                                                                  \
      (CUstream stream, CUstreamCallback callback, void* data, unsigned flags), (stream, callback, data, flags))       \
    X(cuStreamGetFlags, cuStreamGetFlags, ptsz, (CUstream stream, unsigned* flags), (stream, flags))                   \
    X(cuStreamGetPriority, cuStreamGetPriority, ptsz, (CUstream stream, int* priority), (stream, priority))            \
    X(cuStreamSetAttribute, cuStreamSetAttribute, ptsz,                                                                \
      (CUstream stream, CUlaunchAttributeID id, const CUlaunchAttributeValue* value), (stream, id, value))             \
    X(cuStreamGetAttribute, cuStreamGetAttribute, ptsz,                                                                \
      (CUstream stream, CUlaunchAttributeID id, CUlaunchAttributeValue * value), (stream, id, value))                  \
    X(cuStreamCopyAttributes, cuStreamCopyAttributes, ptsz, (CUstream to, CUstream from), (to, from))                  \
    X(cuStreamGetCtx, cuStreamGetCtx, ptsz, (CUstream stream, CUcontext * context), (stream, context))                 \
    X(cuStreamAttachMemAsync, cuStreamAttachMemAsync, ptsz,                                                            \
      (CUstream stream, CUdeviceptr address, std::size_t length, unsigned flags), (stream, address, length, flags))    \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, ptsz, (CUstream stream, CUstreamCaptureMode mode),                \
      (stream, mode))                                                                                                  \
    X(cuStreamEndCapture, cuStreamEndCapture, ptsz, (CUstream stream, CUgraph * graph), (stream, graph))               \
    X(cuStreamIsCapturing, cuStreamIsCapturing, ptsz, (CUstream stream, CUstreamCaptureStatus * status),               \
      (stream, status))                                                                                                \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, none, (CUstreamCaptureMode * mode), (mode))

#define BULKHEAD_EVENT_CALLS(X)                                                                               \
    X(cuEventCreate, cuEventCreate, none, (CUevent * event, unsigned flags), (event, flags))                  \
    X(cuEventDestroy, cuEventDestroy_v2, none, (CUevent event), (event))                                      \
    X(cuEventRecord, cuEventRecord, ptsz, (CUevent event, CUstream stream), (event, stream))                  \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags, ptsz, (CUevent event, CUstream stream, unsigned flags), \
      (event, stream, flags))                                                                                 \
    X(cuEventQuery, cuEventQuery, none, (CUevent event), (event))                                             \
    X(cuEventSynchronize, cuEventSynchronize, none, (CUevent event), (event))                                 \
    X(cuEventElapsedTime, cuEventElapsedTime, none, (float* milliseconds, CUevent start, CUevent end),        \
      (milliseconds, start, end))

#define BULKHEAD_LAUNCH_CALLS(X)                                                                              \
    X(cuLaunchKernel, cuLaunchKernel, ptsz,                                                                   \
      (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, \
       unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters, void** extra),              \
      (function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, parameters, extra))        \
    X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, ptsz,                                             \
      (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, \
       unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters),                            \
      (function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, parameters))               \
    X(cuLaunchHostFunc, cuLaunchHostFunc, ptsz, (CUstream stream, CUhostFn function, void* data),             \
      (stream, function, data))                                                                               \
    X(cuProfilerStart, cuProfilerStart, none, (), ())                                                         \
    X(cuProfilerStop, cuProfilerStop, none, (), ())

#define BULKHEAD_DEVICE_NEWER_CALLS(X)                                                                                \
    X(cuGetProcAddress, cuGetProcAddress, none,                                                                       \
      (const char* symbol, void** address, int version, std::uint64_t flags), (symbol, address, version, flags))      \
    X(cuGetProcAddress_v2, cuGetProcAddress_v2, none,                                                                 \
      (const char* symbol, void** address, int version, std::uint64_t flags, CUdriverProcAddressQueryResult* status), \
      (symbol, address, version, flags, status))

#define BULKHEAD_CONTEXT_NEWER_CALLS(X)                                                                            \
    X(cuCtxCreate_v3, cuCtxCreate_v3, none,                                                                        \
      (CUcontext * context, CUexecAffinityParam * affinities, int affinityCount, unsigned flags, CUdevice device), \
      (context, affinities, affinityCount, flags, device))                                                         \
    X(cuCtxCreate_v4, cuCtxCreate_v4, none,                                                                        \
      (CUcontext * context, CUctxCreateParams * settings, unsigned flags, CUdevice device),                        \
      (context, settings, flags, device))                                                                          \
    X(cuCtxGetId, cuCtxGetId, none, (CUcontext context, unsigned long long* id), (context, id))                    \
    X(cuCtxSetFlags, cuCtxSetFlags, none, (unsigned flags), (flags))                                               \
    X(cuCtxGetDevice_v2, cuCtxGetDevice_v2, none, (CUdevice * device, CUcontext context), (device, context))       \
    X(cuCtxSynchronize_v2, cuCtxSynchronize_v2, none, (CUcontext context), (context))                              \
    X(cuCtxRecordEvent, cuCtxRecordEvent, none, (CUcontext green, CUevent event), (green, event))                  \
    X(cuCtxWaitEvent, cuCtxWaitEvent, none, (CUcontext green, CUevent event), (green, event))

#define BULKHEAD_LIBRARY_CALLS(X)                                                                                     \
    X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, none, (unsigned* count, CUmodule module), (count, module))  \
    X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, none,                                                   \
      (CUfunction * functions, unsigned count, CUmodule module), (functions, count, module))                          \
    X(cuLibraryLoadData, cuLibraryLoadData, none,                                                                     \
      (CUlibrary * library, const void* image, CUjit_option* options, void** optionValues, unsigned optionCount,      \
       CUlibraryOption* libraryOptions, void** libraryValues, unsigned libraryOptionCount),                           \
      (library, image, options, optionValues, optionCount, libraryOptions, libraryValues, libraryOptionCount))        \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, none,                                                             \
      (CUlibrary * library, const char* path, CUjit_option* options, void** optionValues, unsigned optionCount,       \
       CUlibraryOption* libraryOptions, void** libraryValues, unsigned libraryOptionCount),                           \
      (library, path, options, optionValues, optionCount, libraryOptions, libraryValues, libraryOptionCount))         \
    X(cuLibraryUnload, cuLibraryUnload, none, (CUlibrary library), (library))                                         \
    X(cuLibraryGetKernel, cuLibraryGetKernel, none, (CUkernel * kernel, CUlibrary library, const char* name),         \
      (kernel, library, name))                                                                                        \
    X(cuLibraryGetModule, cuLibraryGetModule, none, (CUmodule * mod, CUlibrary library), (mod, library))              \
    X(cuLibraryGetGlobal, cuLibraryGetGlobal, none,                                                                   \
      (CUdeviceptr * address, std::size_t * bytes, CUlibrary library, const char* name),                              \
      (address, bytes, library, name))                                                                                \
    X(cuLibraryGetManaged, cuLibraryGetManaged, none,                                                                 \
      (CUdeviceptr * address, std::size_t * bytes, CUlibrary library, const char* name),                              \
      (address, bytes, library, name))                                                                                \
    X(cuLibraryGetKernelCount, cuLibraryGetKernelCount, none, (unsigned* count, CUlibrary library), (count, library)) \
    X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, none,                                                     \
      (CUkernel * kernels, unsigned count, CUlibrary library), (kernels, count, library))                             \
    X(cuKernelGetFunction, cuKernelGetFunction, none, (CUfunction * func, CUkernel kernel), (func, kernel))           \
    X(cuKernelGetLibrary, cuKernelGetLibrary, none, (CUlibrary * lib, CUkernel kernel), (lib, kernel))                \
    X(cuKernelGetAttribute, cuKernelGetAttribute, none,                                                               \
      (int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device),                                 \
      (value, attribute, kernel, device))                                                                             \
    X(cuKernelSetAttribute, cuKernelSetAttribute, none,                                                               \
      (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device),                                  \
      (attribute, value, kernel, device))                                                                             \
    X(cuKernelSetCacheConfig, cuKernelSetCacheConfig, none, (CUkernel kernel, CUfunc_cache config, CUdevice device),  \
      (kernel, config, device))                                                                                       \
    X(cuKernelGetName, cuKernelGetName, none, (const char** name, CUkernel function), (name, function))               \
    X(cuKernelGetParamInfo, cuKernelGetParamInfo, none,                                                               \
      (CUkernel kernel, std::size_t index, std::size_t * offset, std::size_t * bytes), (kernel, index, offset, bytes))

#define BULKHEAD_FUNCTION_NEWER_CALLS(X)                                                                              \
    X(cuFuncGetName, cuFuncGetName, none, (const char** name, CUfunction function), (name, function))                 \
    X(cuFuncGetParamInfo, cuFuncGetParamInfo, none,                                                                   \
      (CUfunction function, std::size_t index, std::size_t * offset, std::size_t * bytes),                            \
      (function, index, offset, bytes))                                                                               \
    X(cuFuncIsLoaded, cuFuncIsLoaded, none, (CUfunctionLoadingState * state, CUfunction function), (state, function)) \
    X(cuFuncLoad, cuFuncLoad, none, (CUfunction function), (function))

#define BULKHEAD_MEMORY_NEWER_CALLS(X)                                                                       \
    X(cuMemAdvise_v2, cuMemAdvise_v2, none,                                                                  \
      (CUdeviceptr address, std::size_t count, CUmem_advise advice, CUmemLocation location),                 \
      (address, count, advice, location))                                                                    \
    X(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2, ptsz,                                                    \
      (CUdeviceptr address, std::size_t count, CUmemLocation location, unsigned flags, CUstream stream),     \
      (address, count, location, flags, stream))                                                             \
    X(cuStreamGetId, cuStreamGetId, ptsz, (CUstream stream, unsigned long long* id), (stream, id))           \
    X(cuStreamGetDevice, cuStreamGetDevice, ptsz, (CUstream stream, CUdevice * device), (stream, device))    \
    X(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2, ptsz,                                            \
      (CUstream stream, CUstreamCaptureStatus * status, std::uint64_t * id, CUgraph * graph,                 \
       const CUgraphNode** dependencies, std::size_t* dependencyCount),                                      \
      (stream, status, id, graph, dependencies, dependencyCount))                                            \
    X(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3, ptsz,                                            \
      (CUstream stream, CUstreamCaptureStatus * status, std::uint64_t * id, CUgraph * graph,                 \
       const CUgraphNode** dependencies, const CUgraphEdgeData** edges, std::size_t* dependencyCount),       \
      (stream, status, id, graph, dependencies, edges, dependencyCount))                                     \
    X(cuEventElapsedTime_v2, cuEventElapsedTime_v2, none, (float* milliseconds, CUevent start, CUevent end), \
      (milliseconds, start, end))                                                                            \
    X(cuLaunchKernelEx, cuLaunchKernelEx, ptsz,                                                              \
      (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra),                  \
      (config, function, parameters, extra))

#define BULKHEAD_GREEN_CONTEXT_CALLS(X)                                                                                \
    X(cuDeviceGetDevResource, cuDeviceGetDevResource, none,                                                            \
      (CUdevice device, CUdevResource * resource, CUdevResourceType type), (device, resource, type))                   \
    X(cuDevSmResourceSplitByCount, cuDevSmResourceSplitByCount, none,                                                  \
      (CUdevResource * result, unsigned* groups, const CUdevResource* input, CUdevResource* remaining, unsigned flags, \
       unsigned minimum),                                                                                              \
      (result, groups, input, remaining, flags, minimum))                                                              \
    X(cuDevResourceGenerateDesc, cuDevResourceGenerateDesc, none,                                                      \
      (CUdevResourceDesc * description, CUdevResource * resources, unsigned count), (description, resources, count))   \
    X(cuGreenCtxCreate, cuGreenCtxCreate, none,                                                                        \
      (CUgreenCtx * green, CUdevResourceDesc description, CUdevice device, unsigned flags),                            \
      (green, description, device, flags))                                                                             \
    X(cuGreenCtxDestroy, cuGreenCtxDestroy, none, (CUgreenCtx green), (green))                                         \
    X(cuCtxFromGreenCtx, cuCtxFromGreenCtx, none, (CUcontext * context, CUgreenCtx green), (context, green))           \
    X(cuCtxGetDevResource, cuCtxGetDevResource, none,                                                                  \
      (CUcontext green, CUdevResource * resource, CUdevResourceType type), (green, resource, type))                    \
    X(cuGreenCtxGetDevResource, cuGreenCtxGetDevResource, none,                                                        \
      (CUgreenCtx green, CUdevResource * resource, CUdevResourceType type), (green, resource, type))                   \
    X(cuGreenCtxRecordEvent, cuGreenCtxRecordEvent, none, (CUgreenCtx green, CUevent event), (green, event))           \
    X(cuGreenCtxWaitEvent, cuGreenCtxWaitEvent, none, (CUgreenCtx green, CUevent event), (green, event))               \
    X(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, none,                                                            \
      (CUstream * stream, CUgreenCtx green, unsigned flags, int priority), (stream, green, flags, priority))           \
    X(cuGreenCtxGetId, cuGreenCtxGetId, none, (CUgreenCtx green, unsigned long long* id), (green, id))                 \
    X(cuStreamGetGreenCtx, cuStreamGetGreenCtx, none, (CUstream stream, CUgreenCtx * green), (stream, green))

#define BULKHEAD_GRAPH_CALLS(X)                                                                                        \
    X(cuGraphCreate, cuGraphCreate, none, (CUgraph * graph, unsigned flags), (graph, flags))                           \
    X(cuGraphDestroy, cuGraphDestroy, none, (CUgraph graph), (graph))                                                  \
    X(cuGraphClone, cuGraphClone, none, (CUgraph * clone, CUgraph original), (clone, original))                        \
    X(cuGraphNodeFindInClone, cuGraphNodeFindInClone, none, (CUgraphNode * node, CUgraphNode original, CUgraph clone), \
      (node, original, clone))                                                                                         \
    X(cuGraphDestroyNode, cuGraphDestroyNode, none, (CUgraphNode node), (node))                                        \
    X(cuGraphNodeGetType, cuGraphNodeGetType, none, (CUgraphNode node, CUgraphNodeType * type), (node, type))          \
    X(cuGraphGetNodes, cuGraphGetNodes, none, (CUgraph graph, CUgraphNode * nodes, std::size_t * count),               \
      (graph, nodes, count))                                                                                           \
    X(cuGraphGetRootNodes, cuGraphGetRootNodes, none, (CUgraph graph, CUgraphNode * nodes, std::size_t * count),       \
      (graph, nodes, count))                                                                                           \
    X(cuGraphGetEdges, cuGraphGetEdges, none,                                                                          \
      (CUgraph graph, CUgraphNode * from, CUgraphNode * to, std::size_t * count), (graph, from, to, count))            \
    X(cuGraphGetEdges_v2, cuGraphGetEdges_v2, none,                                                                    \
      (CUgraph graph, CUgraphNode * from, CUgraphNode * to, CUgraphEdgeData * data, std::size_t * count),              \
      (graph, from, to, data, count))                                                                                  \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies, none,                                                    \
      (CUgraphNode node, CUgraphNode * dependencies, std::size_t * count), (node, dependencies, count))                \
    X(cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependencies_v2, none,                                              \
      (CUgraphNode node, CUgraphNode * dependencies, CUgraphEdgeData * data, std::size_t * count),                     \
      (node, dependencies, data, count))                                                                               \
    X(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes, none,                                                \
      (CUgraphNode node, CUgraphNode * dependents, std::size_t * count), (node, dependents, count))                    \
    X(cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetDependentNodes_v2, none,                                          \
      (CUgraphNode node, CUgraphNode * dependents, CUgraphEdgeData * data, std::size_t * count),                       \
      (node, dependents, data, count))                                                                                 \
    X(cuGraphAddDependencies, cuGraphAddDependencies, none,                                                            \
      (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count), (graph, from, to, count))    \
    X(cuGraphAddDependencies_v2, cuGraphAddDependencies_v2, none,                                                      \
      (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, std::size_t count), \
      (graph, from, to, data, count))                                                                                  \
    X(cuGraphRemoveDependencies, cuGraphRemoveDependencies, none,                                                      \
      (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count), (graph, from, to, count))    \
    X(cuGraphRemoveDependencies_v2, cuGraphRemoveDependencies_v2, none,                                                \
      (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, std::size_t count), \
      (graph, from, to, data, count))                                                                                  \
    X(cuGraphDebugDotPrint, cuGraphDebugDotPrint, none, (CUgraph graph, const char* path, unsigned flags),             \
      (graph, path, flags))                                                                                            \
    X(cuUserObjectCreate, cuUserObjectCreate, none,                                                                    \
      (CUuserObject * object, void* data, CUhostFn destroy, unsigned references, unsigned flags),                      \
      (object, data, destroy, references, flags))                                                                      \
    X(cuUserObjectRetain, cuUserObjectRetain, none, (CUuserObject object, unsigned count), (object, count))            \
    X(cuUserObjectRelease, cuUserObjectRelease, none, (CUuserObject object, unsigned count), (object, count))          \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject, none,                                                          \
      (CUgraph graph, CUuserObject object, unsigned count, unsigned flags), (graph, object, count, flags))             \
    X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, none, (CUgraph graph, CUuserObject object, unsigned count),  \
      (graph, object, count))

#define BULKHEAD_GRAPH_NODE_CALLS(X)                                                                                  \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode, none,                                                               \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       const CUDA_KERNEL_NODE_PARAMS_v1* settings),                                                                   \
      (node, graph, dependencies, count, settings))                                                                   \
    X(cuGraphAddKernelNode_v2, cuGraphAddKernelNode_v2, none,                                                         \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       const CUDA_KERNEL_NODE_PARAMS* settings),                                                                      \
      (node, graph, dependencies, count, settings))                                                                   \
    X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams, none,                                                   \
      (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 * settings), (node, settings))                                    \
    X(cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeGetParams_v2, none,                                             \
      (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS * settings), (node, settings))                                       \
    X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams, none,                                                   \
      (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* settings), (node, settings))                               \
    X(cuGraphKernelNodeSetParams_v2, cuGraphKernelNodeSetParams_v2, none,                                             \
      (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* settings), (node, settings))                                  \
    X(cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, none, (CUgraphNode to, CUgraphNode from),     \
      (to, from))                                                                                                     \
    X(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, none,                                             \
      (CUgraphNode node, CUlaunchAttributeID attribute, CUlaunchAttributeValue * value), (node, attribute, value))    \
    X(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute, none,                                             \
      (CUgraphNode node, CUlaunchAttributeID attribute, const CUlaunchAttributeValue* value),                         \
      (node, attribute, value))                                                                                       \
    X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, none,                                                               \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       const CUDA_MEMCPY3D* copy, CUcontext context),                                                                 \
      (node, graph, dependencies, count, copy, context))                                                              \
    X(cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams, none, (CUgraphNode node, CUDA_MEMCPY3D * copy),         \
      (node, copy))                                                                                                   \
    X(cuGraphMemcpyNodeSetParams, cuGraphMemcpyNodeSetParams, none, (CUgraphNode node, const CUDA_MEMCPY3D* copy),    \
      (node, copy))                                                                                                   \
    X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, none,                                                               \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context),                                                       \
      (node, graph, dependencies, count, fill, context))                                                              \
    X(cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, none,                                                   \
      (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS * fill), (node, fill))                                               \
    X(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, none,                                                   \
      (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill), (node, fill))                                          \
    X(cuGraphAddHostNode, cuGraphAddHostNode, none,                                                                   \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       const CUDA_HOST_NODE_PARAMS* settings),                                                                        \
      (node, graph, dependencies, count, settings))                                                                   \
    X(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams, none, (CUgraphNode node, CUDA_HOST_NODE_PARAMS * settings), \
      (node, settings))                                                                                               \
    X(cuGraphHostNodeSetParams, cuGraphHostNodeSetParams, none,                                                       \
      (CUgraphNode node, const CUDA_HOST_NODE_PARAMS* settings), (node, settings))                                    \
    X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, none,                                                       \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, CUgraph child),         \
      (node, graph, dependencies, count, child))                                                                      \
    X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, none, (CUgraphNode node, CUgraph * child),        \
      (node, child))                                                                                                  \
    X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, none,                                                                 \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count),                        \
      (node, graph, dependencies, count))                                                                             \
    X(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, none,                                                     \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, CUevent event),         \
      (node, graph, dependencies, count, event))                                                                      \
    X(cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent, none, (CUgraphNode node, CUevent * event),      \
      (node, event))                                                                                                  \
    X(cuGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent, none, (CUgraphNode node, CUevent event),        \
      (node, event))                                                                                                  \
    X(cuGraphAddEventWaitNode, cuGraphAddEventWaitNode, none,                                                         \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, CUevent event),         \
      (node, graph, dependencies, count, event))                                                                      \
    X(cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent, none, (CUgraphNode node, CUevent * event),          \
      (node, event))                                                                                                  \
    X(cuGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent, none, (CUgraphNode node, CUevent event),            \
      (node, event))                                                                                                  \
    X(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, none,                                                           \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       CUDA_MEM_ALLOC_NODE_PARAMS* settings),                                                                         \
      (node, graph, dependencies, count, settings))                                                                   \
    X(cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, none,                                               \
      (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS * settings), (node, settings))                                    \
    X(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, none,                                                             \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count, CUdeviceptr address),   \
      (node, graph, dependencies, count, address))                                                                    \
    X(cuGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, none, (CUgraphNode node, CUdeviceptr * address),      \
      (node, address))                                                                                                \
    X(cuGraphAddNode, cuGraphAddNode, none,                                                                           \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, std::size_t count,                         \
       CUgraphNodeParams* settings),                                                                                  \
      (node, graph, dependencies, count, settings))                                                                   \
    X(cuGraphAddNode_v2, cuGraphAddNode_v2, none,                                                                     \
      (CUgraphNode * node, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,               \
       std::size_t count, CUgraphNodeParams* settings),                                                               \
      (node, graph, dependencies, data, count, settings))                                                             \
    X(cuGraphNodeSetParams, cuGraphNodeSetParams, none, (CUgraphNode node, CUgraphNodeParams * settings),             \
      (node, settings))                                                                                               \
    X(cuGraphConditionalHandleCreate, cuGraphConditionalHandleCreate, none,                                           \
      (CUgraphConditionalHandle * handle, CUgraph graph, CUcontext context, unsigned initial, unsigned flags),        \
      (handle, graph, context, initial, flags))                                                                       \
    X(cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, none,                                               \
      (CUdevice device, CUgraphMem_attribute attribute, void* value), (device, attribute, value))                     \
    X(cuDeviceSetGraphMemAttribute, cuDeviceSetGraphMemAttribute, none,                                               \
      (CUdevice device, CUgraphMem_attribute attribute, void* value), (device, attribute, value))                     \
    X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, none, (CUdevice device), (device))

#define BULKHEAD_GRAPH_EXECUTION_CALLS(X)                                                                              \
    X(cuGraphInstantiate, cuGraphInstantiate, none,                                                                    \
      (CUgraphExec * exec, CUgraph graph, CUgraphNode * errorNode, char* log, std::size_t logBytes),                   \
      (exec, graph, errorNode, log, logBytes))                                                                         \
    X(cuGraphInstantiate_v2, cuGraphInstantiate_v2, none,                                                              \
      (CUgraphExec * exec, CUgraph graph, CUgraphNode * errorNode, char* log, std::size_t logBytes),                   \
      (exec, graph, errorNode, log, logBytes))                                                                         \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, none,                                                  \
      (CUgraphExec * exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))                             \
    X(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, ptsz,                                                \
      (CUgraphExec * exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS * settings), (exec, graph, settings))          \
    X(cuGraphExecDestroy, cuGraphExecDestroy, none, (CUgraphExec exec), (exec))                                        \
    X(cuGraphExecGetFlags, cuGraphExecGetFlags, none, (CUgraphExec exec, std::uint64_t * flags), (exec, flags))        \
    X(cuGraphLaunch, cuGraphLaunch, ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))                         \
    X(cuGraphUpload, cuGraphUpload, ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))                         \
    X(cuGraphExecUpdate, cuGraphExecUpdate, none,                                                                      \
      (CUgraphExec exec, CUgraph graph, CUgraphNode * errorNode, CUgraphExecUpdateResult * result),                    \
      (exec, graph, errorNode, result))                                                                                \
    X(cuGraphExecUpdate_v2, cuGraphExecUpdate_v2, none,                                                                \
      (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo * result), (exec, graph, result))                  \
    X(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, none, (CUgraphExec exec, CUgraphNode node, unsigned enabled),      \
      (exec, node, enabled))                                                                                           \
    X(cuGraphNodeGetEnabled, cuGraphNodeGetEnabled, none, (CUgraphExec exec, CUgraphNode node, unsigned* enabled),     \
      (exec, node, enabled))                                                                                           \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, none,                                            \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* settings), (exec, node, settings))        \
    X(cuGraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v2, none,                                      \
      (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* settings), (exec, node, settings))           \
    X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, none,                                            \
      (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy, CUcontext context), (exec, node, copy, context)) \
    X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, none,                                            \
      (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context),                    \
      (exec, node, fill, context))                                                                                     \
    X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, none,                                                \
      (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* settings), (exec, node, settings))             \
    X(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, none,                                    \
      (CUgraphExec exec, CUgraphNode node, CUgraph child), (exec, node, child))                                        \
    X(cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent, none,                                    \
      (CUgraphExec exec, CUgraphNode node, CUevent event), (exec, node, event))                                        \
    X(cuGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent, none,                                        \
      (CUgraphExec exec, CUgraphNode node, CUevent event), (exec, node, event))                                        \
    X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, none,                                                        \
      (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams * settings), (exec, node, settings))

#define BULKHEAD_CAPTURE_CALLS(X)                                                                                    \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, ptsz,                                                \
      (CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,                 \
       std::size_t count, CUstreamCaptureMode mode),                                                                 \
      (stream, graph, dependencies, data, count, mode))                                                              \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, ptsz,                                                          \
      (CUstream stream, CUstreamCaptureStatus * status, std::uint64_t * id), (stream, status, id))                   \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, ptsz,                                    \
      (CUstream stream, CUgraphNode * dependencies, std::size_t count, unsigned flags),                              \
      (stream, dependencies, count, flags))                                                                          \
    X(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2, ptsz,                              \
      (CUstream stream, CUgraphNode * dependencies, const CUgraphEdgeData* data, std::size_t count, unsigned flags), \
      (stream, dependencies, data, count, flags))

/// Calls of CUDA 2 to 4 that drivers still export. Of those that have a later version with the same parameters, the
/// names end in _v1 here.
#define BULKHEAD_OLD_CALLS(X)                                                                                          \
    X(cuDeviceComputeCapability, cuDeviceComputeCapability, none, (int* major, int* minor, CUdevice device),           \
      (major, minor, device))                                                                                          \
    X(cuDeviceGetProperties, cuDeviceGetProperties, none, (CUdevprop * properties, CUdevice device),                   \
      (properties, device))                                                                                            \
    X(cuDeviceGetUuid_v1, cuDeviceGetUuid, none, (CUuuid * uuid, CUdevice device), (uuid, device))                     \
    X(cuDevicePrimaryCtxRelease_v1, cuDevicePrimaryCtxRelease, none, (CUdevice device), (device))                      \
    X(cuDevicePrimaryCtxReset_v1, cuDevicePrimaryCtxReset, none, (CUdevice device), (device))                          \
    X(cuDevicePrimaryCtxSetFlags_v1, cuDevicePrimaryCtxSetFlags, none, (CUdevice device, unsigned flags),              \
      (device, flags))                                                                                                 \
    X(cuCtxCreate_v1, cuCtxCreate, none, (CUcontext * context, unsigned flags, CUdevice device),                       \
      (context, flags, device))                                                                                        \
    X(cuCtxDestroy_v1, cuCtxDestroy, none, (CUcontext context), (context))                                             \
    X(cuCtxPushCurrent_v1, cuCtxPushCurrent, none, (CUcontext context), (context))                                     \
    X(cuCtxPopCurrent_v1, cuCtxPopCurrent, none, (CUcontext * context), (context))                                     \
    X(cuCtxAttach, cuCtxAttach, none, (CUcontext * context, unsigned flags), (context, flags))                         \
    X(cuCtxDetach, cuCtxDetach, none, (CUcontext context), (context))                                                  \
    X(cuStreamDestroy_v1, cuStreamDestroy, none, (CUstream stream), (stream))                                          \
    X(cuEventDestroy_v1, cuEventDestroy, none, (CUevent event), (event))                                               \
    X(cuMemHostRegister_v1, cuMemHostRegister, none, (void* pointer, std::size_t bytes, unsigned flags),               \
      (pointer, bytes, flags))                                                                                         \
    X(cuFuncSetBlockShape, cuFuncSetBlockShape, none, (CUfunction function, int x, int y, int z), (function, x, y, z)) \
    X(cuFuncSetSharedSize, cuFuncSetSharedSize, none, (CUfunction function, unsigned bytes), (function, bytes))        \
    X(cuParamSetSize, cuParamSetSize, none, (CUfunction function, unsigned bytes), (function, bytes))                  \
    X(cuParamSeti, cuParamSeti, none, (CUfunction function, int offset, unsigned value), (function, offset, value))    \
    X(cuParamSetf, cuParamSetf, none, (CUfunction function, int offset, float value), (function, offset, value))       \
    X(cuParamSetv, cuParamSetv, none, (CUfunction function, int offset, void* value, unsigned bytes),                  \
      (function, offset, value, bytes))                                                                                \
    X(cuLaunch, cuLaunch, none, (CUfunction function), (function))                                                     \
    X(cuLaunchGrid, cuLaunchGrid, none, (CUfunction function, int width, int height), (function, width, height))       \
    X(cuLaunchGridAsync, cuLaunchGridAsync, none, (CUfunction function, int width, int height, CUstream stream),       \
      (function, width, height, stream))

/// Calls that any driver for CUDA 12 has.
#define BULKHEAD_REQUIRED_CALLS(X)   \
    BULKHEAD_DEVICE_CALLS(X)         \
    BULKHEAD_CONTEXT_CALLS(X)        \
    BULKHEAD_MODULE_CALLS(X)         \
    BULKHEAD_FUNCTION_CALLS(X)       \
    BULKHEAD_MEMORY_CALLS(X)         \
    BULKHEAD_COPY_CALLS(X)           \
    BULKHEAD_IMAGE_CALLS(X)          \
    BULKHEAD_POOL_CALLS(X)           \
    BULKHEAD_VIRTUAL_MEMORY_CALLS(X) \
    BULKHEAD_STREAM_CALLS(X)         \
    BULKHEAD_EVENT_CALLS(X)          \
    BULKHEAD_LAUNCH_CALLS(X)

/// Calls that an older driver may lack: null in its table.
#define BULKHEAD_OPTIONAL_CALLS(X)    \
    BULKHEAD_DEVICE_NEWER_CALLS(X)    \
    BULKHEAD_CONTEXT_NEWER_CALLS(X)   \
    BULKHEAD_LIBRARY_CALLS(X)         \
    BULKHEAD_FUNCTION_NEWER_CALLS(X)  \
    BULKHEAD_MEMORY_NEWER_CALLS(X)    \
    BULKHEAD_GREEN_CONTEXT_CALLS(X)   \
    BULKHEAD_GRAPH_CALLS(X)           \
    BULKHEAD_GRAPH_NODE_CALLS(X)      \
    BULKHEAD_GRAPH_EXECUTION_CALLS(X) \
    BULKHEAD_CAPTURE_CALLS(X)         \
    BULKHEAD_OLD_CALLS(X)

#define BULKHEAD_DRIVER_CALLS(X) BULKHEAD_REQUIRED_CALLS(X) BULKHEAD_OPTIONAL_CALLS(X)
