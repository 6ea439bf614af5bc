#pragma once

#include "cuda_runtime.h"

// Groups of threads that work together: a block, a grid, a cluster, a tile, and the threads that happen to be active.

// Other libraries name the groups by this namespace within.
namespace cooperative_groups {
namespace __v1 {

namespace details {

BULKHEAD_DEVICE unsigned int laneId() {
    return __nvvm_read_ptx_sreg_laneid();
}
BULKHEAD_DEVICE unsigned int lanesBelow() {
    return (1u << laneId()) - 1;
}

/// Any value of whole bytes travels through shuffles of 32 bits.
template <class T_, class Shuffle>
__device__ __forceinline__ T_ shuffled(const T_& value, Shuffle shuffle) {
    static_assert(__is_trivially_copyable(T_), "only values that can be copied byte by byte travel between threads");
    constexpr int words = (sizeof(T_) + 3) / 4;
    unsigned int parts[words] = {};
    __builtin_memcpy(parts, &value, sizeof(T_));
    for (int i = 0; i < words; ++i) parts[i] = shuffle(parts[i]);
    T_ result;
    __builtin_memcpy(&result, parts, sizeof(T_));
    return result;
}

/// The driver gives a cooperative launch a place in memory; its barrier is the second word.
BULKHEAD_DEVICE unsigned int* gridBarrier() {
    unsigned int high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    const unsigned long long place = (unsigned long long)high << 32 | low;
    return place == 0 ? nullptr : (unsigned int*)place + 1;
}

/// Waits for all blocks of the grid. The arrivals of one round add up to the top bit alone, so that it turns when the
/// last block has come and the rest is zero again, whatever was there before.
BULKHEAD_DEVICE_LARGE void syncGrid() {
    unsigned int* const barrier = gridBarrier();
    __syncthreads();
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
        const unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
        const bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
        __threadfence();
        const unsigned int before = atomicAdd(barrier, first ? 0x80000000u - (blocks - 1) : 1u);
        while (((before ^ *(volatile unsigned int*)barrier) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

/// Where a block is in its cluster, and the cluster in the grid.
struct ClusterPlace {
    dim3 block, blocks, cluster, grid;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
BULKHEAD_DEVICE ClusterPlace clusterPlace() {
    ClusterPlace p;
    asm("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y; mov.u32 %2, %%cluster_ctaid.z;"
        : "=r"(p.block.x), "=r"(p.block.y), "=r"(p.block.z));
    asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctaid.y; mov.u32 %2, %%cluster_nctaid.z;"
        : "=r"(p.blocks.x), "=r"(p.blocks.y), "=r"(p.blocks.z));
    asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y; mov.u32 %2, %%clusterid.z;"
        : "=r"(p.cluster.x), "=r"(p.cluster.y), "=r"(p.cluster.z));
    asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y; mov.u32 %2, %%nclusterid.z;"
        : "=r"(p.grid.x), "=r"(p.grid.y), "=r"(p.grid.z));
    return p;
}
BULKHEAD_DEVICE void arriveAtCluster() {
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
BULKHEAD_DEVICE void waitForCluster() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
BULKHEAD_DEVICE unsigned long long mappedToRank(unsigned long long address, unsigned int rank) {
    unsigned long long mapped;
    asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(address), "r"(rank));
    return mapped;
}
BULKHEAD_DEVICE unsigned int rankOfAddress(unsigned long long address) {
    unsigned int rank;
    asm("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(address));
    return rank;
}
#else
// Before compute capability 9.0 a cluster is a block.
BULKHEAD_DEVICE ClusterPlace clusterPlace() {
    return {dim3(0, 0, 0), dim3(1, 1, 1), dim3(blockIdx.x, blockIdx.y, blockIdx.z),
            dim3(gridDim.x, gridDim.y, gridDim.z)};
}
BULKHEAD_DEVICE void arriveAtCluster() {}
BULKHEAD_DEVICE void waitForCluster() {
    __syncthreads();
}
BULKHEAD_DEVICE unsigned long long mappedToRank(unsigned long long address, unsigned int) {
    return address;
}
BULKHEAD_DEVICE unsigned int rankOfAddress(unsigned long long) {
    return 0;
}
#endif

/// Where tiles of several warps meet: a counter a tile, and a word a thread.
struct TileMemory {
    unsigned int* arrivals;
    unsigned int* words;
};

/// The lane of the n-th thread of a mask, or of the caller if there is none.
BULKHEAD_DEVICE int laneOfRank(unsigned int lanes, unsigned int rank) {
    unsigned int left = lanes;
    for (unsigned int i = 0; i < rank; ++i) left &= left - 1;
    return left == 0 ? (int)laneId() : __builtin_ctz(left);
}

}  // namespace details

class thread_group;
class coalesced_group;
template <unsigned int Size, class Parent = void>
class thread_block_tile;

/// What tiles of more than 32 threads need, in shared memory; see this_thread_block.
template <unsigned int MaxBlockSize = 1024>
struct block_tile_memory {
    unsigned int arrivals[16];
    unsigned int words[MaxBlockSize];
};

/// All threads of a block.
class thread_block {
  public:
    struct arrival_token {};

    __device__ thread_block() : memory_{nullptr, nullptr} {}
    explicit __device__ thread_block(details::TileMemory memory) : memory_(memory) {}

    __device__ static void sync() { __syncthreads(); }
    /// All that waiting needs to know is in the barrier, which is passed when all wait.
    __device__ static arrival_token barrier_arrive() { return {}; }
    __device__ static void barrier_wait(arrival_token&&) { __syncthreads(); }
    __device__ static unsigned int thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    __device__ static unsigned int num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned int size() { return num_threads(); }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    __device__ static dim3 dim_threads() { return group_dim(); }
    __device__ details::TileMemory tileMemory() const { return memory_; }

  private:
    details::TileMemory memory_;
};
BULKHEAD_DEVICE thread_block this_thread_block() {
    return {};
}
/// With memory for tiles of more than 32 threads. All threads of the block must call it.
template <unsigned int MaxBlockSize>
__device__ __forceinline__ thread_block this_thread_block(block_tile_memory<MaxBlockSize>& memory) {
    for (unsigned int i = thread_block::thread_rank(); i < 16; i += thread_block::num_threads()) memory.arrivals[i] = 0;
    __syncthreads();
    return thread_block(details::TileMemory{memory.arrivals, memory.words});
}

/// All threads of a cooperative launch.
class grid_group {
  public:
    struct arrival_token {};

    __device__ static bool is_valid() { return details::gridBarrier() != nullptr; }
    __device__ static void sync() {
        if (!is_valid()) __trap();
        details::syncGrid();
    }
    __device__ static arrival_token barrier_arrive() { return {}; }
    __device__ static void barrier_wait(arrival_token&&) { sync(); }
    __device__ static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    __device__ static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    __device__ static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
    __device__ static unsigned long long size() { return num_threads(); }
    __device__ static unsigned long long thread_rank() {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    __device__ static dim3 dim_blocks() { return group_dim(); }
    __device__ static dim3 block_index() { return thread_block::group_index(); }
    __device__ static dim3 thread_index() { return thread_block::thread_index(); }
    __device__ static unsigned long long num_clusters() {
        const dim3 clusters = dim_clusters();
        return (unsigned long long)clusters.x * clusters.y * clusters.z;
    }
    __device__ static unsigned long long cluster_rank() {
        const dim3 clusters = dim_clusters(), index = cluster_index();
        return ((unsigned long long)index.z * clusters.y + index.y) * clusters.x + index.x;
    }
    __device__ static dim3 dim_clusters() { return details::clusterPlace().grid; }
    __device__ static dim3 cluster_index() { return details::clusterPlace().cluster; }
};
BULKHEAD_DEVICE grid_group this_grid() {
    return {};
}

/// Blocks that were launched together; a block by itself where nobody asked for clusters.
class cluster_group {
  public:
    struct arrival_token {};

    __device__ static void sync() {
        details::arriveAtCluster();
        details::waitForCluster();
    }
    __device__ static arrival_token barrier_arrive() {
        details::arriveAtCluster();
        return {};
    }
    __device__ static void barrier_wait(arrival_token&&) { details::waitForCluster(); }
    __device__ static void barrier_wait() { details::waitForCluster(); }
    __device__ static unsigned int thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    __device__ static unsigned int num_threads() { return num_blocks() * thread_block::num_threads(); }
    __device__ static unsigned int size() { return num_threads(); }
    __device__ static unsigned int block_rank() {
        const dim3 index = block_index(), blocks = dim_blocks();
        return (index.z * blocks.y + index.y) * blocks.x + index.x;
    }
    __device__ static unsigned int num_blocks() {
        const dim3 blocks = dim_blocks();
        return blocks.x * blocks.y * blocks.z;
    }
    __device__ static dim3 block_index() { return details::clusterPlace().block; }
    __device__ static dim3 dim_blocks() { return details::clusterPlace().blocks; }
    __device__ static dim3 thread_index() {
        const dim3 block = block_index(), thread = thread_block::thread_index();
        return dim3(block.x * blockDim.x + thread.x, block.y * blockDim.y + thread.y, block.z * blockDim.z + thread.z);
    }
    __device__ static dim3 dim_threads() {
        const dim3 blocks = dim_blocks();
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
    }
    template <class T_>
    __device__ static T_* map_shared_rank(T_* address, int rank) {
        return (T_*)details::mappedToRank((unsigned long long)address, rank);
    }
    __device__ static unsigned int query_shared_rank(const void* address) {
        return details::rankOfAddress((unsigned long long)address);
    }
};
BULKHEAD_DEVICE cluster_group this_cluster() {
    return {};
}

namespace details {

/// What tiles of one warp and of several have in common.
template <unsigned int Size>
class Tile {
    static_assert(Size >= 1 && Size <= 1024 && (Size & (Size - 1)) == 0,
                  "a tile has a power of two of threads, up to 1024");

  public:
    __device__ Tile(unsigned int metaRank, unsigned int metaSize) : metaRank_(metaRank), metaSize_(metaSize) {}
    __device__ static constexpr unsigned int num_threads() { return Size; }
    __device__ static constexpr unsigned int size() { return Size; }
    /// Which of the tiles of its parent it is, and how many there are.
    __device__ unsigned int meta_group_rank() const { return metaRank_; }
    __device__ unsigned int meta_group_size() const { return metaSize_; }

  private:
    unsigned int metaRank_, metaSize_;
};

template <unsigned int Size>
class WarpTile : public Tile<Size> {
  public:
    using Tile<Size>::Tile;
    __device__ void sync() const { __syncwarp(mask()); }
    __device__ static unsigned int thread_rank() { return laneId() & (Size - 1); }

    template <class T_>
    __device__ T_ shfl(T_ value, int rank) const {
        return shuffled(value, [=](unsigned int part) { return __shfl_sync(mask(), part, rank, Size); });
    }
    template <class T_>
    __device__ T_ shfl_up(T_ value, unsigned int distance) const {
        return shuffled(value, [=](unsigned int part) { return __shfl_up_sync(mask(), part, distance, Size); });
    }
    template <class T_>
    __device__ T_ shfl_down(T_ value, unsigned int distance) const {
        return shuffled(value, [=](unsigned int part) { return __shfl_down_sync(mask(), part, distance, Size); });
    }
    template <class T_>
    __device__ T_ shfl_xor(T_ value, unsigned int bits) const {
        return shuffled(value, [=](unsigned int part) { return __shfl_xor_sync(mask(), part, (int)bits, Size); });
    }
    __device__ int any(int predicate) const { return __any_sync(mask(), predicate); }
    __device__ int all(int predicate) const { return __all_sync(mask(), predicate); }
    __device__ unsigned int ballot(int predicate) const { return __ballot_sync(mask(), predicate) >> firstLane(); }
    template <class T_>
    __device__ unsigned int match_any(T_ value) const {
        return __match_any_sync(mask(), value) >> firstLane();
    }
    template <class T_>
    __device__ unsigned int match_all(T_ value, int& predicate) const {
        return __match_all_sync(mask(), value, &predicate) >> firstLane();
    }

    /// The lanes of the warp that belong to it.
    __device__ unsigned int mask() const { return Size == 32 ? 0xffffffffu : ((1u << (Size & 31)) - 1) << firstLane(); }

  private:
    __device__ static unsigned int firstLane() { return laneId() & ~(Size - 1); }
};

/// Several warps, which meet in shared memory: a warp adds to the tile's counter and waits until all of a round have.
template <unsigned int Size>
class BlockTile : public Tile<Size> {
  public:
    __device__ BlockTile(unsigned int metaRank, unsigned int metaSize, TileMemory memory)
        : Tile<Size>(metaRank, metaSize), memory_(memory) {
        if (memory.words == nullptr) __trap();  // this_thread_block was not given a block_tile_memory
    }
    __device__ static unsigned int thread_rank() { return thread_block::thread_rank() & (Size - 1); }
    __device__ void sync() const {
        constexpr unsigned int warps = Size / 32;
        __syncwarp();
        if (laneId() == 0) {
            unsigned int* const counter = memory_.arrivals + first() / Size;
            __threadfence_block();
            const unsigned int end = (atomicAdd(counter, 1u) / warps + 1) * warps;
            while ((int)(*(volatile unsigned int*)counter - end) < 0) {
            }
            __threadfence_block();
        }
        __syncwarp();
    }
    template <class T_>
    __device__ T_ shfl(T_ value, int rank) const {
        return shuffled(value, [=](unsigned int part) { return exchanged(part, (unsigned int)rank & (Size - 1)); });
    }
    template <class T_>
    __device__ T_ shfl_up(T_ value, unsigned int distance) const {
        const unsigned int rank = thread_rank();
        return shfl(value, (int)(rank < distance ? rank : rank - distance));
    }
    template <class T_>
    __device__ T_ shfl_down(T_ value, unsigned int distance) const {
        const unsigned int rank = thread_rank();
        return shfl(value, (int)(rank + distance < Size ? rank + distance : rank));
    }
    template <class T_>
    __device__ T_ shfl_xor(T_ value, unsigned int bits) const {
        return shfl(value, (int)(thread_rank() ^ bits));
    }
    __device__ int any(int predicate) const { return count(__any_sync(0xffffffffu, predicate)) != 0; }
    __device__ int all(int predicate) const { return count(!__all_sync(0xffffffffu, predicate)) == 0; }
    __device__ TileMemory tileMemory() const { return memory_; }

  private:
    __device__ static unsigned int first() { return thread_block::thread_rank() & ~(Size - 1); }
    __device__ unsigned int exchanged(unsigned int word, unsigned int rank) const {
        volatile unsigned int* const words = memory_.words + first();
        words[thread_rank()] = word;
        sync();
        const unsigned int other = words[rank];
        sync();
        return other;
    }
    /// In how many warps it holds.
    __device__ unsigned int count(bool inWarp) const {
        unsigned int total = 0;
        volatile unsigned int* const words = memory_.words + first();
        words[thread_rank()] = inWarp ? 1 : 0;
        sync();
        for (unsigned int i = 0; i < Size; i += 32) total += words[i];
        sync();
        return total;
    }
    TileMemory memory_;
};

template <bool condition, class A_, class B_>
struct Either {
    typedef A_ type;
};
template <class A_, class B_>
struct Either<false, A_, B_> {
    typedef B_ type;
};
template <unsigned int Size>
using TileOf = typename Either<(Size <= 32), WarpTile<Size>, BlockTile<Size>>::type;

}  // namespace details

/// A power of two of neighbouring threads of a block; without a parent, a tile of any.
template <unsigned int Size>
class thread_block_tile<Size, void> : public details::TileOf<Size> {
  public:
    explicit __device__ thread_block_tile(const details::TileOf<Size>& tile) : details::TileOf<Size>(tile) {}
};
template <unsigned int Size, class Parent>
class thread_block_tile : public thread_block_tile<Size, void> {
  public:
    using thread_block_tile<Size, void>::thread_block_tile;
};

template <unsigned int Size>
__device__ __forceinline__ thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
    const unsigned int rank = thread_block::thread_rank() / Size,
                       count = (thread_block::num_threads() + Size - 1) / Size;
    if constexpr (Size <= 32) {
        return thread_block_tile<Size, thread_block>(details::WarpTile<Size>(rank, count));
    } else {
        return thread_block_tile<Size, thread_block>(details::BlockTile<Size>(rank, count, block.tileMemory()));
    }
}
template <unsigned int Size, unsigned int ParentSize, class Grandparent>
__device__ __forceinline__ thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>> tiled_partition(
    const thread_block_tile<ParentSize, Grandparent>& parent) {
    static_assert(Size <= ParentSize, "a tile is no larger than what it is part of");
    typedef thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>> Result;
    const unsigned int rank = parent.thread_rank() / Size, count = ParentSize / Size;
    if constexpr (Size <= 32) {
        return Result(details::WarpTile<Size>(rank, count));
    } else {
        return Result(details::BlockTile<Size>(rank, count, parent.tileMemory()));
    }
}

/// Threads of a warp that are named by a mask, ranked by lane.
class coalesced_group {
  public:
    explicit __device__ coalesced_group(unsigned int lanes, unsigned int metaRank = 0, unsigned int metaSize = 1)
        : lanes_(lanes), metaRank_(metaRank), metaSize_(metaSize) {}
    template <unsigned int Size>
    __device__ coalesced_group(const thread_block_tile<Size, void>& tile)
        : coalesced_group(tile.mask(), tile.meta_group_rank(), tile.meta_group_size()) {}
    __device__ void sync() const { __syncwarp(lanes_); }
    __device__ unsigned int num_threads() const { return (unsigned int)__popc(lanes_); }
    __device__ unsigned int size() const { return num_threads(); }
    __device__ unsigned int thread_rank() const { return (unsigned int)__popc(lanes_ & details::lanesBelow()); }
    __device__ unsigned int meta_group_rank() const { return metaRank_; }
    __device__ unsigned int meta_group_size() const { return metaSize_; }

    template <class T_>
    __device__ T_ shfl(T_ value, unsigned int rank) const {
        const int lane = details::laneOfRank(lanes_, rank);
        return details::shuffled(value, [=](unsigned int part) { return __shfl_sync(lanes_, part, lane); });
    }
    template <class T_>
    __device__ T_ shfl_up(T_ value, unsigned int distance) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank < distance ? rank : rank - distance);
    }
    template <class T_>
    __device__ T_ shfl_down(T_ value, unsigned int distance) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank + distance < size() ? rank + distance : rank);
    }
    __device__ int any(int predicate) const { return __any_sync(lanes_, predicate); }
    __device__ int all(int predicate) const { return __all_sync(lanes_, predicate); }
    __device__ unsigned int ballot(int predicate) const { return byRank(__ballot_sync(lanes_, predicate)); }
    template <class T_>
    __device__ unsigned int match_any(T_ value) const {
        return byRank(__match_any_sync(lanes_, value));
    }
    template <class T_>
    __device__ unsigned int match_all(T_ value, int& predicate) const {
        return byRank(__match_all_sync(lanes_, value, &predicate));
    }
    __device__ unsigned int mask() const { return lanes_; }

  private:
    /// Bits of lanes as bits of ranks.
    __device__ unsigned int byRank(unsigned int bits) const {
        unsigned int result = 0, rank = 0;
        for (unsigned int left = lanes_; left != 0; left &= left - 1, ++rank)
            result |= (bits >> __builtin_ctz(left) & 1u) << rank;
        return result;
    }
    unsigned int lanes_, metaRank_, metaSize_;
};
BULKHEAD_DEVICE coalesced_group coalesced_threads() {
    return coalesced_group(__activemask());
}

/// A block, or some threads of a warp: which is known when it runs.
class thread_group {
  public:
    __device__ thread_group(const thread_block&) : lanes_(0) {}
    __device__ thread_group(const coalesced_group& group) : lanes_(group.mask()) {}
    template <unsigned int Size>
    __device__ thread_group(const thread_block_tile<Size, void>& tile) : lanes_(tile.mask()) {}

    __device__ void sync() const {
        if (lanes_ == 0) {
            __syncthreads();
        } else {
            __syncwarp(lanes_);
        }
    }
    __device__ unsigned int num_threads() const {
        return lanes_ == 0 ? thread_block::num_threads() : (unsigned int)__popc(lanes_);
    }
    __device__ unsigned int size() const { return num_threads(); }
    __device__ unsigned int thread_rank() const {
        return lanes_ == 0 ? thread_block::thread_rank() : (unsigned int)__popc(lanes_ & details::lanesBelow());
    }
    /// 0 for a block.
    __device__ unsigned int mask() const { return lanes_; }

  private:
    unsigned int lanes_;
};

/// Tiles of a size that is known when it runs: of a block up to 32 threads, of others as their ranks go.
BULKHEAD_DEVICE coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
    const unsigned int rank = parent.thread_rank() / size;
    unsigned int lanes = parent.mask(), tile = 0;
    for (unsigned int i = 0; lanes != 0; ++i, lanes &= lanes - 1)
        if (i / size == rank) tile |= lanes & (0u - lanes);
    return coalesced_group(tile, rank, (parent.num_threads() + size - 1) / size);
}
BULKHEAD_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size) {
    if (parent.mask() != 0) return tiled_partition(coalesced_group(parent.mask()), size);
    if (size > 32) __trap();
    const unsigned int first = details::laneId() & ~(size - 1), threads = thread_block::num_threads();
    const unsigned int warp = thread_block::thread_rank() & ~31u, there = threads - warp < 32 ? threads - warp : 32;
    const unsigned int all = (there == 32 ? 0u : 1u << there) - 1, tile = (size == 32 ? 0u : 1u << size) - 1;
    return coalesced_group(tile << first & all);
}
BULKHEAD_DEVICE thread_group tiled_partition(const thread_block& parent, unsigned int size) {
    return tiled_partition(thread_group(parent), size);
}
BULKHEAD_DEVICE thread_group this_thread() {
    return coalesced_group(1u << details::laneId());
}

/// The threads of a group that have the same label.
template <class Group, class Label>
__device__ __forceinline__ coalesced_group labeled_partition(const Group& group, Label label) {
    const unsigned int same = __match_any_sync(group.mask(), label);
    // Partitions are ranked by their first lanes.
    const unsigned int firsts = __ballot_sync(group.mask(), __builtin_ctz(same) == (int)details::laneId());
    const unsigned int before = firsts & ((1u << __builtin_ctz(same)) - 1);
    return coalesced_group(same, (unsigned int)__popc(before), (unsigned int)__popc(firsts));
}
template <class Group>
__device__ __forceinline__ coalesced_group binary_partition(const Group& group, bool predicate) {
    const unsigned int agreeing = __ballot_sync(group.mask(), predicate), others = group.mask() & ~agreeing;
    return coalesced_group(predicate ? agreeing : others, predicate ? 1 : 0, 2);
}

template <class Group>
__device__ __forceinline__ void sync(const Group& group) {
    group.sync();
}
template <class Group>
__device__ __forceinline__ unsigned int thread_rank(const Group& group) {
    return (unsigned int)group.thread_rank();
}
template <class Group>
__device__ __forceinline__ unsigned int group_size(const Group& group) {
    return (unsigned int)group.num_threads();
}

/// One thread of the group, the first, calls a function; of invoke_one_broadcast, all get its result.
template <class Group, class Function, class... Arguments>
__device__ __forceinline__ void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}
template <class Group, class Function, class... Arguments>
__device__ __forceinline__ auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments)
    -> decltype(function(static_cast<Arguments&&>(arguments)...)) {
    decltype(function(static_cast<Arguments&&>(arguments)...)) result{};
    if (group.thread_rank() == 0) result = function(static_cast<Arguments&&>(arguments)...);
    return group.shfl(result, 0);
}

}  // namespace __v1
using namespace __v1;
}  // namespace cooperative_groups
