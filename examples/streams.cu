// Pieces of an array on four streams: pinned memory, asynchronous copies, an event that one stream waits for.

#include "check.h"

__global__ void scale(float* data, int n, float factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

int main() {
    const int streams = 4, piece = 4096, n = streams * piece;
    float *host, *device;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    for (int i = 0; i < n; ++i) host[i] = 1.0f + i % 100;

    cudaStream_t stream[streams];
    cudaEvent_t first;
    CHECK(cudaEventCreateWithFlags(&first, cudaEventDisableTiming));
    for (int s = 0; s < streams; ++s) {
        CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
        float* const part = device + s * piece;
        CHECK(cudaMemcpyAsync(part, host + s * piece, piece * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
        scale<<<piece / 128, 128, 0, stream[s]>>>(part, piece, s + 2.0f);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaEventRecord(first, stream[0]));
    // The last stream works on the first piece too, once that is done.
    CHECK(cudaStreamWaitEvent(stream[streams - 1], first, 0));
    scale<<<piece / 128, 128, 0, stream[streams - 1]>>>(device, piece, 10.0f);
    CHECK(cudaEventRecord(first, stream[streams - 1]));
    CHECK(cudaStreamWaitEvent(stream[0], first, 0));
    for (int s = 0; s < streams; ++s)
        CHECK(cudaMemcpyAsync(host + s * piece, device + s * piece, piece * sizeof(float), cudaMemcpyDeviceToHost,
                              stream[s]));
    bool right = true;
    for (int s = 0; s < streams; ++s) CHECK(cudaStreamSynchronize(stream[s]));
    for (int i = 0; i < n; ++i) {
        const int s = i / piece;
        const float expected = (1.0f + i % 100) * (s + 2.0f) * (s == 0 ? 10.0f : 1.0f);
        right = right && host[i] == expected;
    }
    for (int s = 0; s < streams; ++s) right = right && cudaStreamQuery(stream[s]) == cudaSuccess;
    for (int s = 0; s < streams; ++s) CHECK(cudaStreamDestroy(stream[s]));
    CHECK(cudaEventDestroy(first));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    return verdict("streams", right);
}
