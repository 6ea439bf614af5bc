#pragma once

#include <string>

#include "cudart/abi.h"

// The calls that the tests make, as the library exports them.
extern "C" {
using namespace bulkhead::cudart;
using bulkhead::driver::CUfunction;

void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* hostFunction, char* deviceFunction, const char* name,
                            int threadLimit, void*, void*, Dim3*, Dim3*, int*);
void __cudaRegisterVar(void** handle, char* hostVariable, char* deviceVariable, const char* name, int external,
                       std::size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** hostPointer, char* deviceVariable, const char* name, int external,
                              std::size_t bytes, int constant, int global);
char __cudaInitModule(void** handle);
CudaError __cudaGetKernel(const void** kernel, const void* function);
CudaError __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t, CUstream);
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t sharedBytes, CUstream);
CudaError __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* sharedBytes, void* stream);
CudaError cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t, CUstream);
CudaError cudaLaunchKernel_ptsz(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t, CUstream);
CudaError cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t,
                                      CUstream);
CudaError cudaFuncGetAttributes(FunctionAttributes*, const void* function);

CudaError cudaMalloc(void**, std::size_t);
CudaError cudaFree(void*);
CudaError cudaMemcpy(void*, const void*, std::size_t, CopyKind);
CudaError cudaMemcpy_ptds(void*, const void*, std::size_t, CopyKind);
CudaError cudaMemcpyAsync(void*, const void*, std::size_t, CopyKind, CUstream);
CudaError cudaMemcpyToSymbol(const void* symbol, const void*, std::size_t, std::size_t offset, CopyKind);
CudaError cudaMemcpyFromSymbol(void*, const void* symbol, std::size_t, std::size_t offset, CopyKind);
CudaError cudaMallocHost(void**, std::size_t);
CudaError cudaFreeHost(void*);
CudaError cudaPointerGetAttributes(PointerAttributes*, const void*);

CudaError cudaGetLastError();
CudaError cudaPeekAtLastError();
const char* cudaGetErrorName(CudaError);
const char* cudaGetErrorString(CudaError);

CudaError cudaGetDeviceCount(int*);
CudaError cudaGetDeviceProperties(DeviceProperties*, int device);
CudaError cudaDeviceSynchronize();
CudaError cudaDeviceReset();
CudaError cudaRuntimeGetVersion(int*);

CudaError cudaEventCreate(CUevent*);
CudaError cudaEventDestroy(CUevent);
CudaError cudaEventRecord(CUevent, CUstream);
CudaError cudaEventSynchronize(CUevent);
CudaError cudaEventElapsedTime(float*, CUevent, CUevent);

CudaError cudaGraphCreate(void** graph, unsigned flags);
CudaError cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status);
}
