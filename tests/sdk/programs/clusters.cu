// Clusters of blocks by way of the runtime and cooperative groups: each other's shared memory, against arithmetic.

#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

constexpr unsigned kBlocks = 16, kCluster = 4, kThreads = 96;

__global__ void neighbours(unsigned* out) {
    __shared__ unsigned words[kThreads], sum;
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned t = threadIdx.x, rank = cluster.block_rank();
    words[t] = blockIdx.x * 1000 + t;
    if (t == 0) sum = 0;
    cluster.sync();
    const unsigned next = (rank + 1) % cluster.num_blocks();
    const unsigned* other = cluster.map_shared_rank(words, (int)next);
    const unsigned seen = other[kThreads - 1 - t];
    atomicAdd(cluster.map_shared_rank(&sum, 0), cluster.thread_rank());
    auto token = cluster.barrier_arrive();
    const unsigned asked = cluster.query_shared_rank(other);
    cluster.barrier_wait(static_cast<cg::cluster_group::arrival_token&&>(token));
    const unsigned total = *cluster.map_shared_rank(&sum, 0);
    cluster.sync();
    unsigned* row = out + (blockIdx.x * kThreads + t) * 4;
    row[0] = seen;
    row[1] = total;
    row[2] = asked * 100 + cluster.num_threads();
    row[3] = (unsigned)(cg::this_grid().cluster_rank() * 100 + cg::this_grid().num_clusters());
}

static cudaError_t launch(unsigned grid, unsigned cluster, unsigned* out) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid, 1, 1);
    config.blockDim = dim3(kThreads, 1, 1);
    config.attrs = &attribute;
    config.numAttrs = 1;
    int fitting = 0;
    if (cluster <= 8) {
        expect(
            cudaOccupancyMaxActiveClusters(&fitting, (const void*)neighbours, &config) == cudaSuccess || grid % cluster,
            "no occupancy of %u", cluster);
        expect(fitting > 0 || grid % cluster, "no cluster of %u fits", cluster);
    }
    return cudaLaunchKernelEx(&config, neighbours, out);
}

int main() {
    unsigned* out = shared<unsigned>(kBlocks * kThreads * 4);
    expect(launch(kBlocks, kCluster, out) == cudaSuccess, "not launched");
    synchronize();
    const unsigned all = kCluster * kThreads;
    for (unsigned b = 0; b < kBlocks; ++b)
        for (unsigned t = 0; t < kThreads; ++t) {
            const unsigned* row = out + (b * kThreads + t) * 4;
            const unsigned next = b / kCluster * kCluster + (b + 1) % kCluster;
            expect(row[0] == next * 1000 + kThreads - 1 - t, "%u %u: %u", b, t, row[0]);
            expect(row[1] == all * (all - 1) / 2, "%u %u: a sum of %u", b, t, row[1]);
            expect(row[2] == next % kCluster * 100 + all, "%u %u: rank and size %u", b, t, row[2]);
            expect(row[3] == b / kCluster * 100 + kBlocks / kCluster, "%u %u: cluster %u", b, t, row[3]);
        }
    expect(launch(15, 4, out) == cudaErrorInvalidClusterSize, "15 blocks in clusters of 4");
    expect(launch(32, 16, out) == cudaErrorInvalidClusterSize, "clusters of 16");
    cudaGetLastError();
    return finished();
}
