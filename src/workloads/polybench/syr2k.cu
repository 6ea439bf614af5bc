// SYR2K: C = beta C + alpha A B' + alpha B A', a thread an element. Lanes differ in j: each reads two rows of its own.

#include <cuda_runtime.h>

extern "C" __global__ void syr2k(const float* a, const float* b, float* c, int n, int m, float alpha, float beta) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    c[i * n + j] *= beta;
#pragma unroll 1
    for (int k = 0; k < m; ++k)
        c[i * n + j] += alpha * a[i * m + k] * b[j * m + k] + alpha * b[i * m + k] * a[j * m + k];
}
