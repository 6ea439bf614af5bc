#pragma once

#define __HOST_DEFINES_H__

// Qualifiers of CUDA C++, as clang's attributes; a file that is no CUDA has none.

#ifdef __CUDA__
// What programs look for: that CUDA is compiled, and by which release of nvcc.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#ifdef __CUDA_ARCH__
#define __managed__ __device__
#else
#define __managed__ __device__ __attribute__((section("bulkhead_managed")))
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#else
#if defined(__cplusplus) && defined(__clang__)
// clang's wrapper of <new> is meant for CUDA, and would take the empty qualifiers for its own.
#include <new>
#define __CLANG_CUDA_WRAPPERS_NEW
#endif
#define __host__
#define __device__
#endif
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)

#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif
