#pragma once

#include <cstddef>

#include "sdk/include/cuda_runtime_api.h"

// The calls that no public header declares: those that compilers make, and a few that the tests make by themselves.
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* hostFunction, char* deviceFunction, const char* name,
                            int threadLimit, void*, void*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, char* hostVariable, char* deviceVariable, const char* name, int external,
                       std::size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** hostPointer, char* deviceVariable, const char* name, int external,
                              std::size_t bytes, int constant, int global);
char __cudaInitModule(void** handle);
cudaError_t __cudaGetKernel(const void** kernel, const void* function);
cudaError_t __cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t, cudaStream_t);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t sharedBytes, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* sharedBytes, void* stream);

cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t,
                                  cudaStream_t);
cudaError_t cudaMemcpy_ptds(void*, const void*, std::size_t, cudaMemcpyKind);
}
