// A transposition through dynamic shared memory, with rows padded against bank conflicts.

#include <vector>

#include "check.h"

__global__ void transpose(const float* in, float* out, int width, int height, int tile) {
    extern __shared__ float buffer[];
    const int pitch = tile + 1;
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    if (x < width && y < height) buffer[threadIdx.y * pitch + threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * tile + threadIdx.x;
    y = blockIdx.x * tile + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = buffer[threadIdx.x * pitch + threadIdx.y];
}

int main() {
    const int width = 130, height = 75, tile = 16;
    std::vector<float> in(width * height), out(width * height);
    for (size_t i = 0; i < in.size(); ++i) in[i] = float(i);
    float *din, *dout;
    const size_t bytes = in.size() * sizeof(float);
    CHECK(cudaMalloc(&din, bytes));
    CHECK(cudaMalloc(&dout, bytes));
    CHECK(cudaMemcpy(din, in.data(), bytes, cudaMemcpyHostToDevice));
    const dim3 block(tile, tile), grid((width + tile - 1) / tile, (height + tile - 1) / tile);
    transpose<<<grid, block, tile*(tile + 1) * sizeof(float)>>>(din, dout, width, height, tile);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), dout, bytes, cudaMemcpyDeviceToHost));

    bool right = true;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) right = right && out[x * height + y] == in[y * width + x];
    CHECK(cudaFree(din));
    CHECK(cudaFree(dout));
    return verdict("transpose", right);
}
