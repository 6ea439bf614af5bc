// C = A W' by wgmma, as Hopper's libraries do it. One thread has tiles of A and W brought through tensor maps, as many
// stages ahead as shared memory holds; two warpgroups multiply them where they lie, each half of the block's rows.

#include <cuda_runtime.h>

#include "workloads/inference/gemm.h"
#include "workloads/inference/tensor_core.h"

namespace {

using namespace bulkhead::workloads;

constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kGroupRows = 64;
constexpr int kConsumerWarps = 8;
constexpr int kTileBytes = kWgmmaStageBytes / 2;
constexpr int kInstructionDepth = 16;

struct __align__(64) TensorMap {
    unsigned long long opaque[16];
};

__device__ void initBarrier(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ void arriveAndExpect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Until the phase of this parity has ended.
__device__ void waitFor(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{\n"
            ".reg .pred over;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
            "selp.u32 %0, 1, 0, over;\n"
            "}"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
}

/// The tile at (column, row) of a matrix; its bytes count at the barrier as they come.
__device__ void fetch(unsigned to, const TensorMap& map, int column, int row, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            to),
        "l"(&map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}

/// How wgmma finds a tile: rows of 128 bytes, swizzled, eight of them in 1 KB.
__device__ unsigned long long descriptor(unsigned tile) {
    constexpr unsigned long long kEightRows = 1024 / 16, kSwizzle128 = 1;
    return (tile & 0x3ffff) / 16 | 1ull << 16 | kEightRows << 32 | kSwizzle128 << 62;
}

#define TENS(n) "%" #n "0, %" #n "1, %" #n "2, %" #n "3, %" #n "4, %" #n "5, %" #n "6, %" #n "7, %" #n "8, %" #n "9, "
#define TEN(i)                                                                                              \
    "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), "+f"(sum[i + 5]), \
        "+f"(sum[i + 6]), "+f"(sum[i + 7]), "+f"(sum[i + 8]), "+f"(sum[i + 9])

/// sum += a w', 64 x 128 += 64 x 16 times 16 x 128, by the four warps of a warpgroup together.
__device__ void multiplyAddGroup(float (&sum)[64], unsigned long long a, unsigned long long w) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " TENS(1) TENS(2) TENS(3) TENS(4) TENS(5)
        "%60, %61, %62, %63}, %64, %65, add, 1, 1, 0, 0;\n"
        "}"
        : TEN(0), TEN(10), TEN(20), TEN(30), TEN(40), TEN(50), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]),
          "+f"(sum[63])
        : "l"(a), "l"(w)
        : "memory");
}

#undef TENS
#undef TEN

/// Where stages and their barriers lie.
struct Ring {
    unsigned tiles, full, empty;
    int stages;

    __device__ unsigned stage(int step) const { return tiles + step % stages * kWgmmaStageBytes; }
    __device__ unsigned fullOf(int step) const { return full + step % stages * 8; }
    __device__ unsigned emptyOf(int step) const { return empty + step % stages * 8; }
    __device__ unsigned parity(int step) const { return step / stages % 2; }
};

__device__ void produce(const Ring& ring, const TensorMap& a, const TensorMap& w, int row, int column, int steps) {
    for (int step = 0; step < steps; ++step) {
        if (step >= ring.stages) waitFor(ring.emptyOf(step), ring.parity(step) ^ 1);
        arriveAndExpect(ring.fullOf(step), kWgmmaStageBytes);
        fetch(ring.stage(step), a, step * kWgmmaDepth, row, ring.fullOf(step));
        fetch(ring.stage(step) + kTileBytes, w, step * kWgmmaDepth, column, ring.fullOf(step));
    }
}

__device__ void consume(const Ring& ring, float (&sum)[64], int group, int steps) {
    for (int step = 0; step < steps; ++step) {
        waitFor(ring.fullOf(step), ring.parity(step));
        const unsigned long long a = descriptor(ring.stage(step) + group * kGroupRows * kWgmmaDepth * 2);
        const unsigned long long w = descriptor(ring.stage(step) + kTileBytes);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < kWgmmaDepth / kInstructionDepth; ++k)
            multiplyAddGroup(sum, a + k * kInstructionDepth * 2 / 16, w + k * kInstructionDepth * 2 / 16);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % 32 == 0) arrive(ring.emptyOf(step));
    }
}

}  // namespace

extern "C" {
/// Of A and of W. The host writes them.
__constant__ TensorMap tensorMaps[2];
}

extern "C" __global__ void __launch_bounds__(kWgmmaThreads) gemmWgmma(float* c, int columns, int depth, int stages) {
    extern __shared__ unsigned char dynamic[];
    __shared__ unsigned long long barriers[2][kWgmmaMostStages];
    const Ring ring = {(sharedAddress(dynamic) + kWgmmaAlignment - 1) / kWgmmaAlignment * kWgmmaAlignment,
                       sharedAddress(barriers[0]), sharedAddress(barriers[1]), stages};
    const int firstRow = blockIdx.y * kGemmTile, firstColumn = blockIdx.x * kGemmTile;
    const int steps = depth / kWgmmaDepth;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < stages; ++stage) {
            initBarrier(ring.fullOf(stage), 1);
            initBarrier(ring.emptyOf(stage), kConsumerWarps);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    const int group = (int)threadIdx.x / kGroup - 1;
    if (group < 0) {
        if (threadIdx.x == 0) produce(ring, tensorMaps[0], tensorMaps[1], firstRow, firstColumn, steps);
        return;
    }
    float sum[64] = {};
    consume(ring, sum, group, steps);

    const int lane = threadIdx.x % 32, warp = threadIdx.x % kGroup / 32;
    float* const rows = c + (size_t)(firstRow + group * kGroupRows + warp * 16 + lane / 4) * columns + firstColumn;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        float* const at = rows + 8 * i + lane % 4 * 2;
        *(float2*)at = make_float2(sum[4 * i], sum[4 * i + 1]);
        *(float2*)(at + (size_t)8 * columns) = make_float2(sum[4 * i + 2], sum[4 * i + 3]);
    }
}
