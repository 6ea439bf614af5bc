#pragma once

#include <cuda_runtime.h>

// The two loops that ATAX, BICG and MVT are made of. As in the suite, the sum lives in memory: a store for every term,
// since nothing tells the compiler that y is none of the inputs. Loops stay rolled in all of the suite's kernels, as
// the compilers of its time left them: one memory access in so many instructions is what the CIAO paper's APKI says.

/// y[row] += a[row] . x, a thread a row: the lanes of a warp lie a row apart, each on a line of its own.
__device__ inline void addRowProduct(const float* a, const float* x, float* y, int rows, int columns) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
#pragma unroll 1
    for (int j = 0; j < columns; ++j) y[i] += a[i * columns + j] * x[j];
}

/// y[column] += a[..][column] . x, a thread a column: the lanes of a warp lie side by side.
__device__ inline void addColumnProduct(const float* a, const float* x, float* y, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) y[j] += a[i * columns + j] * x[i];
}
