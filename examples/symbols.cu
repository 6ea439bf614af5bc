// Variables of the device that the host fills and reads: __constant__ and __device__.

#include <vector>

#include "check.h"

const int kTaps = 5;
__constant__ float filter[kTaps];
__device__ int calls;
__device__ float largest[2];

__global__ void convolve(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < kTaps; ++k) {
        const int at = i + k - kTaps / 2;
        if (at >= 0 && at < n) sum += filter[k] * in[at];
    }
    out[i] = sum;
    atomicAdd(&calls, 1);
    if (i == 0) largest[1] = filter[2];
}

int main() {
    const int n = 3000;
    const float taps[kTaps] = {1, -2, 4, -2, 1};
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; ++i) in[i] = i % 17;

    CHECK(cudaMemcpyToSymbol(filter, taps, sizeof taps));
    const int zero = 0;
    CHECK(cudaMemcpyToSymbol(calls, &zero, sizeof zero));
    float *din, *dout;
    CHECK(cudaMalloc(&din, n * sizeof(float)));
    CHECK(cudaMalloc(&dout, n * sizeof(float)));
    CHECK(cudaMemcpy(din, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    convolve<<<(n + 127) / 128, 128>>>(din, dout, n);
    CHECK(cudaMemcpy(out.data(), dout, n * sizeof(float), cudaMemcpyDeviceToHost));

    int counted = 0;
    float middle = 0;
    size_t bytes = 0;
    void* address = nullptr;
    CHECK(cudaMemcpyFromSymbol(&counted, calls, sizeof counted));
    CHECK(cudaMemcpyFromSymbol(&middle, largest, sizeof middle, sizeof middle));
    CHECK(cudaGetSymbolSize(&bytes, filter));
    CHECK(cudaGetSymbolAddress(&address, largest));

    bool right = counted == n && middle == 4 && bytes == sizeof taps && address != nullptr;
    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int k = 0; k < kTaps; ++k) {
            const int at = i + k - kTaps / 2;
            if (at >= 0 && at < n) sum += taps[k] * in[at];
        }
        right = right && out[i] == sum;
    }
    CHECK(cudaFree(din));
    CHECK(cudaFree(dout));
    return verdict("symbols", right);
}
