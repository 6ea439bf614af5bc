// What the runtime answers to mistakes: one line a case. errors.expected is what NVIDIA's own runtime and driver print
// (CUDA 13.0, driver 580, H200).
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

__device__ int counter[4];
__constant__ float weights[8];
__global__ void touch(int* p) {
    p[threadIdx.x] = 1;
}
__global__ void fault(int* p) {
    *p = 1;
}
__global__ void shared(int* p) {
    extern __shared__ int buffer[];
    buffer[threadIdx.x] = 1;
    p[threadIdx.x] = buffer[threadIdx.x];
}
static void notAKernel() {}

static void say(const char* what, cudaError_t code) {
    std::printf("%s: %s\n", what, cudaGetErrorName(code));
}
/// A launch reports through the last error.
static void sayLast(const char* what) {
    const cudaError_t peeked = cudaPeekAtLastError(), got = cudaGetLastError(), after = cudaGetLastError();
    std::printf("%s: %s %s %s\n", what, cudaGetErrorName(peeked), cudaGetErrorName(got), cudaGetErrorName(after));
}

static void devices() {
    int value = 0, count = 0;
    cudaGetDeviceCount(&count);
    cudaDeviceProp properties;
    say("set device beyond the last", cudaSetDevice(count));
    say("set device -1", cudaSetDevice(-1));
    say("properties of no device", cudaGetDeviceProperties(&properties, count));
    say("attribute that is none", cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
    say("limit that is none", cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1));
    sayLast("the last error of these");
}

static void memory() {
    int *p = nullptr, host[16] = {};
    void* q = nullptr;
    say("malloc of 0 bytes", cudaMalloc(&q, 0));
    std::printf("its pointer: %s\n", q ? "something" : "null");
    say("malloc of too much", cudaMalloc(&q, size_t(1) << 50));
    say("malloc", cudaMalloc(&p, sizeof host));
    say("free of null", cudaFree(nullptr));
    say("free of a host pointer", cudaFree(host));
    say("free of the middle", cudaFree(p + 1));
    say("copy in", cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice));
    say("copy of 0 bytes to nowhere", cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
    say("copy in beyond the end", cudaMemcpy(p, std::vector<char>(4 << 20).data(), 4 << 20, cudaMemcpyHostToDevice));
    say("copy in to the host", cudaMemcpy(host, host + 8, 4, cudaMemcpyHostToDevice));
    say("copy in from the device", cudaMemcpy(p, p + 8, 4, cudaMemcpyHostToDevice));
    say("copy out from the host", cudaMemcpy(host, host + 8, 4, cudaMemcpyDeviceToHost));
    say("copy out to the device", cudaMemcpy(p, p + 8, 4, cudaMemcpyDeviceToHost));
    say("copy of no kind", cudaMemcpy(p, host, 4, static_cast<cudaMemcpyKind>(77)));
    say("copy by pointers", cudaMemcpy(host, p, 4, cudaMemcpyDefault));
    say("copy of rows wider than their pitch", cudaMemcpy2D(p, 4, host, 4, 8, 2, cudaMemcpyHostToDevice));
    say("memset of a host pointer", cudaMemset(host, 0, 4));
    say("free", cudaFree(p));
    say("free again", cudaFree(p));
    say("free of host memory that is none", cudaFreeHost(host));
    say("device pointer of host memory that is none", cudaHostGetDevicePointer(&q, host, 0));
    cudaPointerAttributes attributes;
    say("attributes of a host pointer", cudaPointerGetAttributes(&attributes, host));
    std::printf("its type: %d\n", static_cast<int>(attributes.type));
    cudaGetLastError();
}

static void symbols() {
    int values[5] = {};
    void* address = nullptr;
    size_t bytes = 0;
    say("copy to a symbol", cudaMemcpyToSymbol(counter, values, 16));
    say("copy beyond a symbol", cudaMemcpyToSymbol(counter, values, 20));
    say("copy beyond by offset", cudaMemcpyToSymbol(counter, values, 16, 4));
    say("copy to a symbol, out", cudaMemcpyToSymbol(counter, values, 16, 0, cudaMemcpyDeviceToHost));
    say("copy to no symbol", cudaMemcpyToSymbol((const void*)values, values, 4));
    say("address of no symbol", cudaGetSymbolAddress(&address, (const void*)values));
    say("size of a symbol", cudaGetSymbolSize(&bytes, weights));
    std::printf("its size: %zu\n", bytes);
    cudaGetLastError();
}

static void handles() {
    cudaStream_t stream = nullptr;
    cudaEvent_t a = nullptr, b = nullptr, untimed = nullptr;
    float ms = 0;
    say("stream with odd flags", cudaStreamCreateWithFlags(&stream, 0xff));
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
    say("time between events not recorded", cudaEventElapsedTime(&ms, a, b));
    say("query of an event not recorded", cudaEventQuery(a));
    cudaEventRecord(a);
    cudaEventRecord(untimed);
    cudaEventSynchronize(untimed);
    say("time to an event without timing", cudaEventElapsedTime(&ms, a, untimed));
    say("record of no event", cudaEventRecord(nullptr));
    say("end of no event", cudaEventDestroy(nullptr));
    say("end of no stream", cudaStreamDestroy(nullptr));
    say("event of no flags", cudaEventCreateWithFlags(&b, 0xffff));
    cudaGetLastError();
}

static void launches() {
    int* p = nullptr;
    cudaMalloc(&p, 1 << 16);
    touch<<<0, 32>>>(p);
    sayLast("no blocks");
    touch<<<1, 0>>>(p);
    sayLast("no threads");
    touch<<<1, 1025>>>(p);
    sayLast("too many threads");
    touch<<<1, dim3(1, 1, 65)>>>(p);
    sayLast("a block too deep");
    touch<<<dim3(1, 65536), 1>>>(p);
    sayLast("a grid too wide");
    shared<<<1, 32, 300 << 10>>>(p);
    sayLast("too much shared memory");
    shared<<<1, 32, 49 << 10>>>(p);
    sayLast("more shared memory than was asked for");
    say("asking for too much of it",
        cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 << 10));
    cudaGetLastError();
    void* arguments[] = {&p};
    say("launch of what is no kernel", cudaLaunchKernel((const void*)notAKernel, dim3(1), dim3(32), arguments, 0, 0));
    say("attributes of what is no kernel", [] {
        cudaFuncAttributes attributes;
        return cudaFuncGetAttributes(&attributes, (const void*)notAKernel);
    }());
    say("direct launch of no blocks", cudaLaunchKernel((const void*)touch, dim3(0), dim3(32), arguments, 0, 0));
    say("direct launch of too many threads",
        cudaLaunchKernel((const void*)touch, dim3(1), dim3(2048), arguments, 0, 0));
    say("cooperative launch of no threads",
        cudaLaunchCooperativeKernel((const void*)touch, dim3(1), dim3(0), arguments, 0, 0));
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(2048);
    say("configured launch of too many threads", cudaLaunchKernelExC(&config, (const void*)touch, arguments));
    int blocks = 0;
    cudaFunction_t function = nullptr;
    say("occupancy of what is no kernel",
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)notAKernel, 32, 0));
    say("occupancy of no threads", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)touch, 0, 0));
    say("function of what is no kernel", cudaGetFuncBySymbol(&function, (const void*)notAKernel));
    say("attribute of what is no kernel",
        cudaFuncSetAttribute((const void*)notAKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
    say("cooperative launch of more than fits",
        cudaLaunchCooperativeKernel((const void*)touch, dim3(1 << 20), dim3(1024), arguments, 0, 0));
    cudaGetLastError();
    touch<<<1, 32>>>(p);
    sayLast("a good launch");
    say("synchronize", cudaDeviceSynchronize());
    cudaFree(p);
}

static void faults() {
    int value = 0, *q = nullptr;
    cudaStream_t stream = nullptr;
    fault<<<1, 1>>>(reinterpret_cast<int*>(0x5000));
    sayLast("launch that will fault");
    say("synchronize after the fault", cudaDeviceSynchronize());
    sayLast("the last error");
    say("malloc after the fault", cudaMalloc(&q, 4));
    say("copy after the fault", cudaMemcpy(&value, q, 4, cudaMemcpyDeviceToHost));
    touch<<<1, 1>>>(nullptr);
    sayLast("launch after the fault");
    say("stream after the fault", cudaStreamCreate(&stream));
    say("reset", cudaDeviceReset());
}

int main() {
    devices();
    memory();
    symbols();
    handles();
    launches();
    faults();
    return 0;
}
