// Ordinary use of the runtime: each part prints one line that does not depend on the GPU.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                   \
    do {                                                              \
        const cudaError_t code = (call);                              \
        if (code != cudaSuccess) {                                    \
            std::printf("%s: %s\n", #call, cudaGetErrorString(code)); \
            return 1;                                                 \
        }                                                             \
    } while (0)

__constant__ int factors[4];
__device__ int total;
__managed__ int shown;

template <class T>
__global__ void scale(T* values, T by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= by;
}
__global__ void sum(const int* values, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&total, values[i] * factors[i % 4]);
}
__global__ void show() {
    shown += 2;
    if (threadIdx.x == 0) printf("device says %d\n", shown);
}
__global__ void rows(char* base, size_t pitch, int width) {
    base[blockIdx.x * pitch + threadIdx.x] = static_cast<char>(blockIdx.x * width + threadIdx.x);
}

static int vectors() {
    const int n = 1000;
    std::vector<float> host(n, 1.5f);
    float* device = nullptr;
    CHECK(cudaMalloc(&device, n * sizeof(float)));
    CHECK(cudaMemcpy(device, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    scale<<<(n + 127) / 128, 128>>>(device, 2.0f, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
    int right = 0;
    for (float value : host) right += value == 3.0f;
    std::printf("scaled %d\n", right);
    CHECK(cudaFree(device));
    return 0;
}

static int symbols() {
    const int f[4] = {1, 10, 100, 1000}, zero = 0, values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int *device = nullptr, result = 0;
    CHECK(cudaMemcpyToSymbol(factors, f, sizeof f));
    CHECK(cudaMemcpyToSymbol(total, &zero, sizeof zero));
    CHECK(cudaMalloc(&device, sizeof values));
    CHECK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    sum<<<1, 32>>>(device, 8);
    CHECK(cudaMemcpyFromSymbol(&result, total, sizeof result));
    void* address = nullptr;
    CHECK(cudaGetSymbolAddress(&address, total));
    int again = 0;
    CHECK(cudaMemcpy(&again, address, sizeof again, cudaMemcpyDeviceToHost));
    std::printf("sums %d %d\n", result, again);
    CHECK(cudaFree(device));
    return 0;
}

static int managed() {
    shown = 40;
    show<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    std::printf("host sees %d\n", shown);
    int* both = nullptr;
    CHECK(cudaMallocManaged(&both, 64 * sizeof(int)));
    for (int i = 0; i < 64; ++i) both[i] = i;
    scale<<<1, 64>>>(both, 3, 64);
    CHECK(cudaDeviceSynchronize());
    std::printf("managed %d\n", both[63]);
    CHECK(cudaFree(both));
    return 0;
}

static int streams() {
    const int n = 4096;
    cudaStream_t stream[2];
    int *pinned = nullptr, *device = nullptr;
    CHECK(cudaMallocHost(&pinned, 2 * n * sizeof(int)));
    CHECK(cudaMalloc(&device, 2 * n * sizeof(int)));
    for (int i = 0; i < 2 * n; ++i) pinned[i] = i;
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    for (int s = 0; s < 2; ++s) {
        CHECK(cudaStreamCreate(&stream[s]));
        int* part = device + s * n;
        CHECK(cudaMemcpyAsync(part, pinned + s * n, n * sizeof(int), cudaMemcpyHostToDevice, stream[s]));
        scale<<<n / 256, 256, 0, stream[s]>>>(part, s + 2, n);
        CHECK(cudaMemcpyAsync(pinned + s * n, part, n * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
    }
    bool called = false;
    CHECK(cudaLaunchHostFunc(
        stream[1], [](void* flag) { *static_cast<bool*>(flag) = true; }, &called));
    CHECK(cudaStreamSynchronize(stream[0]));
    CHECK(cudaStreamSynchronize(stream[1]));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    int right = 0;
    for (int i = 0; i < 2 * n; ++i) right += pinned[i] == i * (i < n ? 2 : 3);
    std::printf("streams %d, host function %d, time passed %d\n", right, called, ms > 0);
    for (cudaStream_t s : stream) CHECK(cudaStreamDestroy(s));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    return 0;
}

static int pitched() {
    const int width = 24, height = 5;
    char *device = nullptr, host[height][width], part[height][8];
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&device, &pitch, width, height));
    CHECK(cudaMemset2D(device, pitch, 0x55, width, height));
    rows<<<height, 8>>>(device, pitch, width);
    CHECK(cudaMemcpy2D(host, width, device, pitch, width, height, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2D(part, 8, device, pitch, 8, height, cudaMemcpyDeviceToHost));
    std::printf("pitched %d %d %d, pitch holds a row %d\n", host[4][7], host[4][8], part[3][7], pitch >= width);
    CHECK(cudaFree(device));

    const cudaExtent extent = make_cudaExtent(16, 3, 2);
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, extent));
    char in[2][3][16], out[2][3][16];
    for (int i = 0; i < 96; ++i) (&in[0][0][0])[i] = static_cast<char>(i);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(in, 16, 16, 3);
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(out, 16, 16, 3);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    std::printf("box %d\n", std::memcmp(in, out, sizeof in) == 0);
    CHECK(cudaFree(box.ptr));
    return 0;
}

static int threads() {
    int results[3] = {};
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t)
        all.emplace_back([t, &results] {
            int *device = nullptr, value = t + 1;
            cudaMalloc(&device, sizeof(int));
            cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice);
            scale<<<1, 1, 0, cudaStreamPerThread>>>(device, 7, 1);
            cudaStreamSynchronize(cudaStreamPerThread);
            cudaMemcpy(&results[t], device, sizeof(int), cudaMemcpyDeviceToHost);
            cudaFree(device);
        });
    for (std::thread& thread : all) thread.join();
    std::printf("threads %d %d %d\n", results[0], results[1], results[2]);
    return 0;
}

static int functions() {
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, sum));
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 128, 0));
    cudaFunction_t function = nullptr;
    CHECK(cudaGetFuncBySymbol(&function, (const void*)sum));
    std::printf("functions %d %d %d\n", attributes.maxThreadsPerBlock >= 32, blocks > 0, function != nullptr);
    int* device = nullptr;
    CHECK(cudaMalloc(&device, 32 * sizeof(int)));
    CHECK(cudaMemset(device, 0, 32 * sizeof(int)));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    CHECK(cudaLaunchKernelEx(&config, scale<int>, device, 2, 32));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device));
    return 0;
}

int main(int count, char** arguments) {
    const int failed = vectors() || symbols() || managed() || streams() || pitched() || threads() || functions();
    if (failed) return 1;
    std::printf("done\n");
    return count > 1 ? std::atoi(arguments[1]) : 0;
}
