// CORR: correlation coefficients of the columns of a matrix. Rows are `pitch` elements apart.

#include <cuda_runtime.h>

extern "C" __global__ void corrMean(float* mean, const float* data, int columns, int rows, int pitch) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    mean[j] = 0;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) mean[j] += data[i * pitch + j];
    mean[j] /= rows;
}

// A column that hardly varies is left as it is, rather than blown up.
extern "C" __global__ void corrDeviation(const float* mean, float* deviation, const float* data, int columns, int rows,
                                         int pitch) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    deviation[j] = 0;
#pragma unroll 1
    for (int i = 0; i < rows; ++i) deviation[j] += (data[i * pitch + j] - mean[j]) * (data[i * pitch + j] - mean[j]);
    deviation[j] = sqrtf(deviation[j] / rows);
    if (deviation[j] <= 0.005f) deviation[j] = 1;
}

extern "C" __global__ void corrReduce(const float* mean, const float* deviation, float* data, int columns, int rows,
                                      int pitch) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    data[i * pitch + j] -= mean[j];
    data[i * pitch + j] /= sqrtf(static_cast<float>(rows)) * deviation[j];
}

// A thread a column: its products with the columns after it, which are the elements of a row right of the diagonal, and
// of a column below it.
extern "C" __global__ void corrProducts(float* correlation, const float* data, int columns, int rows, int pitch) {
    const int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= columns) return;
    correlation[a * pitch + a] = 1;
    for (int b = a + 1; b < columns; ++b) {
        correlation[a * pitch + b] = 0;
#pragma unroll 1
        for (int i = 0; i < rows; ++i) correlation[a * pitch + b] += data[i * pitch + a] * data[i * pitch + b];
        correlation[b * pitch + a] = correlation[a * pitch + b];
    }
}
