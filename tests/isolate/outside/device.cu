// Says how many SMs the CUDA runtime sees, or allocates without having asked.

#include <cstdio>

int main(int argc, char**) {
    cudaError_t error = cudaSuccess;
    if (argc > 1) {
        void* memory = nullptr;
        error = cudaMalloc(&memory, 1 << 20);
        if (error == cudaSuccess) std::printf("allocated at %p\n", memory);
    } else {
        cudaDeviceProp properties;
        error = cudaGetDeviceProperties(&properties, 0);
        if (error == cudaSuccess) std::printf("%d SMs\n", properties.multiProcessorCount);
    }
    if (error != cudaSuccess) std::printf("no device: %s\n", cudaGetErrorString(error));
}
