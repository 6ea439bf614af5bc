// Attention of a prompt's tokens to those before them, without ever storing the matrix of scores: for a tile of
// queries, tile by tile of keys, softmax goes on with the largest score so far and corrects what it summed before.
// Several heads of queries share one of keys and values.

#include <cuda_runtime.h>

#include "workloads/inference/attention.h"
#include "workloads/inference/tensor_core.h"

namespace {

using namespace bulkhead::workloads;

constexpr int kPiece = 8;  // numbers in 16 bytes
constexpr int kPieces = kHeadSize / kPiece;
constexpr int kTileBytes = kAttentionTile * kHeadSize * 2;
constexpr float kNever = -1e30f;  // a score that has no weight

/// Pieces of a row change places by the row's number, so that eight rows of a fragment lie in different banks.
__device__ unsigned place(int row, int piece) {
    return (row * kPieces + (piece ^ (row & 7))) * 16;
}

__device__ void fetch(unsigned to, const Bf16* from) {
    for (int i = threadIdx.x; i < kAttentionTile * kPieces; i += kAttentionThreads)
        copyAsync(to + place(i / kPieces, i % kPieces), from + i * kPiece);
    commitCopies();
}

/// Of a row, whose scores lie in four lanes.
__device__ float rowMax(float x) {
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ float rowSum(float x) {
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

}  // namespace

/// A block has 64 queries of a head, each warp 16. `scale` is that of scores, times log2(e).
extern "C" __global__ void __launch_bounds__(kAttentionThreads)
    attention(float* out, const Bf16* q, const Bf16* k, const Bf16* v, int tokens, int queriesPerKey, float scale) {
    __shared__ __align__(128) unsigned char tiles[2][kTileBytes];
    const unsigned keys = sharedAddress(tiles[0]), values = sharedAddress(tiles[1]);
    const int lane = threadIdx.x % 32, warpRow = threadIdx.x / 32 * 16;
    const int last = gridDim.x - 1 - blockIdx.x;  // tile of queries; those with the most keys begin first
    const size_t head = (size_t)blockIdx.y * tokens * kHeadSize;
    const size_t keyHead = (size_t)(blockIdx.y / queriesPerKey) * tokens * kHeadSize;
    constexpr int kTile = kAttentionTile * kHeadSize;

    fetch(keys, q + head + (size_t)last * kTile);
    waitForCopies<0>();
    __syncthreads();
    unsigned query[kHeadSize / 16][4];
#pragma unroll
    for (int d = 0; d < kHeadSize / 16; ++d)
        loadFragments(query[d], keys + place(warpRow + lane % 16, 2 * d + lane / 16));
    __syncthreads();
    fetch(keys, k + keyHead);

    float sums[kHeadSize / 8][4] = {};
    float largest[2] = {kNever, kNever}, total[2] = {};
    for (int tile = 0; tile <= last; ++tile) {
        waitForCopies<0>();
        __syncthreads();
        fetch(values, v + keyHead + (size_t)tile * kTile);
        float score[kAttentionTile / 8][4] = {};
#pragma unroll
        for (int d = 0; d < kHeadSize / 16; ++d)
#pragma unroll
            for (int j = 0; j < kAttentionTile / 16; ++j) {
                unsigned key[4];
                loadFragments(key, keys + place(16 * j + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2));
                multiplyAdd(score[2 * j], query[d], key[0], key[1]);
                multiplyAdd(score[2 * j + 1], query[d], key[2], key[3]);
            }

        // Lane l has rows l / 4 and l / 4 + 8 of its warp's.
        float high[2] = {kNever, kNever};
#pragma unroll
        for (int j = 0; j < kAttentionTile / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int row = warpRow + lane / 4 + i / 2 * 8, column = 8 * j + lane % 4 * 2 + i % 2;
                score[j][i] = tile == last && column > row ? kNever : score[j][i] * scale;
                high[i / 2] = fmaxf(high[i / 2], score[j][i]);
            }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float next = fmaxf(largest[r], rowMax(high[r])), correction = fastExp2(largest[r] - next);
            largest[r] = next;
            total[r] *= correction;
#pragma unroll
            for (int d = 0; d < kHeadSize / 8; ++d) {
                sums[d][2 * r] *= correction;
                sums[d][2 * r + 1] *= correction;
            }
        }
        // What is summed is what multiplies the values, rounded: their mean is one of rounded weights then, no more.
        unsigned weights[kAttentionTile / 8][2];
#pragma unroll
        for (int j = 0; j < kAttentionTile / 8; ++j)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                weights[j][r] =
                    packBf16(fastExp2(score[j][2 * r] - largest[r]), fastExp2(score[j][2 * r + 1] - largest[r]));
                total[r] += lowBf16(weights[j][r]) + highBf16(weights[j][r]);
            }

        waitForCopies<0>();
        __syncthreads();
        if (tile < last) fetch(keys, k + keyHead + (size_t)(tile + 1) * kTile);
#pragma unroll
        for (int j = 0; j < kAttentionTile / 16; ++j) {
            const unsigned rows[4] = {weights[2 * j][0], weights[2 * j][1], weights[2 * j + 1][0],
                                      weights[2 * j + 1][1]};
#pragma unroll
            for (int d = 0; d < kHeadSize / 16; ++d) {
                unsigned value[4];
                loadTransposedFragments(value, values + place(16 * j + lane % 16, 2 * d + lane / 16));
                multiplyAdd(sums[2 * d], rows, value[0], value[1]);
                multiplyAdd(sums[2 * d + 1], rows, value[2], value[3]);
            }
        }
    }

    float* const rows = out + head + (size_t)(last * kAttentionTile + warpRow + lane / 4) * kHeadSize + lane % 4 * 2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const float part = 1 / rowSum(total[r]);
#pragma unroll
        for (int d = 0; d < kHeadSize / 8; ++d)
            *(float2*)(rows + r * 8 * kHeadSize + 8 * d) =
                make_float2(sums[d][2 * r] * part, sums[d][2 * r + 1] * part);
    }
}
