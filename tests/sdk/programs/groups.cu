// Cooperative groups of every kind, against arithmetic on ranks.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kBlock = 256, kColumns = 24;

__device__ int sumOfRanks(cg::thread_group group, int* place) {
    group.sync();
    if (group.thread_rank() == 0) *place = 0;
    group.sync();
    atomicAdd(place, (int)group.thread_rank());
    group.sync();
    return *place;
}
__device__ unsigned ranksOf(cg::thread_block_tile<16> tile) {
    return tile.meta_group_rank() * 1000 + tile.thread_rank();
}

__global__ void columns(int* out) {
    __shared__ int places[kBlock];
    __shared__ cg::block_tile_memory<kBlock> memory;
    const cg::thread_block block = cg::this_thread_block(memory);
    const int t = (int)block.thread_rank();
    int* row = out + (blockIdx.x * kBlock + t) * kColumns;
    // The size is unknown to the compiler.
    const unsigned eight = 8 * gridDim.x / 2;
    const cg::thread_group dynamic = cg::tiled_partition(block, eight);
    *row++ = (int)(dynamic.size() * 1000 + dynamic.thread_rank());
    *row++ = sumOfRanks(dynamic, places + t / 8);
    *row++ = sumOfRanks(block, places);
    const auto tile = cg::tiled_partition<32>(block);
    const auto half = cg::tiled_partition<16>(tile);
    *row++ = (int)(tile.meta_group_rank() * 1000 + tile.meta_group_size());
    *row++ = (int)ranksOf(half);
    *row++ = half.shfl(t, 3);
    *row++ = half.shfl_up(t, 2);
    *row++ = half.shfl_down(t, 5);
    *row++ = half.shfl_xor(t, 9);
    *row++ = (int)half.ballot(t % 3 == 0);
    *row++ = (int)half.match_any(t % 4);
    int same;
    *row++ = (int)half.match_all(t / 16, same) + same;
    const cg::coalesced_group parts = cg::labeled_partition(tile, t % 5);
    *row++ = (int)(parts.meta_group_rank() * 10000 + parts.size() * 100 + parts.thread_rank());
    const cg::coalesced_group odd = cg::binary_partition(tile, t % 3 == 0);
    *row++ = (int)(odd.meta_group_rank() * 10000 + odd.size() * 100 + odd.thread_rank());
    const cg::coalesced_group quarter = cg::tiled_partition(odd, 4);
    *row++ = (int)(quarter.size() * 100 + quarter.thread_rank());
    *row = -1;
    if (t % 7 == 1) {
        const cg::coalesced_group active = cg::coalesced_threads();
        *row = (int)(active.size() * 100 + active.shfl(t, 0) + cg::invoke_one_broadcast(active, [&] { return 7; }));
    }
    ++row;
    // Several warps.
    const auto large = cg::tiled_partition<128>(block);
    *row++ = (int)(large.meta_group_rank() * 1000 + large.thread_rank());
    *row++ = (int)large.shfl((long long)t << 20, 70) + (large.any(t == 5) ? 1 : 0) + (large.all(t < 128) ? 2 : 0);
    *row++ = cg::reduce(large, t, cg::plus<int>());
    *row++ = cg::inclusive_scan(large, t % 10);
    *row++ = cg::exclusive_scan(cg::tiled_partition<64>(large), t % 10, cg::plus<int>());
    places[t] = 0;
    block.sync();
    cg::invoke_one(tile, [&] { atomicAdd(places, 1); });
    cg::wait(block);
    *row++ = places[0];
    const cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    *row++ = (int)(cluster.num_blocks() * 1000 + cluster.thread_rank()) + *cluster.map_shared_rank(places, 0);
    *row++ = (int)(cg::this_grid().thread_rank() + cg::this_grid().block_index().x * 100000 +
                   cg::group_size(cg::this_thread()));
}

int rankAmong(int t, int first, int end, int (*label)(int), int* size) {
    int rank = 0;
    *size = 0;
    for (int i = first; i < end; ++i) {
        if (label(i) != label(t)) continue;
        if (i < t) ++rank;
        ++*size;
    }
    return rank;
}

void checkColumns() {
    int* const out = shared<int>(2 * kBlock * kColumns);
    columns<<<2, kBlock>>>(out);
    synchronize();
    for (int i = 0; i < 2 * kBlock; ++i) {
        const int t = i % kBlock, in16 = t % 16, first16 = t - in16, first32 = t - t % 32, first64 = t & ~63,
                  first128 = t & ~127;
        int want[kColumns], n = 0, size;
        want[n++] = 8000 + t % 8;
        want[n++] = 28;
        want[n++] = kBlock * (kBlock - 1) / 2;
        want[n++] = t / 32 * 1000 + kBlock / 32;
        want[n++] = t % 32 / 16 * 1000 + in16;
        want[n++] = first16 + 3;
        want[n++] = in16 < 2 ? t : t - 2;
        want[n++] = in16 + 5 < 16 ? t + 5 : t;
        want[n++] = t ^ 9;
        unsigned thirds = 0, fours = 0;
        for (int k = 0; k < 16; ++k) {
            thirds |= ((first16 + k) % 3 == 0 ? 1u : 0) << k;
            fours |= (k % 4 == t % 4 ? 1u : 0) << k;
        }
        want[n++] = (int)thirds;
        want[n++] = (int)fours;
        want[n++] = 0xffff + 1;
        int rank = rankAmong(
            t, first32, first32 + 32, [](int k) { return k % 5; }, &size);
        want[n++] = (t % 5 - first32 % 5 + 5) % 5 * 10000 + size * 100 + rank;
        rank = rankAmong(
            t, first32, first32 + 32, [](int k) { return k % 3 == 0 ? 1 : 0; }, &size);
        want[n++] = (t % 3 == 0 ? 10000 : 0) + size * 100 + rank;
        want[n++] = (rank / 4 * 4 + 4 <= size ? 4 : size % 4) * 100 + rank % 4;
        int least = first32;
        while (least % 7 != 1) ++least;
        rankAmong(
            t, first32, first32 + 32, [](int k) { return k % 7 == 1 ? 1 : 0; }, &size);
        want[n++] = t % 7 == 1 ? size * 100 + least + 7 : -1;
        want[n++] = t / 128 * 1000 + t % 128;
        want[n++] = ((first128 + 70) << 20) + (t < 128 ? 3 : 0);
        int sum = 0, scanned = 0, before = 0;
        for (int k = first128; k < first128 + 128; ++k) sum += k;
        for (int k = first128; k <= t; ++k) scanned += k % 10;
        for (int k = first64; k < t; ++k) before += k % 10;
        want[n++] = sum;
        want[n++] = scanned;
        want[n++] = before;
        want[n++] = kBlock / 32;
        want[n++] = 1000 + t + kBlock / 32;
        want[n++] = i + i / kBlock * 100000 + 1;
        for (int k = 0; k < kColumns; ++k)
            expect(out[i * kColumns + k] == want[k], "column %d of thread %d: %d, not %d", k, i, out[i * kColumns + k],
                   want[k]);
    }
}

__global__ void copies(const int* in, int* out, const char* bytes, char* bytesOut) {
    __shared__ int staged[300];
    __shared__ char odd[100];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, staged, in, sizeof(int) * 256);
    cg::memcpy_async(block, staged + 256, 44, in + 256, 40);
    cg::memcpy_async(cg::tiled_partition<32>(block), odd + 1, bytes, 99);
    cg::wait(block);
    for (int i = (int)block.thread_rank(); i < 296; i += (int)block.num_threads()) out[i] = staged[i];
    for (int i = (int)block.thread_rank(); i < 99; i += (int)block.num_threads()) bytesOut[i] = odd[i + 1];
}
void checkCopies() {
    int* const in = shared<int>(300);
    int* const out = shared<int>(300);
    char* const bytes = shared<char>(100);
    char* const bytesOut = shared<char>(100);
    for (int i = 0; i < 300; ++i) in[i] = i * 7919, bytes[i % 100] = (char)i;
    copies<<<1, 64>>>(in, out, bytes, bytesOut);
    synchronize();
    for (int i = 0; i < 296; ++i) expect(out[i] == in[i], "copied word %d", i);
    for (int i = 0; i < 99; ++i) expect(bytesOut[i] == bytes[i], "copied byte %d", i);
}

__global__ void acrossBlocks(int* values, int* sums) {
    const cg::grid_group grid = cg::this_grid();
    const int i = (int)grid.thread_rank();
    for (int round = 0; round < 3; ++round) {
        values[i] = i + round;
        grid.sync();
        int sum = 0;
        for (int k = 0; k < (int)grid.num_blocks(); ++k) sum += values[k * (int)blockDim.x];
        grid.sync();
        sums[i] = sum;
    }
}
void checkGrid() {
    int* values = shared<int>(256);
    int* sums = shared<int>(256);
    void* arguments[] = {&values, &sums};
    expect(cudaLaunchCooperativeKernel((void*)acrossBlocks, dim3(4), dim3(64), arguments, 0, nullptr) == cudaSuccess,
           "launch");
    synchronize();
    for (int i = 0; i < 256; ++i) expect(sums[i] == 64 + 128 + 192 + 4 * 2, "sum of thread %d: %d", i, sums[i]);
}

int main() {
    checkColumns();
    checkCopies();
    checkGrid();
    return finished();
}
