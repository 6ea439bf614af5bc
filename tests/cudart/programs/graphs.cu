// Graphs as programs use them: captured and built by hand, launched often, changed. What the GPU makes is compared with
// what the host computes.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                   \
    do {                                                              \
        const cudaError_t code = (call);                              \
        if (code != cudaSuccess) {                                    \
            std::printf("%s: %s\n", #call, cudaGetErrorString(code)); \
            return 1;                                                 \
        }                                                             \
    } while (0)
#define EXPECT(condition)                            \
    do {                                             \
        if (!(condition)) {                          \
            std::printf("not so: %s\n", #condition); \
            return 1;                                \
        }                                            \
    } while (0)

__device__ int offset;
__device__ int total;

__global__ void scaleAndAdd(int* values, int by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = values[i] * by + offset;
}
__global__ void reduce(const int* values, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&total, values[i]);
}

static const int n = 300;

static int captured() {
    std::vector<int> host(n), expected(n);
    for (int i = 0; i < n; ++i) host[i] = expected[i] = i % 7;
    const int one = 1;
    int *device = nullptr, *pinned = nullptr;
    cudaStream_t stream, other;
    cudaEvent_t fork, join;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, sizeof(int)));
    CHECK(cudaMemcpyToSymbol(offset, &one, sizeof one));
    CHECK(cudaMemcpy(device, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));

    int* zero = nullptr;
    CHECK(cudaGetSymbolAddress((void**)&zero, total));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    CHECK(cudaMemsetAsync(zero, 0, sizeof(int), other));
    scaleAndAdd<<<3, 128, 0, stream>>>(device, 2, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    reduce<<<1, 64, 0, stream>>>(device, n);
    CHECK(cudaMemcpyAsync(pinned, zero, sizeof(int), cudaMemcpyDeviceToHost, stream));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 4);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 100; ++round) {
        if (round % 10 == 0) {  // before numbers outgrow an int
            CHECK(cudaMemcpyAsync(device, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
            expected = host;
        }
        CHECK(cudaGraphLaunch(exec, stream));
        for (int& value : expected) value = value * 2 + 1;
    }
    CHECK(cudaStreamSynchronize(stream));
    int sum = 0;
    for (int value : expected) sum += value;
    EXPECT(*pinned == sum);
    std::vector<int> result(n);
    CHECK(cudaMemcpy(result.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(result == expected);

    // The same work with another factor, taken over by the executable graph.
    cudaGraph_t changed;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    CHECK(cudaMemsetAsync(zero, 0, sizeof(int), other));
    scaleAndAdd<<<3, 128, 0, stream>>>(device, -1, n);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    reduce<<<1, 64, 0, stream>>>(device, n);
    CHECK(cudaMemcpyAsync(pinned, zero, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &changed));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, changed, &info));
    EXPECT(info.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(*pinned == n - sum);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(changed));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    return 0;
}

static void count(void* data) {
    ++*static_cast<int*>(data);
}

static int byHand() {
    int values[4] = {1, 2, 3, 4}, result[4] = {}, calls = 0, five = 5, by = 3, size = 4;
    int* device = nullptr;
    CHECK(cudaMalloc(&device, sizeof values));
    cudaGraph_t graph;
    cudaGraphNode_t in, symbol, kernel, out, host;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&in, graph, nullptr, 0, device, values, sizeof values, cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, offset, &five, sizeof five, 0,
                                         cudaMemcpyHostToDevice));
    void* arguments[] = {&device, &by, &size};
    cudaKernelNodeParams launch = {};
    launch.func = (void*)scaleAndAdd;
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(32);
    launch.kernelParams = arguments;
    const cudaGraphNode_t first[] = {in, symbol};
    CHECK(cudaGraphAddKernelNode(&kernel, graph, first, 2, &launch));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(device, sizeof values, 4, 1);
    copy.dstPtr = make_cudaPitchedPtr(result, sizeof values, 4, 1);
    copy.extent = make_cudaExtent(sizeof values, 1, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaGraphAddMemcpyNode(&out, graph, &kernel, 1, &copy));
    cudaHostNodeParams call = {count, &calls};
    CHECK(cudaGraphAddHostNode(&host, graph, &out, 1, &call));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; ++i) EXPECT(result[i] == values[i] * 3 + 5);
    EXPECT(calls == 1);

    cudaKernelNodeParams told;
    CHECK(cudaGraphKernelNodeGetParams(kernel, &told));
    EXPECT(told.func == (void*)scaleAndAdd && *(int*)told.kernelParams[1] == 3 && told.blockDim.x == 32);
    by = 10;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; ++i) EXPECT(result[i] == values[i] * 10 + 5);
    CHECK(cudaGraphNodeSetEnabled(exec, kernel, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; ++i) EXPECT(result[i] == values[i]);
    EXPECT(calls == 3);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(device));
    return 0;
}

static int memory() {
    int result = 0;
    int* device = nullptr;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&device, 1024, stream));
    CHECK(cudaMemsetAsync(device, 1, 4, stream));
    CHECK(cudaMemcpyAsync(&result, device, 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(device, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(result == 0x01010101);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return 0;
}

static int refused() {
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    void* pointer = nullptr;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT(cudaMalloc(&pointer, 4) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMalloc(&pointer, 4));
    CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT(graph != nullptr);
    cudaGetLastError();
    return 0;
}

#ifdef WITH_CONDITIONS
__global__ void countDown(int* left, cudaGraphConditionalHandle handle) {
    cudaGraphSetConditional(handle, --*left != 0);
}

static int loop() {
    int left = 6, two = 2, one = 1, values[1] = {3}, expected = 3;
    int *counter = nullptr, *device = nullptr;
    CHECK(cudaMemcpyToSymbol(offset, &one, sizeof one));
    CHECK(cudaMalloc(&counter, sizeof left));
    CHECK(cudaMalloc(&device, sizeof values));
    CHECK(cudaMemcpy(counter, &left, sizeof left, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams settings = {cudaGraphNodeTypeConditional};
    settings.conditional.handle = handle;
    settings.conditional.type = cudaGraphCondTypeWhile;
    settings.conditional.size = 1;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &settings));
    const cudaGraph_t body = settings.conditional.phGraph_out[0];
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
    scaleAndAdd<<<1, 1, 0, stream>>>(device, two, 1);
    countDown<<<1, 1, 0, stream>>>(counter, handle);
    cudaGraph_t captured;
    CHECK(cudaStreamEndCapture(stream, &captured));
    EXPECT(captured == body);
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < left; ++i) expected = expected * two + one;
    CHECK(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
    EXPECT(values[0] == expected);
    return 0;
}
#else
// nvcc links what sets a condition only with -rdc=true.
static int loop() {
    return 0;
}
#endif

int main() {
    if (captured() || byHand() || memory() || refused() || loop()) return 1;
    std::printf("graphs: passed\n");
    return 0;
}
