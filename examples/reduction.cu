// A sum by shuffles within warps, shared memory between them, and one atomic a block.

#include <cmath>
#include <vector>

#include "check.h"

template <class T>
__device__ T warpSum(T value) {
    for (int distance = warpSize / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

template <class T>
__global__ void sum(const T* in, int n, T* out) {
    __shared__ T partial[32];
    T value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += in[i];
    value = warpSum(value);
    const int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / warpSize ? partial[lane] : T(0);
        value = warpSum(value);
        if (lane == 0) atomicAdd(out, value);
    }
}

template <class T>
bool sums(double tolerance) {
    const int n = 12345;
    std::vector<T> in(n);
    double expected = 0;
    for (int i = 0; i < n; ++i) expected += in[i] = T(i % 31) / 4;
    T *din, *dout, got = 0;
    CHECK(cudaMalloc(&din, n * sizeof(T)));
    CHECK(cudaMalloc(&dout, sizeof(T)));
    CHECK(cudaMemcpy(din, in.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dout, 0, sizeof(T)));
    sum<<<10, 256>>>(din, n, dout);
    CHECK(cudaMemcpy(&got, dout, sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(din));
    CHECK(cudaFree(dout));
    return std::fabs(double(got) - expected) <= tolerance;
}

int main() {
    const bool right = sums<float>(0.5) && sums<double>(0) && sums<int>(0);
    return verdict("reduction", right);
}
