// On which SMs the blocks of launches lie, by %smid: of clusters, which lie in one GPC, and of launches of few and of
// many blocks on an idle GPU, each long enough for all to be there at once. A line a launch.
//
//     nvcc -arch=sm_90 tests/soak/block_order.cu -o block_order && ./block_order

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned kMost = 4096;

__global__ void place(unsigned* sms, unsigned long long nanoseconds) {
    extern __shared__ unsigned needed[];
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) sms[blockIdx.x] = sm;
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < nanoseconds);
}

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "block_order: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

void show(unsigned* sms, unsigned blocks, unsigned threads, unsigned kilobytes, unsigned cluster) {
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = kilobytes << 10;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = cluster > 1;
    check(cudaLaunchKernelEx(&config, place, sms, 20000ull));
    check(cudaDeviceSynchronize());
    std::printf("%u blocks of %u threads, %u KB, clusters of %u:", blocks, threads, kilobytes, cluster);
    for (unsigned i = 0; i < blocks; ++i) std::printf(" %u", sms[i]);
    std::puts("");
}

/// How many clusters there can be at once.
void count(unsigned threads, unsigned kilobytes, unsigned cluster) {
    cudaLaunchConfig_t config{};
    config.gridDim = cluster;
    config.blockDim = threads;
    config.dynamicSmemBytes = kilobytes << 10;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, place, &config));
    std::printf("%u threads, %u KB, clusters of %u: %d at once\n", threads, kilobytes, cluster, clusters);
}

}  // namespace

int main() {
    unsigned* sms = nullptr;
    check(cudaMallocManaged(&sms, kMost * sizeof(unsigned)));
    check(cudaFuncSetAttribute(place, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
    check(cudaFuncSetAttribute(place, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (const unsigned cluster : {2u, 4u, 8u, 16u})
        for (const unsigned kilobytes : {0u, 200u}) count(1024, kilobytes, cluster);
    for (const unsigned cluster : {2u, 4u, 8u, 16u})
        for (int i = 0; i < 2; ++i) show(sms, 112, 1024, 0, cluster);
    for (int i = 0; i < 2; ++i)
        for (const unsigned blocks :
             {1u, 2u, 3u, 4u, 8u, 16u, 33u, 64u, 66u, 67u, 100u, 131u, 132u, 133u, 200u, 264u, 1u})
            show(sms, blocks, 256, 0, 1);
    for (const unsigned blocks : {1u, 8u, 33u, 66u, 100u, 132u, 200u, 264u}) show(sms, blocks, 1024, 0, 1);
    for (const unsigned kilobytes : {100u, 200u})
        for (const unsigned blocks : {1u, 8u, 66u, 132u}) show(sms, blocks, 128, kilobytes, 1);
}
