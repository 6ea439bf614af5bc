// Intrinsics, atomics and warp functions, each compared by intrinsics_test.cpp with arithmetic on the host.

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

/// One row of results a thread: integers of x and y.
extern "C" __global__ void integers(const unsigned* x, const unsigned* y, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned a = x[i], b = y[i];
    unsigned* const row = out + 12 * i;
    row[0] = __popc(a);
    row[1] = __clz((int)a);
    row[2] = __brev(a);
    row[3] = __ffs((int)a);
    row[4] = __umulhi(a, b);
    row[5] = (unsigned)__mulhi((int)a, (int)b);
    row[6] = __byte_perm(a, b, 0x2501);
    row[7] = __funnelshift_l(a, b, 13);
    row[8] = (unsigned)__mul24((int)a, (int)b);
    row[9] = __uhadd(a, b);
    row[10] = (unsigned)max((int)a, (int)b) - min(a, b);
    row[11] = (unsigned)__clzll((long long)a << 20 | b);
}

/// Old values and results of atomics on one word each, by one thread after the other.
extern "C" __global__ void atomics(int* words, unsigned long long* longs, float* reals, double* doubles) {
    if (threadIdx.x != 0) return;
    words[8] = atomicAdd(&words[0], 5) + atomicSub(&words[1], 7) + atomicExch(&words[2], 9) + atomicMin(&words[3], -3) +
               atomicMax(&words[4], 100) + atomicAnd(&words[5], 0x0f) + atomicOr(&words[6], 0xf0) +
               atomicXor(&words[7], 0xff);
    unsigned* const counters = (unsigned*)words + 9;
    atomicInc(&counters[0], 3u);  // 3 wraps to 0
    atomicDec(&counters[1], 9u);  // 0 wraps to 9
    atomicCAS(&words[11], 1, 2);
    atomicCAS(&words[12], 1, 2);
    atomicAdd_block(&words[13], 1);
    atomicAdd_system(&words[13], 2);
    atomicAdd(&longs[0], 1ull << 40);
    atomicMax(&longs[1], 1ull << 63);
    atomicCAS(&longs[2], 7ull, 1ull << 33);
    atomicAdd(reals, 0.25f);
    atomicExch(&reals[1], 2.5f);
    atomicAdd(doubles, 0.125);
}

/// A row of results a lane of one warp.
extern "C" __global__ void warps(const int* in, int* out) {
    const unsigned lane = threadIdx.x, all = 0xffffffffu;
    const int value = in[lane];
    int* const row = out + 16 * lane;
    row[0] = __shfl_sync(all, value, 5);
    row[1] = __shfl_up_sync(all, value, 3);
    row[2] = __shfl_down_sync(all, value, 3, 8);
    row[3] = __shfl_xor_sync(all, value, 9);
    row[4] = (int)__ballot_sync(all, value % 3 == 0);
    row[5] = __any_sync(all, value == in[31]) * 2 + __all_sync(all, value > -1000);
    row[6] = (int)__match_any_sync(all, value % 4);
    row[7] = __reduce_add_sync(all, value);
    const long long wide = __shfl_sync(all, (long long)value << 33, 7);
    row[8] = (int)(wide >> 33);
    const double real = __shfl_xor_sync(all, value * 0.5, 1);
    row[9] = (int)(real * 2);
    row[10] = __reduce_max_sync(all, value);
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    row[11] = cg::inclusive_scan(tile, value);
    row[12] = cg::exclusive_scan(tile, value);
    row[13] = cg::reduce(tile, value, cg::less<int>());
    row[14] = row[15] = -1;
    if (value % 3 == 0) {
        const cg::coalesced_group active = cg::coalesced_threads();
        row[14] = (int)active.thread_rank();
        row[15] = cg::reduce(active, value, cg::plus<int>());
    }
}

/// All halves to float and back, and sums of neighbours.
extern "C" __global__ void halves(float* values, unsigned short* back, unsigned short* sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const half h = __ushort_as_half((unsigned short)i);
    values[i] = __half2float(h);
    back[i] = __half_as_ushort(__float2half(values[i]));
    sums[i] = __half_as_ushort(h + __ushort_as_half((unsigned short)(i ^ 0x155)));
}

/// Each thread's view of a word of shared memory that one of them writes, twice, and of what a whole block counts.
extern "C" __global__ void barriers(const int* in, int* out) {
    __shared__ int word;
    const int thread = threadIdx.x, n = blockDim.x;
    if (thread == n - 1) word = in[0];
    __syncthreads();
    out[thread] = word;
    const int odd = __syncthreads_count(thread & 1);
    if (thread == 0) word = in[1];
    const int first = __syncthreads_or(thread == 5) * 2 + __syncthreads_and(thread < n - 1);
    out[n + thread] = word;
    out[2 * n + thread] = odd;
    out[3 * n + thread] = first;
}
