#include <cuda_runtime.h>

#include "workloads/rodinia/tile.h"

using bulkhead::workloads::kTile;

// The matrix is worked on in place: after all steps it holds U on and above the diagonal, and below it L, whose
// diagonal is one.

/// Factors the tile on the diagonal at `offset`. One block of 16 threads.
extern "C" __global__ void ludDiagonal(float* matrix, int n, int offset) {
    __shared__ float tile[kTile][kTile];
    const int x = threadIdx.x;
    float* const corner = matrix + offset * n + offset;
    for (int i = 0; i < kTile; ++i) tile[i][x] = corner[i * n + x];
    __syncthreads();
    for (int i = 0; i < kTile - 1; ++i) {
        if (x > i) {
            for (int j = 0; j < i; ++j) tile[x][i] -= tile[x][j] * tile[j][i];
            tile[x][i] /= tile[i][i];
        }
        __syncthreads();
        if (x > i)
            for (int j = 0; j < i + 1; ++j) tile[i + 1][x] -= tile[i + 1][j] * tile[j][x];
        __syncthreads();
    }
    for (int i = 1; i < kTile; ++i) corner[i * n + x] = tile[i][x];
}

/// Of a block's 32 threads, half solve a tile right of the diagonal one, the other half the tile below it that mirrors
/// it.
extern "C" __global__ void ludPerimeter(float* matrix, int n, int offset) {
    __shared__ float diagonal[kTile][kTile];
    __shared__ float right[kTile][kTile];
    __shared__ float below[kTile][kTile];
    const bool solvesRight = threadIdx.x < kTile;
    const int x = threadIdx.x % kTile;
    const int distance = (blockIdx.x + 1) * kTile;
    float* const corner = matrix + offset * n + offset;
    float* const rightCorner = corner + distance;
    float* const belowCorner = corner + distance * n;

    const int firstRow = solvesRight ? 0 : kTile / 2;
    for (int i = firstRow; i < firstRow + kTile / 2; ++i) diagonal[i][x] = corner[i * n + x];
    if (solvesRight)
        for (int i = 0; i < kTile; ++i) right[i][x] = rightCorner[i * n + x];
    else
        for (int i = 0; i < kTile; ++i) below[i][x] = belowCorner[i * n + x];
    __syncthreads();

    if (solvesRight) {
        for (int i = 1; i < kTile; ++i)
            for (int j = 0; j < i; ++j) right[i][x] -= diagonal[i][j] * right[j][x];
    } else {
        for (int i = 0; i < kTile; ++i) {
            for (int j = 0; j < i; ++j) below[x][i] -= below[x][j] * diagonal[j][i];
            below[x][i] /= diagonal[i][i];
        }
    }
    __syncthreads();

    if (solvesRight)
        for (int i = 1; i < kTile; ++i) rightCorner[i * n + x] = right[i][x];
    else
        for (int i = 0; i < kTile; ++i) belowCorner[i * n + x] = below[i][x];
}

/// Takes the product of their perimeter tiles from the tiles that are left.
extern "C" __global__ void ludInternal(float* matrix, int n, int offset) {
    __shared__ float right[kTile][kTile];
    __shared__ float below[kTile][kTile];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = offset + (blockIdx.y + 1) * kTile + y;
    const int column = offset + (blockIdx.x + 1) * kTile + x;
    right[y][x] = matrix[(offset + y) * n + column];
    below[y][x] = matrix[row * n + offset + x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < kTile; ++i) sum += below[y][i] * right[i][x];
    matrix[row * n + column] -= sum;
}
