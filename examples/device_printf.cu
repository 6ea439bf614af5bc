// printf on the device: text appears when the host waits.

#include "check.h"

__global__ void greet(const char* name, float value) {
    printf("thread %d of block %d says hello to %s: %.2f, %s\n", threadIdx.x, blockIdx.x, name, value * threadIdx.x,
           threadIdx.x % 2 ? "odd" : "even");
}

int main() {
    char* name;
    CHECK(cudaMallocManaged(&name, 16));
    std::snprintf(name, 16, "%s", "the host");
    greet<<<2, 3>>>(name, 1.25f);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(name));
    return verdict("device_printf", true);
}
