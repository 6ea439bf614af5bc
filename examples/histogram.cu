// A histogram: atomics in shared memory for the block, then in global memory for the grid.

#include <vector>

#include "check.h"

const int kBins = 64;

__global__ void histogram(const unsigned char* data, int n, unsigned int* bins) {
    __shared__ unsigned int local[kBins];
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i] % kBins], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

int main() {
    const int n = 20000;
    std::vector<unsigned char> data(n);
    unsigned int seed = 1;
    for (auto& d : data) d = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
    std::vector<unsigned int> expected(kBins), got(kBins);
    for (unsigned char d : data) ++expected[d % kBins];

    unsigned char* ddata;
    unsigned int* dbins;
    CHECK(cudaMalloc(&ddata, n));
    CHECK(cudaMalloc(&dbins, kBins * sizeof(unsigned int)));
    CHECK(cudaMemcpy(ddata, data.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dbins, 0, kBins * sizeof(unsigned int)));
    histogram<<<8, 128>>>(ddata, n, dbins);
    CHECK(cudaMemcpy(got.data(), dbins, kBins * sizeof(unsigned int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(ddata));
    CHECK(cudaFree(dbins));
    return verdict("histogram", got == expected);
}
