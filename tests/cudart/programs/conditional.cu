// A loop of a graph that a kernel ends, as nvcc builds it: with relocatable device code and its device runtime.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void countDown(int* left, cudaGraphConditionalHandle handle) {
    --*left;
    cudaGraphSetConditional(handle, *left > 0);
}
__global__ void countUp(int* rounds) {
    ++*rounds;
}

int main() {
    int *left = nullptr, *rounds = nullptr;
    cudaMallocManaged(&left, sizeof *left);
    cudaMallocManaged(&rounds, sizeof *rounds);
    *left = 5;
    *rounds = 0;

    cudaGraph_t graph;
    cudaGraphConditionalHandle handle;
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    cudaGraphNodeParams loop = {};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = handle;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node;
    printf("node: %s\n", cudaGetErrorName(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop)));

    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaStreamBeginCaptureToGraph(stream, loop.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                  cudaStreamCaptureModeGlobal);
    countUp<<<1, 1, 0, stream>>>(rounds);
    countDown<<<1, 1, 0, stream>>>(left, handle);
    const cudaError_t launched = cudaGetLastError();
    printf("launches: %s\n", cudaGetErrorName(launched));
    cudaStreamEndCapture(stream, nullptr);
    if (launched != cudaSuccess) return 1;  // the loop would never end

    cudaGraphExec_t exec;
    printf("instance: %s\n", cudaGetErrorName(cudaGraphInstantiate(&exec, graph, 0)));
    for (int run = 0; run < 2; ++run) {
        *left = 5 + run;
        cudaGraphLaunch(exec, stream);
        const cudaError_t ended = cudaStreamSynchronize(stream);
        printf("run: %s, %d rounds so far\n", cudaGetErrorName(ended), *rounds);
    }
    return 0;
}
