// A kernel that reads and writes the host's own memory.

#include <cstdlib>

#include "check.h"

__global__ void square(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}

int main() {
    const int n = 5000;
    const size_t bytes = n * sizeof(int);
    int *in, *out, *deviceIn, *deviceOut;
    CHECK(cudaHostAlloc(&in, bytes, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&out, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    CHECK(cudaHostGetDevicePointer(&deviceIn, in, 0));
    CHECK(cudaHostGetDevicePointer(&deviceOut, out, 0));
    for (int i = 0; i < n; ++i) in[i] = i - n / 2;
    square<<<(n + 255) / 256, 256>>>(deviceIn, deviceOut, n);
    CHECK(cudaDeviceSynchronize());

    bool right = true;
    for (int i = 0; i < n; ++i) right = right && out[i] == in[i] * in[i];

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, in));
    right = right && attributes.type == cudaMemoryTypeHost && attributes.devicePointer == deviceIn;
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    return verdict("mapped_memory", right);
}
