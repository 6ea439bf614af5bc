// What programs use beside launches and copies: graphs, captured and built, managed memory, grids that synchronise and
// clusters. Each is compared with the CPU, and the SMs are counted on which it ran. Ends with 1 if a result is wrong.
//
//     nvcc -arch=sm_90 -gencode arch=compute_90,code=compute_90 -cudart shared tests/soak/features.cu -o features
//     bulkhead isolate run --gpu cuda:0 --partition A -- ./features [SECONDS]

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

namespace cg = cooperative_groups;

constexpr unsigned kCount = 1 << 20, kThreads = 256, kBlocks = kCount / kThreads, kMostSms = 1024;

__device__ unsigned seenSms[kMostSms];

__device__ void noteSm() {
    unsigned sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) seenSms[sm % kMostSms] = 1;
}

__global__ void twiceAnd(unsigned* values, unsigned added) {
    noteSm();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = 2 * values[i] + added;
}

/// Each element moves a block further, which takes all blocks to have read before one writes.
__global__ void turn(unsigned* values, unsigned rounds) {
    noteSm();
    const unsigned all = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned value = values[(i + blockDim.x) % all];
        cg::this_grid().sync();
        values[i] = value;
        cg::this_grid().sync();
    }
}

/// Blocks of a pair exchange what they have, by each other's shared memory.
__global__ void exchange(unsigned* values) {
    noteSm();
    __shared__ unsigned mine[kThreads];
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    cluster.map_shared_rank(mine, cluster.block_rank() ^ 1)[threadIdx.x] = values[i];
    cluster.sync();
    values[i] = mine[threadIdx.x];
}

void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorName(error));
    std::exit(1);
}

bool isRight = true;

void tell(const char* what, bool right) {
    isRight = isRight && right;
    if (!right) std::printf("%s: wrong\n", what);
}

struct Arrays {
    unsigned* device = nullptr;
    std::vector<unsigned> in = std::vector<unsigned>(kCount), out = std::vector<unsigned>(kCount);
    Arrays() {
        check(cudaMalloc(&device, kCount * sizeof(unsigned)), "cudaMalloc");
        std::iota(in.begin(), in.end(), 7u);
    }
    ~Arrays() { cudaFree(device); }
    void fill() const { check(cudaMemcpy(device, in.data(), kCount * sizeof(unsigned), cudaMemcpyHostToDevice), "in"); }
    void fetch() { check(cudaMemcpy(out.data(), device, kCount * sizeof(unsigned), cudaMemcpyDeviceToHost), "out"); }
};

void captured(Arrays& a) {
    cudaStream_t stream, second;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "stream");
    check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "event");
    check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "event");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
    check(cudaMemcpyAsync(a.device, a.in.data(), kCount * 4, cudaMemcpyHostToDevice, stream), "copy in");
    check(cudaEventRecord(fork, stream), "fork");
    check(cudaStreamWaitEvent(second, fork), "fork");
    twiceAnd<<<kBlocks / 2, kThreads, 0, stream>>>(a.device, 3);
    twiceAnd<<<kBlocks / 2, kThreads, 0, second>>>(a.device + kCount / 2, 4);
    check(cudaEventRecord(join, second), "join");
    check(cudaStreamWaitEvent(stream, join), "join");
    twiceAnd<<<kBlocks, kThreads, 0, stream>>>(a.device, 5);
    check(cudaMemcpyAsync(a.out.data(), a.device, kCount * 4, cudaMemcpyDeviceToHost, stream), "copy out");
    check(cudaStreamEndCapture(stream, &graph), "end");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    for (int round = 0; round < 10; ++round) {
        std::iota(a.in.begin(), a.in.end(), 100u * static_cast<unsigned>(round));
        check(cudaGraphLaunch(exec, stream), "launch");
        check(cudaStreamSynchronize(stream), "graph");
        bool right = true;
        for (unsigned i = 0; i < kCount; ++i) right &= a.out[i] == 2 * (2 * a.in[i] + (i < kCount / 2 ? 3 : 4)) + 5;
        tell("captured graph", right);
    }
    check(cudaGraphExecDestroy(exec), "destroy");
    check(cudaGraphDestroy(graph), "destroy");
    check(cudaEventDestroy(fork), "destroy");
    check(cudaEventDestroy(join), "destroy");
    check(cudaStreamDestroy(second), "destroy");
    check(cudaStreamDestroy(stream), "destroy");
}

void built(Arrays& a) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t filling, launching, copying;
    check(cudaGraphCreate(&graph, 0), "graph");
    cudaMemsetParams fill = {};
    fill.dst = a.device;
    fill.value = 11;
    fill.elementSize = 4;
    fill.width = kCount;
    fill.height = 1;
    check(cudaGraphAddMemsetNode(&filling, graph, nullptr, 0, &fill), "fill");
    unsigned added = 6;
    void* arguments[] = {&a.device, &added};
    cudaKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void*>(twiceAnd);
    launch.gridDim = dim3(kBlocks);
    launch.blockDim = dim3(kThreads);
    launch.kernelParams = arguments;
    check(cudaGraphAddKernelNode(&launching, graph, &filling, 1, &launch), "launch");
    check(cudaGraphAddMemcpyNode1D(&copying, graph, &launching, 1, a.out.data(), a.device, kCount * 4,
                                   cudaMemcpyDeviceToHost),
          "copy");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    const auto runsRight = [&](unsigned expected) {
        check(cudaGraphLaunch(exec, nullptr), "launch");
        check(cudaStreamSynchronize(nullptr), "graph");
        tell("graph by hand", a.out == std::vector<unsigned>(kCount, expected));
    };
    runsRight(2 * 11 + 6);
    added = 8;
    fill.value = 20;
    check(cudaGraphExecKernelNodeSetParams(exec, launching, &launch), "change");
    check(cudaGraphExecMemsetNodeSetParams(exec, filling, &fill), "change");
    runsRight(2 * 20 + 8);
    check(cudaGraphExecDestroy(exec), "destroy");
    check(cudaGraphDestroy(graph), "destroy");
}

void managed() {
    unsigned* values;
    check(cudaMallocManaged(&values, kCount * 4), "cudaMallocManaged");
    std::iota(values, values + kCount, 0u);
    twiceAnd<<<kBlocks, kThreads>>>(values, 1);
    check(cudaDeviceSynchronize(), "managed");
    bool right = true;
    for (unsigned i = 0; i < kCount; ++i) right &= values[i] == 2 * i + 1;
    tell("managed memory", right);
    check(cudaFree(values), "free");
}

void together(Arrays& a) {
    int device = 0, can = 0, sms = 0, perSm = 0;
    check(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, device), "attribute");
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "attribute");
    if (!can) return static_cast<void>(std::puts("no cooperative launches"));
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, turn, kThreads, 0), "occupancy");
    const unsigned blocks = static_cast<unsigned>(sms * perSm), all = blocks * kThreads;
    unsigned rounds = 3;
    a.fill();
    void* arguments[] = {&a.device, &rounds};
    check(cudaLaunchCooperativeKernel(turn, dim3(blocks), dim3(kThreads), arguments, 0, nullptr), "cooperative launch");
    a.fetch();
    bool right = true;
    for (unsigned i = 0; i < all; ++i) right &= a.out[i] == a.in[(i + rounds * kThreads) % all];
    tell("grid that synchronises", right);
}

void inClusters(Arrays& a) {
    int can = 0, most = 0;
    check(cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, 0), "attribute");
    if (!can) return static_cast<void>(std::puts("no clusters"));
    cudaLaunchAttribute pairs = {};
    pairs.id = cudaLaunchAttributeClusterDimension;
    pairs.val.clusterDim.x = 2;
    pairs.val.clusterDim.y = pairs.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(kBlocks);
    config.blockDim = dim3(kThreads);
    config.attrs = &pairs;
    config.numAttrs = 1;
    check(cudaOccupancyMaxActiveClusters(&most, exchange, &config), "clusters");
    std::printf("clusters of 2 at a time: %d\n", most);
    a.fill();
    check(cudaLaunchKernelEx(&config, exchange, a.device), "launch of clusters");
    a.fetch();
    bool right = true;
    for (unsigned i = 0; i < kCount; ++i) right &= a.out[i] == a.in[i ^ kThreads];
    tell("clusters", right);
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    const auto begin = std::chrono::steady_clock::now();
    int rounds = 0;
    do {
        Arrays a;
        captured(a);
        built(a);
        managed();
        together(a);
        inClusters(a);
        ++rounds;
    } while (isRight && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds);
    std::vector<unsigned> seen(kMostSms);
    check(cudaMemcpyFromSymbol(seen.data(), seenSms, sizeof seenSms), "SMs");
    std::printf("%s; %u SMs; %d rounds of graphs, managed memory, synchronising grids and clusters\n",
                isRight ? "right" : "wrong", std::accumulate(seen.begin(), seen.end(), 0u), rounds);
    return isRight ? 0 : 1;
}
