// A library with NVIDIA's runtime inside, as modules of Python bring it along: loaded by dlopen, long after the program
// has started.

#include <cstdio>

__global__ void twice(int* values, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 2;
}

extern "C" void look() {
    constexpr int kCount = 1000;
    int sms = 0, *values = nullptr, host[kCount];
    for (int i = 0; i < kCount; ++i) host[i] = i;
    const cudaError_t error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    if (error != cudaSuccess) {
        std::printf("no device: %s\n", cudaGetErrorString(error));
        return;
    }
    cudaMalloc(&values, sizeof host);
    cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
    twice<<<8, 128>>>(values, kCount);
    cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += host[i] != 2 * i;
    std::printf("%d SMs, %d wrong\n", sms, wrong);
}
