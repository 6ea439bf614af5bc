// Cooperative groups within a warp: tiles, reductions, ballots, and threads that share a label.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void rows(const int* in, int* sums, int* largest, unsigned* positive) {
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<8>(block);
    const int value = in[blockIdx.x * blockDim.x + block.thread_rank()];
    const int sum = cg::reduce(tile, value, cg::plus<int>());
    const int most = cg::reduce(tile, value, cg::greater<int>());
    const unsigned mask = tile.ballot(value > 0);
    const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (tile.thread_rank() == 0) {
        sums[row] = sum;
        largest[row] = most;
        positive[row] = mask;
    }
}

__global__ void compact(const int* in, int* out, int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] <= 0) return;
    // One atomic for all threads that came this far.
    const cg::coalesced_group active = cg::coalesced_threads();
    int first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(count, (int)active.size());
    out[active.shfl(first, 0) + active.thread_rank()] = in[i];
}

int main() {
    const int n = 1024, rowsOf8 = n / 8;
    std::vector<int> in(n), sums(rowsOf8), largest(rowsOf8), packed(n);
    std::vector<unsigned> positive(rowsOf8);
    for (int i = 0; i < n; ++i) in[i] = i * 7919 % 201 - 100;
    int *din, *dsums, *dlargest, *dpacked, *dcount, count = 0;
    unsigned* dpositive;
    CHECK(cudaMalloc(&din, n * sizeof(int)));
    CHECK(cudaMalloc(&dsums, rowsOf8 * sizeof(int)));
    CHECK(cudaMalloc(&dlargest, rowsOf8 * sizeof(int)));
    CHECK(cudaMalloc(&dpositive, rowsOf8 * sizeof(unsigned)));
    CHECK(cudaMalloc(&dpacked, n * sizeof(int)));
    CHECK(cudaMalloc(&dcount, sizeof(int)));
    CHECK(cudaMemcpy(din, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(dcount, 0, sizeof(int)));
    rows<<<n / 128, 128>>>(din, dsums, dlargest, dpositive);
    compact<<<n / 128, 128>>>(din, dpacked, dcount, n);
    CHECK(cudaMemcpy(sums.data(), dsums, rowsOf8 * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(largest.data(), dlargest, rowsOf8 * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(positive.data(), dpositive, rowsOf8 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(packed.data(), dpacked, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&count, dcount, sizeof count, cudaMemcpyDeviceToHost));

    bool right = true;
    long expectedTotal = 0, gotTotal = 0;
    int expectedCount = 0;
    for (int r = 0; r < rowsOf8; ++r) {
        int sum = 0, most = in[8 * r];
        unsigned mask = 0;
        for (int k = 0; k < 8; ++k) {
            const int value = in[8 * r + k];
            sum += value;
            if (value > most) most = value;
            if (value > 0) {
                mask |= 1u << k;
                ++expectedCount;
                expectedTotal += value;
            }
        }
        right = right && sums[r] == sum && largest[r] == most && positive[r] == mask;
    }
    for (int i = 0; i < count; ++i) {
        right = right && packed[i] > 0;
        gotTotal += packed[i];
    }
    right = right && count == expectedCount && gotTotal == expectedTotal;
    for (void* p : {(void*)din, (void*)dsums, (void*)dlargest, (void*)dpositive, (void*)dpacked, (void*)dcount})
        CHECK(cudaFree(p));
    return verdict("tiles", right);
}
