// 2DCONV: each element of the result is a weighted sum of the nine around its place.

#include <cuda_runtime.h>

#include "workloads/polybench/conv2d.h"

extern "C" __global__ void conv2d(const float* in, float* out, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= rows - 1 || j >= columns - 1) return;
    float sum = 0;
#pragma unroll
    for (int di = 0; di < 3; ++di)
#pragma unroll
        for (int dj = 0; dj < 3; ++dj)
            sum += bulkhead::workloads::kConv2dFilter[di][dj] * in[(i + di - 1) * columns + j + dj - 1];
    out[i * columns + j] = sum;
}
