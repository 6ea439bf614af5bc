// A kernel whose device code cannot run here, by how it is compiled.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void nothing() {}

int main() {
    nothing<<<1, 1>>>();
    std::printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
    cudaFuncAttributes attributes;
    std::printf("attributes: %s\n", cudaGetErrorName(cudaFuncGetAttributes(&attributes, nothing)));
    return 0;
}
