// C = A W' by mma, as a layer of a network multiplies activations by its weights. While a warp multiplies one tile of A
// and W, asynchronous copies bring the next two. Tiles are swizzled: 16-byte pieces of a row change places by the row's
// number, so that eight rows of a fragment lie in different banks.

#include <cuda_runtime.h>

#include "workloads/inference/gemm.h"
#include "workloads/inference/tensor_core.h"

namespace {

using namespace bulkhead::workloads;

constexpr int kStages = 3;
constexpr int kPiece = 8;  // numbers in 16 bytes
constexpr int kPieces = kMmaDepth / kPiece;
constexpr int kTileBytes = kGemmTile * kMmaDepth * 2;
constexpr int kWarpRows = 64, kWarpColumns = 32;

__device__ unsigned place(int row, int piece) {
    return (row * kPieces + (piece ^ (row >> 1 & (kPieces - 1)))) * 16;
}

/// The tile of a matrix that begins at `from`.
__device__ void fetch(unsigned to, const Bf16* from, int depth) {
    for (int i = threadIdx.x; i < kGemmTile * kPieces; i += kMmaThreads) {
        const int row = i / kPieces, piece = i % kPieces;
        copyAsync(to + place(row, piece), from + (size_t)row * depth + piece * kPiece);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kMmaThreads)
    gemmMma(float* c, const Bf16* a, const Bf16* w, int columns, int depth) {
    __shared__ __align__(128) unsigned char tiles[kStages][2][kTileBytes];
    const unsigned shared = sharedAddress(tiles);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int firstRow = blockIdx.y * kGemmTile, firstColumn = blockIdx.x * kGemmTile;
    const int warpRow = warp % 2 * kWarpRows, warpColumn = warp / 2 * kWarpColumns;
    const Bf16* const aRows = a + (size_t)firstRow * depth;
    const Bf16* const wRows = w + (size_t)firstColumn * depth;
    const int steps = depth / kMmaDepth;

    const auto fetchStep = [&](int step) {
        if (step < steps) {
            const unsigned stage = shared + step % kStages * 2 * kTileBytes;
            fetch(stage, aRows + step * kMmaDepth, depth);
            fetch(stage + kTileBytes, wRows + step * kMmaDepth, depth);
        }
        commitCopies();
    };

    float sums[4][4][4] = {};
    for (int step = 0; step < kStages - 1; ++step) fetchStep(step);
    for (int step = 0; step < steps; ++step) {
        waitForCopies<kStages - 2>();
        __syncthreads();
        fetchStep(step + kStages - 1);  // to where everybody has read
        const unsigned aTile = shared + step % kStages * 2 * kTileBytes, wTile = aTile + kTileBytes;
#pragma unroll
        for (int k = 0; k < kPieces; k += 2) {
            unsigned left[4][4], right[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                loadFragments(left[i], aTile + place(warpRow + 16 * i + lane % 16, k + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; ++j)
                loadFragments(right[j],
                              wTile + place(warpColumn + 16 * j + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    multiplyAdd(sums[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
        }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int row = firstRow + warpRow + 16 * i + lane / 4;
            const int column = firstColumn + warpColumn + 8 * j + lane % 4 * 2;
            *(float2*)(c + (size_t)row * columns + column) = make_float2(sums[i][j][0], sums[i][j][1]);
            *(float2*)(c + (size_t)(row + 8) * columns + column) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
}
