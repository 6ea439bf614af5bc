// Times of kernels by events: twice the work takes longer.

#include "check.h"

__global__ void spin(float* out, int rounds) {
    float x = threadIdx.x;
    for (int i = 0; i < rounds; ++i) x = x * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

float milliseconds(float* out, int rounds) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    spin<<<16, 128>>>(out, rounds);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float time = 0;
    CHECK(cudaEventElapsedTime(&time, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return time;
}

int main() {
    float* out;
    CHECK(cudaMalloc(&out, 16 * 128 * sizeof(float)));
    milliseconds(out, 1);  // the first launch pays for loading the code
    const float once = milliseconds(out, 1000), twice = milliseconds(out, 2000);
    CHECK(cudaFree(out));
    std::printf("1000 rounds: %.4f ms, 2000 rounds: %.4f ms\n", once, twice);
    return verdict("events", once > 0 && twice > once);
}
