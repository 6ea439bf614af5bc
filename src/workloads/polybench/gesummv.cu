// GESUMMV: y = alpha A x + beta B x, a thread a row.

#include <cuda_runtime.h>

extern "C" __global__ void gesummv(const float* a, const float* b, const float* x, float* y, float* t, int n,
                                   float alpha, float beta) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#pragma unroll 1
    for (int j = 0; j < n; ++j) {
        t[i] += a[i * n + j] * x[j];
        y[i] += b[i * n + j] * x[j];
    }
    y[i] = alpha * t[i] + beta * y[i];
}
