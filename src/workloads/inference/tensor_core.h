#pragma once

#include <cuda_runtime.h>

// What kernels for tensor cores share. A fragment of a matrix lies in the registers of a warp: of 8 x 8 numbers of 16
// bits, lane l has two neighbours, row l / 4, columns 2 (l % 4) and the next.

namespace bulkhead::workloads {

using Bf16 = unsigned short;  ///< a bfloat16's bits

/// As instructions for shared memory take it.
__device__ inline unsigned sharedAddress(const void* place) {
    return (unsigned)__cvta_generic_to_shared(place);
}

/// 16 bytes from global to shared memory, past registers and L1.
__device__ inline void copyAsync(unsigned to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from)) : "memory");
}
__device__ inline void commitCopies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Until all groups have come but the last `pending`.
template <int pending>
__device__ inline void waitForCopies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Four fragments of 8 x 8; each lane names one of their 32 rows.
__device__ inline void loadFragments(unsigned (&to)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}
__device__ inline void loadTransposedFragments(unsigned (&to)[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

/// sum += a b, 16 x 8 += 16 x 16 times 16 x 8, of bfloat16.
__device__ inline void multiplyAdd(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline unsigned packBf16(float low, float high) {
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

__device__ inline float lowBf16(unsigned packed) {
    return __uint_as_float(packed << 16);
}
__device__ inline float highBf16(unsigned packed) {
    return __uint_as_float(packed & 0xffff0000u);
}

/// 2^x, as fast as the hardware has it.
__device__ inline float fastExp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace bulkhead::workloads
