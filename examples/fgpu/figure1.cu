// Figure 1 of the Fractional GPUs paper, with the names printed there.

#define FGPU_PAPER_NAMES
#include <fgpu.h>

#include <cstdio>
#include <vector>

__global__ void FGPU_DEFINE_KERNEL(vectorAdd, float* a, float* b, float* c) {
    dim3 _blockIdx;
    FGPU_BLOCK_INIT();
    FGPU_FOR_EACH_BLOCK(_blockIdx) {
        int i = _blockIdx.x * blockDim.x + threadIdx.x;
        c[i] = a[i] + b[i];
    }
}

int main() {
    const int partition = 1;
    if (fgpu_init(partition) < 0) return 1;
    const int nt = 256, elements = 64 * nt, nb = elements / nt;
    std::vector<float> host(elements);
    float *A, *B, *C;
    for (float** array : {&A, &B, &C}) cudaMalloc(array, elements * sizeof(float));
    for (int i = 0; i < elements; ++i) host[i] = 0.5f * i;
    cudaMemcpy(A, host.data(), elements * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(B, host.data(), elements * sizeof(float), cudaMemcpyHostToDevice);
    if (FGPU_LAUNCH_KERNEL(vectorAdd, nb, nt, A, B, C) < 0 || fgpu_color_stream_synchronize() < 0) return 1;
    cudaMemcpy(host.data(), C, elements * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < elements; ++i) wrong += host[i] != 1.0f * i;
    std::printf("figure1: %s\n", wrong ? "failed" : "passed");
    fgpu_deinit();
    return wrong != 0;
}
