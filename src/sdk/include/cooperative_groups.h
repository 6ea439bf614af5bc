#pragma once

#include "cuda_runtime.h"

// Groups of threads that work together: a block, a grid, a tile of a warp, and the threads that happen to be active.

namespace cooperative_groups {

namespace details {

BULKHEAD_DEVICE unsigned int laneId() {
    return __nvvm_read_ptx_sreg_laneid();
}
BULKHEAD_DEVICE unsigned int lanesBelow() {
    return (1u << laneId()) - 1;
}

/// Any value of whole bytes travels through shuffles of 32 bits.
template <class T, class Shuffle>
__device__ __forceinline__ T shuffled(const T& value, Shuffle shuffle) {
    static_assert(__is_trivially_copyable(T), "only values that can be copied byte by byte travel between threads");
    constexpr int words = (sizeof(T) + 3) / 4;
    unsigned int parts[words] = {};
    __builtin_memcpy(parts, &value, sizeof(T));
    for (int i = 0; i < words; ++i) parts[i] = shuffle(parts[i]);
    T result;
    __builtin_memcpy(&result, parts, sizeof(T));
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

}  // namespace details

/// All threads of a block.
class thread_block {
  public:
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned int thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    __device__ static unsigned int num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned int size() { return num_threads(); }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    __device__ static dim3 dim_threads() { return group_dim(); }
};
BULKHEAD_DEVICE thread_block this_thread_block() {
    return {};
}

/// All threads of a cooperative launch.
class grid_group {
  public:
    __device__ static bool is_valid() { return details::gridBarrier() != nullptr; }
    __device__ static void sync() {
        if (!is_valid()) __trap();
        details::syncGrid();
    }
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
};
BULKHEAD_DEVICE grid_group this_grid() {
    return {};
}

/// A power of two of neighbouring threads of a warp.
template <unsigned int Size, class Parent = thread_block>
class thread_block_tile {
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

  public:
    __device__ void sync() const { __syncwarp(mask()); }
    __device__ static unsigned int thread_rank() { return details::laneId() & (Size - 1); }
    __device__ static constexpr unsigned int num_threads() { return Size; }
    __device__ static constexpr unsigned int size() { return Size; }
    __device__ unsigned int meta_group_rank() const { return Parent::thread_rank() / Size; }
    __device__ unsigned int meta_group_size() const { return (Parent::size() + Size - 1) / Size; }

    template <class T>
    __device__ T shfl(T value, int rank) const {
        return details::shuffled(value, [=](unsigned int part) { return __shfl_sync(mask(), part, rank, Size); });
    }
    template <class T>
    __device__ T shfl_up(T value, unsigned int distance) const {
        return details::shuffled(value,
                                 [=](unsigned int part) { return __shfl_up_sync(mask(), part, distance, Size); });
    }
    template <class T>
    __device__ T shfl_down(T value, unsigned int distance) const {
        return details::shuffled(value,
                                 [=](unsigned int part) { return __shfl_down_sync(mask(), part, distance, Size); });
    }
    template <class T>
    __device__ T shfl_xor(T value, unsigned int bits) const {
        return details::shuffled(value,
                                 [=](unsigned int part) { return __shfl_xor_sync(mask(), part, (int)bits, Size); });
    }
    __device__ int any(int predicate) const { return __any_sync(mask(), predicate); }
    __device__ int all(int predicate) const { return __all_sync(mask(), predicate); }
    __device__ unsigned int ballot(int predicate) const { return __ballot_sync(mask(), predicate) >> firstLane(); }
    template <class T>
    __device__ unsigned int match_any(T value) const {
        return __match_any_sync(mask(), value) >> firstLane();
    }
    template <class T>
    __device__ unsigned int match_all(T value, int& predicate) const {
        return __match_all_sync(mask(), value, &predicate) >> firstLane();
    }

    /// The lanes of the warp that belong to it.
    __device__ unsigned int mask() const { return Size == 32 ? 0xffffffffu : ((1u << (Size & 31)) - 1) << firstLane(); }

  private:
    __device__ static unsigned int firstLane() { return details::laneId() & ~(Size - 1); }
};
template <unsigned int Size, class Parent>
__device__ __forceinline__ thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    return {};
}

/// Threads of a warp that are named by a mask, ranked by lane.
class coalesced_group {
  public:
    explicit __device__ coalesced_group(unsigned int lanes) : lanes_(lanes) {}
    __device__ void sync() const { __syncwarp(lanes_); }
    __device__ unsigned int num_threads() const { return (unsigned int)__popc(lanes_); }
    __device__ unsigned int size() const { return num_threads(); }
    __device__ unsigned int thread_rank() const { return (unsigned int)__popc(lanes_ & details::lanesBelow()); }

    template <class T>
    __device__ T shfl(T value, unsigned int rank) const {
        const int lane = laneOf(rank);
        return details::shuffled(value, [=](unsigned int part) { return __shfl_sync(lanes_, part, lane); });
    }
    template <class T>
    __device__ T shfl_up(T value, unsigned int distance) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank < distance ? rank : rank - distance);
    }
    template <class T>
    __device__ T shfl_down(T value, unsigned int distance) const {
        const unsigned int rank = thread_rank();
        return shfl(value, rank + distance < size() ? rank + distance : rank);
    }
    __device__ int any(int predicate) const { return __any_sync(lanes_, predicate); }
    __device__ int all(int predicate) const { return __all_sync(lanes_, predicate); }
    __device__ unsigned int ballot(int predicate) const { return byRank(__ballot_sync(lanes_, predicate)); }
    template <class T>
    __device__ unsigned int match_any(T value) const {
        return byRank(__match_any_sync(lanes_, value));
    }
    __device__ unsigned int mask() const { return lanes_; }

  private:
    __device__ int laneOf(unsigned int rank) const {
        unsigned int left = lanes_;
        for (unsigned int i = 0; i < rank; ++i) left &= left - 1;
        return left == 0 ? (int)details::laneId() : __builtin_ctz(left);
    }
    /// Bits of lanes as bits of ranks.
    __device__ unsigned int byRank(unsigned int bits) const {
        unsigned int result = 0, rank = 0;
        for (unsigned int left = lanes_; left != 0; left &= left - 1, ++rank)
            result |= (bits >> __builtin_ctz(left) & 1u) << rank;
        return result;
    }
    unsigned int lanes_;
};
BULKHEAD_DEVICE coalesced_group coalesced_threads() {
    return coalesced_group(__activemask());
}

/// The threads of a group that have the same label.
template <class Group, class Label>
__device__ __forceinline__ coalesced_group labeled_partition(const Group& group, Label label) {
    return coalesced_group(__match_any_sync(group.mask(), label));
}
template <class Group>
__device__ __forceinline__ coalesced_group binary_partition(const Group& group, bool predicate) {
    const unsigned int agreeing = __ballot_sync(group.mask(), predicate);
    return coalesced_group(predicate ? agreeing : group.mask() & ~agreeing);
}

template <class Group>
__device__ __forceinline__ void sync(const Group& group) {
    group.sync();
}

}  // namespace cooperative_groups
