#pragma once

#include "../vector_types.h"
#include "device.h"

// threadIdx and its like: objects whose members read special registers.

#define BULKHEAD_COORDINATES(Type, Vector, reg)                                                            \
    struct Type {                                                                                          \
        __declspec(property(get = readX)) unsigned int x;                                                  \
        __declspec(property(get = readY)) unsigned int y;                                                  \
        __declspec(property(get = readZ)) unsigned int z;                                                  \
        __device__ __forceinline__ unsigned int readX() const { return __nvvm_read_ptx_sreg_##reg##_x(); } \
        __device__ __forceinline__ unsigned int readY() const { return __nvvm_read_ptx_sreg_##reg##_y(); } \
        __device__ __forceinline__ unsigned int readZ() const { return __nvvm_read_ptx_sreg_##reg##_z(); } \
        __device__ __forceinline__ operator Vector() const { return Vector{readX(), readY(), readZ()}; }   \
        Type() = delete;                                                                                   \
        Type(const Type&) = delete;                                                                        \
        void operator=(const Type&) const = delete;                                                        \
    };

namespace bulkhead_sdk {
BULKHEAD_COORDINATES(ThreadIdx, uint3, tid)
BULKHEAD_COORDINATES(BlockIdx, uint3, ctaid)
BULKHEAD_COORDINATES(BlockDim, dim3, ntid)
BULKHEAD_COORDINATES(GridDim, dim3, nctaid)
}  // namespace bulkhead_sdk

#undef BULKHEAD_COORDINATES

// Declared, never defined: only their members are used, and those need no storage.
extern const __device__ __attribute__((weak)) bulkhead_sdk::ThreadIdx threadIdx;
extern const __device__ __attribute__((weak)) bulkhead_sdk::BlockIdx blockIdx;
extern const __device__ __attribute__((weak)) bulkhead_sdk::BlockDim blockDim;
extern const __device__ __attribute__((weak)) bulkhead_sdk::GridDim gridDim;

static constexpr int warpSize = 32;
