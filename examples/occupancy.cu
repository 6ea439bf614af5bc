// What the device is, and how a kernel fills it.

#include "check.h"

__global__ void kernel(float* data, int n) {
    extern __shared__ float buffer[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    buffer[threadIdx.x] = i < n ? data[i] : 0;
    __syncthreads();
    if (i < n) data[i] = buffer[blockDim.x - 1 - threadIdx.x];
}

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::printf("%s: compute capability %d.%d, %d multiprocessors, %zu MB\n", properties.name, properties.major,
                properties.minor, properties.multiProcessorCount, properties.totalGlobalMem >> 20);

    int gridSize = 0, blockSize = 0, blocks = 0, fewer = 0, multiprocessors = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&gridSize, &blockSize, kernel));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, kernel, 256, properties.sharedMemPerBlock));
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, kernel));
    std::printf(
        "best block %d, grid %d; %d blocks of 256 fit a multiprocessor, %d with all shared memory; %d registers\n",
        blockSize, gridSize, blocks, fewer, attributes.numRegs);

    bool right = properties.warpSize == 32 && properties.multiProcessorCount == multiprocessors;
    right = right && blockSize >= 32 && blockSize <= properties.maxThreadsPerBlock && blockSize % 32 == 0;
    right = right && gridSize >= multiprocessors && gridSize % multiprocessors == 0;
    right = right && gridSize / multiprocessors * blockSize <= properties.maxThreadsPerMultiProcessor;
    right =
        right && blocks >= 1 && blocks * 256 <= properties.maxThreadsPerMultiProcessor && fewer >= 1 && fewer <= blocks;
    right = right && attributes.maxThreadsPerBlock >= 256 && attributes.numRegs > 0 && attributes.sharedSizeBytes == 0;
    return verdict("occupancy", right);
}
