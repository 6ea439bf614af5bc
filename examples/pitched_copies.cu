// Two and three dimensions: rows with a pitch, copies of a window, memory sets.

#include <vector>

#include "check.h"

__global__ void addOne(float* data, size_t pitch, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) ((float*)((char*)data + y * pitch))[x] += 1;
}

bool planes() {
    const int width = 37, height = 21;
    std::vector<float> in(width * height), out(width * height);
    for (size_t i = 0; i < in.size(); ++i) in[i] = float(i);
    float* device;
    size_t pitch;
    CHECK(cudaMallocPitch(&device, &pitch, width * sizeof(float), height));
    if (pitch < width * sizeof(float)) return false;
    CHECK(cudaMemcpy2D(device, pitch, in.data(), width * sizeof(float), width * sizeof(float), height,
                       cudaMemcpyHostToDevice));
    addOne<<<dim3(3, 2), dim3(16, 16)>>>(device, pitch, width, height);
    // A window of zeros: 5 columns from the third, 4 rows from the second.
    CHECK(cudaMemset2D((char*)device + 2 * pitch + 3 * sizeof(float), pitch, 0, 5 * sizeof(float), 4));
    CHECK(cudaMemcpy2D(out.data(), width * sizeof(float), device, pitch, width * sizeof(float), height,
                       cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const bool window = x >= 3 && x < 8 && y >= 2 && y < 6;
            if (out[y * width + x] != (window ? 0 : in[y * width + x] + 1)) return false;
        }
    return true;
}

bool volumes() {
    const size_t width = 10, height = 6, depth = 4;
    std::vector<int> in(width * height * depth), out(in.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = int(i * i);
    cudaPitchedPtr device;
    CHECK(cudaMalloc3D(&device, make_cudaExtent(width * sizeof(int), height, depth)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(in.data(), width * sizeof(int), width, height);
    copy.dstPtr = device;
    copy.extent = make_cudaExtent(width * sizeof(int), height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy.srcPtr = device;
    copy.dstPtr = make_cudaPitchedPtr(out.data(), width * sizeof(int), width, height);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    CHECK(cudaFree(device.ptr));
    return in == out;
}

int main() {
    const bool right = planes() && volumes();
    return verdict("pitched_copies", right);
}
