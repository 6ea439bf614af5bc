// The fast Walsh transform: butterflies of two elements, two levels of them at a time (radix 4).

#include <cuda_runtime.h>

namespace {

/// Four elements `stride` apart: the level of 2 stride, then the level of stride.
__device__ inline void radix4(float* at, int stride) {
    const float a = at[0], b = at[stride], c = at[2 * stride], d = at[3 * stride];
    const float ac = a + c, bd = b + d, aMinusC = a - c, bMinusD = b - d;
    at[0] = ac + bd;
    at[stride] = ac - bd;
    at[2 * stride] = aMinusC + bMinusD;
    at[3 * stride] = aMinusC - bMinusD;
}

/// Of the i-th group of four that are `stride` apart.
__device__ inline int firstElement(int i, int stride) {
    const int low = i & (stride - 1);
    return 4 * (i - low) + low;
}

}  // namespace

/// Two levels in global memory, a thread four elements.
extern "C" __global__ void walshLevels(float* data, int stride) {
    radix4(data + firstElement(blockIdx.x * blockDim.x + threadIdx.x, stride), stride);
}

/// All levels of runs of 2^log2Length elements, a block a run, in shared memory, a thread four elements.
extern "C" __global__ void walshRuns(float* data, int log2Length) {
    extern __shared__ float run[];
    const int length = 1 << log2Length;
    float* const global = data + (blockIdx.x << log2Length);
    for (int i = threadIdx.x; i < length; i += blockDim.x) run[i] = global[i];
    for (int stride = length / 4; stride > 0; stride /= 4) {
        __syncthreads();
        radix4(run + firstElement(threadIdx.x, stride), stride);
    }
    if (log2Length % 2 == 1) {
        __syncthreads();
        for (int i = threadIdx.x; i < length / 2; i += blockDim.x) {
            const float a = run[2 * i], b = run[2 * i + 1];
            run[2 * i] = a + b;
            run[2 * i + 1] = a - b;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x) global[i] = run[i];
}

/// a = a b / n, element by element.
extern "C" __global__ void walshModulate(float* a, const float* b, int n) {
    const float scale = 1.0f / n;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] *= b[i] * scale;
}
