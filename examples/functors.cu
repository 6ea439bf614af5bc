// Templates, functors and lambdas in kernels.

#include <vector>

#include "check.h"

struct Saxpy {
    float a;
    __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};

struct Clamp {
    int low, high;
    __host__ __device__ int operator()(int x, int) const { return x < low ? low : x > high ? high : x; }
};

template <int kPerThread, class T, class Function>
__global__ void transform(const T* x, const T* y, T* out, int n, Function function) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
#pragma unroll
    for (int k = 0; k < kPerThread; ++k)
        if (first + k < n) out[first + k] = function(x[first + k], y[first + k]);
}

template <class T, class Function>
bool transformed(Function function) {
    const int n = 1000, perThread = 4, threads = 64;
    std::vector<T> x(n), y(n), got(n);
    for (int i = 0; i < n; ++i) {
        x[i] = T(i - 500);
        y[i] = T(2 * i);
    }
    T* device;
    CHECK(cudaMalloc(&device, 3 * n * sizeof(T)));
    CHECK(cudaMemcpy(device, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device + n, y.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    const int blocks = (n + perThread * threads - 1) / (perThread * threads);
    transform<perThread><<<blocks, threads>>>(device, device + n, device + 2 * n, n, function);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), device + 2 * n, n * sizeof(T), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int i = 0; i < n; ++i)
        if (got[i] != function(x[i], y[i])) return false;
    return true;
}

int main() {
    const bool right = transformed<float>(Saxpy{0.5f}) && transformed<int>(Clamp{-100, 250});
    return verdict("functors", right);
}
