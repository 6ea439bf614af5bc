// A library with kernels: compiled as one, and as the program that calls it.
#include <cstdio>

#ifdef BULKHEAD_LIBRARY

__device__ int factor = 3;
__global__ void multiply(int* numbers) {
    numbers[threadIdx.x] *= factor;
}
extern "C" cudaError_t triple(int* numbers, int count) {
    int* memory = nullptr;
    cudaMalloc(&memory, count * sizeof *numbers);
    cudaMemcpy(memory, numbers, count * sizeof *numbers, cudaMemcpyHostToDevice);
    multiply<<<1, count>>>(memory);
    const cudaError_t error = cudaGetLastError();
    cudaMemcpy(numbers, memory, count * sizeof *numbers, cudaMemcpyDeviceToHost);
    cudaFree(memory);
    return error;
}

#else

extern "C" cudaError_t triple(int* numbers, int count);
__global__ void store(int* number) {
    *number = 14;
}

int main() {
    int numbers[2] = {1, 0}, *own = nullptr;
    cudaMalloc(&own, sizeof *own);
    store<<<1, 1>>>(own);
    cudaMemcpy(&numbers[1], own, sizeof *own, cudaMemcpyDeviceToHost);
    const cudaError_t error = triple(numbers, 2);
    printf("%s: %d %d\n", cudaGetErrorName(error), numbers[0], numbers[1]);
    return 0;
}

#endif
