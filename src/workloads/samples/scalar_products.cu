// Scalar products of many pairs of vectors. A block takes one pair after the other: partial sums in shared memory, each
// of every kPartials-th element, then a tree.

#include <cuda_runtime.h>

constexpr int kPartials = 1024;

extern "C" __global__ void scalarProducts(float* products, const float* a, const float* b, int vectors, int elements) {
    __shared__ float partials[kPartials];
    for (int vector = blockIdx.x; vector < vectors; vector += gridDim.x) {
        const int begin = vector * elements, end = begin + elements;
        for (int p = threadIdx.x; p < kPartials; p += blockDim.x) {
            float sum = 0;
            for (int i = begin + p; i < end; i += kPartials) sum += a[i] * b[i];
            partials[p] = sum;
        }
        for (int half = kPartials / 2; half > 0; half /= 2) {
            __syncthreads();
            for (int p = threadIdx.x; p < half; p += blockDim.x) partials[p] += partials[half + p];
        }
        if (threadIdx.x == 0) products[vector] = partials[0];
        __syncthreads();
    }
}
