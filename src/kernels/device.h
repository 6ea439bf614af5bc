#pragma once

// What device code needs of CUDA, for Debian's clang with no NVIDIA toolkit: qualifiers, thread coordinates, barriers.

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

namespace bulkhead::device {

struct ThreadIdx {
    __declspec(property(get = getX)) unsigned x;
    __declspec(property(get = getY)) unsigned y;
    __device__ unsigned getX() const { return __nvvm_read_ptx_sreg_tid_x(); }
    __device__ unsigned getY() const { return __nvvm_read_ptx_sreg_tid_y(); }
};
struct BlockIdx {
    __declspec(property(get = getX)) unsigned x;
    __declspec(property(get = getY)) unsigned y;
    __device__ unsigned getX() const { return __nvvm_read_ptx_sreg_ctaid_x(); }
    __device__ unsigned getY() const { return __nvvm_read_ptx_sreg_ctaid_y(); }
};
struct BlockDim {
    __declspec(property(get = getX)) unsigned x;
    __declspec(property(get = getY)) unsigned y;
    __device__ unsigned getX() const { return __nvvm_read_ptx_sreg_ntid_x(); }
    __device__ unsigned getY() const { return __nvvm_read_ptx_sreg_ntid_y(); }
};
struct GridDim {
    __declspec(property(get = getX)) unsigned x;
    __declspec(property(get = getY)) unsigned y;
    __device__ unsigned getX() const { return __nvvm_read_ptx_sreg_nctaid_x(); }
    __device__ unsigned getY() const { return __nvvm_read_ptx_sreg_nctaid_y(); }
};

}  // namespace bulkhead::device

extern const __device__ __attribute__((weak)) bulkhead::device::ThreadIdx threadIdx;
extern const __device__ __attribute__((weak)) bulkhead::device::BlockIdx blockIdx;
extern const __device__ __attribute__((weak)) bulkhead::device::BlockDim blockDim;
extern const __device__ __attribute__((weak)) bulkhead::device::GridDim gridDim;
