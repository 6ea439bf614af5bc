// The six shapes on which the simulator's speed is measured, the same as were timed on GPGPU-Sim 4.2.

#include <cuda_runtime.h>

extern "C" {

__global__ void vectorAdd(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// A thread a row: lanes lie a whole row apart, and warps thrash L1D.
__global__ void rowProduct(const float* a, const float* x, float* y, int rows, int columns) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int c = 0; c < columns; ++c) sum += a[r * columns + c] * x[c];
    y[r] = sum;
}

// Its twin: a thread a column, lanes side by side.
__global__ void columnProduct(const float* a, const float* x, float* y, int rows, int columns) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float sum = 0;
    for (int r = 0; r < rows; ++r) sum += a[r * columns + c] * x[r];
    y[c] = sum;
}

__global__ void syrk(const float* a, float* c, int n, float alpha, float beta) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float sum = c[i * n + j] * beta;
    for (int k = 0; k < n; ++k) sum += alpha * a[i * n + k] * a[j * n + k];
    c[i * n + j] = sum;
}

__global__ void gemm(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[ty][tx] = a[row * n + t + tx];
        bs[ty][tx] = b[(t + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void arithmetic(float* out, int iterations) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = i * 0.5f, y = 1.0f;
    for (int k = 0; k < iterations; ++k) {
        x = x * 1.0001f + 0.5f;
        y = y * x + 0.25f;
    }
    out[i] = x + y;
}
}
