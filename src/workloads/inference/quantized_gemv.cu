// y = W x with weights of four bits, eight in a word, and a scale for each 128 of them: a layer of a language model
// that answers one user. Weights become halves without a conversion: the bits of 1024 + n are those of 1024, or n.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "workloads/inference/quantized_gemv.h"

namespace {

using namespace bulkhead::workloads;

constexpr int kLaneWeights = 32;
constexpr int kPiece = 8;  // halves in 16 bytes
constexpr int kPieces = kLaneWeights / kPiece;

__device__ unsigned minus(unsigned a, unsigned b) {
    unsigned d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
__device__ unsigned fused(unsigned a, unsigned b, unsigned c) {
    unsigned d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
__device__ float halfValue(unsigned bits) {
    float value;
    asm("{\n"
        ".reg .b16 half;\n"
        "cvt.u16.u32 half, %1;\n"
        "cvt.f32.f16 %0, half;\n"
        "}"
        : "=f"(value)
        : "r"(bits));
    return value;
}

/// Eight weights times eight numbers. Nibble i of a word's lower half is weight 2 i, of its upper half the next.
__device__ float eightProducts(unsigned word, const uint4& x) {
    constexpr unsigned kNibbles = 0x000f000f, k1024 = 0x64006400, k1032 = 0x64086408;
    const unsigned xs[4] = {x.x, x.y, x.z, x.w};
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum = fused(minus((word >> 4 * i & kNibbles) | k1024, k1032), xs[i], sum);
    return halfValue(sum) + halfValue(sum >> 16);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kGemvWarps * 32)
    quantizedGemv(float* y, const uint4* weights, const unsigned short* scales, const unsigned short* x, int columns) {
    // Piece p of lane l at [p][l], so that 16 bytes of neighbours are neighbours.
    __shared__ uint4 xs[kGemvMostColumns / kPiece];
    for (int i = threadIdx.x; i < columns / kPiece; i += kGemvWarps * 32) {
        const int stretch = i / (kGemvStretch / kPiece), lane = i / kPieces % 32, piece = i % kPieces;
        xs[(stretch * kPieces + piece) * 32 + lane] = ((const uint4*)x)[i];
    }
    __syncthreads();

    const int lane = threadIdx.x % 32;
    const size_t row = ((size_t)blockIdx.x * kGemvWarps + threadIdx.x / 32) * kGemvRows;
    float sums[kGemvRows] = {};
    for (int stretch = 0; stretch < columns / kGemvStretch; ++stretch) {
        uint4 words[kGemvRows];
        float scale[kGemvRows];
#pragma unroll
        for (int r = 0; r < kGemvRows; ++r) {
            words[r] = weights[((row + r) * columns + stretch * kGemvStretch) / kLaneWeights + lane];
            scale[r] = halfValue(
                scales[((row + r) * columns + stretch * kGemvStretch + lane * kLaneWeights) / kGemvScaleGroup]);
        }
        const uint4* const own = xs + stretch * kPieces * 32 + lane;
#pragma unroll
        for (int r = 0; r < kGemvRows; ++r)
            sums[r] += scale[r] * (eightProducts(words[r].x, own[0]) + eightProducts(words[r].y, own[32]) +
                                   eightProducts(words[r].z, own[64]) + eightProducts(words[r].w, own[96]));
    }
#pragma unroll
    for (int r = 0; r < kGemvRows; ++r) {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) sums[r] += __shfl_xor_sync(~0u, sums[r], distance);
        if (lane == 0) y[row + r] = sums[r];
    }
}
