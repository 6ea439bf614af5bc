#include <cuda_runtime.h>

#include "workloads/rodinia/tile.h"

using bulkhead::workloads::kTile;

/// Fills one tile of the score table, whose row above and column to the left are known, along its antidiagonals. The
/// table has `columns` columns and one row and column more than there are tiles' worth.
static __device__ void nwTile(const int* similarity, int* scores, int columns, int penalty, int tileX, int tileY) {
    __shared__ int score[kTile + 1][kTile + 1];
    __shared__ int similar[kTile][kTile];
    const int x = threadIdx.x;
    const int corner = columns * kTile * tileY + kTile * tileX;  // the score up and left of the tile
    const int first = corner + columns + 1;

    if (x == 0) score[0][0] = scores[corner];
    for (int y = 0; y < kTile; ++y) similar[y][x] = similarity[first + columns * y + x];
    __syncthreads();
    score[x + 1][0] = scores[corner + columns * (x + 1)];
    __syncthreads();
    score[0][x + 1] = scores[corner + x + 1];
    __syncthreads();

    const auto fill = [&](int row, int column) {
        const int match = score[row - 1][column - 1] + similar[row - 1][column - 1];
        const int gap = max(score[row][column - 1], score[row - 1][column]) - penalty;
        score[row][column] = max(match, gap);
    };
    for (int m = 0; m < kTile; ++m) {
        if (x <= m) fill(m - x + 1, x + 1);
        __syncthreads();
    }
    for (int m = kTile - 2; m >= 0; --m) {
        if (x <= m) fill(kTile - x, x + kTile - m);
        __syncthreads();
    }
    for (int y = 0; y < kTile; ++y) scores[first + columns * y + x] = score[y + 1][x + 1];
}

/// An antidiagonal of `length` tiles in the upper left half.
extern "C" __global__ void nwUpperLeft(const int* similarity, int* scores, int columns, int penalty, int length) {
    const int x = blockIdx.x;
    nwTile(similarity, scores, columns, penalty, x, length - 1 - x);
}

/// An antidiagonal of `length` tiles in the lower right half of `width` times as many.
extern "C" __global__ void nwLowerRight(const int* similarity, int* scores, int columns, int penalty, int length,
                                        int width) {
    const int x = blockIdx.x + width - length;
    nwTile(similarity, scores, columns, penalty, x, width - 1 - static_cast<int>(blockIdx.x));
}
