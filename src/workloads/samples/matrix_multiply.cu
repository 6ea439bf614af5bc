// C = A B in tiles: a block computes a tile of C, and each of its threads brings one element of a tile of A and of B
// into shared memory for all.

#include <cuda_runtime.h>

#include "workloads/samples/matrix_multiply.h"

using bulkhead::workloads::kMultiplyTile;

extern "C" __global__ void matrixMultiply(float* c, const float* a, const float* b, int aColumns, int bColumns) {
    __shared__ float aTile[kMultiplyTile][kMultiplyTile], bTile[kMultiplyTile][kMultiplyTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * kMultiplyTile + y, column = blockIdx.x * kMultiplyTile + x;
    float sum = 0;
    for (int first = 0; first < aColumns; first += kMultiplyTile) {
        aTile[y][x] = a[row * aColumns + first + x];
        bTile[y][x] = b[(first + y) * bColumns + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kMultiplyTile; ++k) sum += aTile[y][k] * bTile[k][x];
        __syncthreads();
    }
    c[row * bColumns + column] = sum;
}
