// What goes wrong is told: at once where the call itself is wrong, later where the kernel is.

#include <cstring>

#include "check.h"

__global__ void write(int* out) {
    *out = 1;
}

bool gives(cudaError_t got, cudaError_t expected, const char* what) {
    if (got == expected) return true;
    std::printf("%s: got %s, expected %s\n", what, cudaGetErrorName(got), cudaGetErrorName(expected));
    return false;
}

int main() {
    int* good;
    CHECK(cudaMalloc(&good, sizeof(int)));
    bool right = true;

    write<<<1, 4096>>>(good);
    // CUDA 13 calls this an invalid value, those before it an invalid configuration.
    const cudaError_t refused =
        cudaPeekAtLastError() == cudaErrorInvalidConfiguration ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
    right &= gives(cudaGetLastError(), refused, "too many threads");
    right &= gives(cudaGetLastError(), cudaSuccess, "taken once");

    right &= gives(cudaMalloc(&good, size_t(1) << 60), cudaErrorMemoryAllocation, "more than there is");
    right &= gives(cudaMemcpy(good, &right, sizeof right, cudaMemcpyKind(9)), cudaErrorInvalidMemcpyDirection,
                   "no direction");
    right &= gives(cudaSetDevice(1000), cudaErrorInvalidDevice, "no such device");
    int onTheStack = 0;
    right &= gives(cudaFree(&onTheStack), cudaErrorInvalidValue, "free of something else");
    cudaGetLastError();
    right &= std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0;

    // The launch itself is fine, the kernel is not; from then on the context is lost.
    write<<<1, 1>>>(nullptr);
    right &= gives(cudaGetLastError(), cudaSuccess, "the launch of a bad kernel");
    right &= gives(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "the bad kernel");
    right &= gives(cudaMalloc(&good, 4), cudaErrorIllegalAddress, "everything after it");
    return verdict("errors", right);
}
