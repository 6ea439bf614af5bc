#include <cuda_runtime.h>

/// The multipliers that clear column t below the diagonal.
extern "C" __global__ void gaussianFan1(float* multipliers, const float* matrix, int n, int t) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1 - t) return;
    multipliers[n * (i + t + 1) + t] = matrix[n * (i + t + 1) + t] / matrix[n * t + t];
}

/// Takes the multiples of row t from the rows below it. x runs over rows, as in the original: neighbouring threads are
/// a row apart.
extern "C" __global__ void gaussianFan2(const float* multipliers, float* matrix, float* right, int n, int t) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= n - 1 - t) return;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y >= n - t) return;
    matrix[n * (x + 1 + t) + (y + t)] -= multipliers[n * (x + 1 + t) + t] * matrix[n * t + (y + t)];
    if (y == 0) right[x + 1 + t] -= multipliers[n * (x + 1 + t) + t] * right[t];
}
