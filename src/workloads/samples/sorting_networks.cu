// Bitonic sort of keys with their values, the length a power of two. Comparator i of a merge of `size` elements at a
// `stride` compares the elements at 2 i - i mod stride and `stride` further on. Runs of `size` elements are sorted up
// and down by turns, so that two neighbours are bitonic and can be merged.

#include <cuda_runtime.h>

#include "workloads/samples/sorting_networks.h"

using bulkhead::workloads::kSortTile;

namespace {

struct Tile {
    unsigned keys[kSortTile], values[kSortTile];
};

__device__ inline void exchange(unsigned& a, unsigned& b) {
    const unsigned kept = a;
    a = b;
    b = kept;
}

__device__ inline void compareExchange(unsigned& keyA, unsigned& valueA, unsigned& keyB, unsigned& valueB,
                                       bool ascending) {
    if ((keyA > keyB) != ascending) return;
    exchange(keyA, keyB);
    exchange(valueA, valueB);
}

__device__ inline bool isAscending(unsigned comparator, unsigned size) {
    return (comparator & (size / 2)) == 0;
}

__device__ inline unsigned firstElement(unsigned comparator, unsigned stride) {
    return 2 * comparator - (comparator & (stride - 1));
}

__device__ inline void load(Tile& tile, const unsigned* keys, const unsigned* values) {
    const unsigned base = blockIdx.x * kSortTile;
    for (unsigned i = threadIdx.x; i < kSortTile; i += kSortTile / 2) {
        tile.keys[i] = keys[base + i];
        tile.values[i] = values[base + i];
    }
}

__device__ inline void store(const Tile& tile, unsigned* keys, unsigned* values) {
    __syncthreads();
    const unsigned base = blockIdx.x * kSortTile;
    for (unsigned i = threadIdx.x; i < kSortTile; i += kSortTile / 2) {
        keys[base + i] = tile.keys[i];
        values[base + i] = tile.values[i];
    }
}

__device__ inline void merge(Tile& tile, unsigned widestStride, bool ascending) {
    for (unsigned stride = widestStride; stride > 0; stride /= 2) {
        __syncthreads();
        const unsigned a = firstElement(threadIdx.x, stride), b = a + stride;
        compareExchange(tile.keys[a], tile.values[a], tile.keys[b], tile.values[b], ascending);
    }
}

}  // namespace

/// Sorts each tile.
extern "C" __global__ void sortTiles(unsigned* toKeys, unsigned* toValues, const unsigned* fromKeys,
                                     const unsigned* fromValues) {
    __shared__ Tile tile;
    const unsigned comparator = blockIdx.x * blockDim.x + threadIdx.x;
    load(tile, fromKeys, fromValues);
    for (unsigned size = 2; size <= kSortTile; size *= 2) merge(tile, size / 2, isAscending(comparator, size));
    store(tile, toKeys, toValues);
}

/// One step of a merge, in global memory.
extern "C" __global__ void mergeStep(unsigned* keys, unsigned* values, unsigned size, unsigned stride) {
    const unsigned comparator = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned a = firstElement(comparator, stride), b = a + stride;
    unsigned keyA = keys[a], valueA = values[a], keyB = keys[b], valueB = values[b];
    compareExchange(keyA, valueA, keyB, valueB, isAscending(comparator, size));
    keys[a] = keyA;
    values[a] = valueA;
    keys[b] = keyB;
    values[b] = valueB;
}

/// The steps of a merge that stay within tiles.
extern "C" __global__ void mergeTiles(unsigned* keys, unsigned* values, unsigned size) {
    __shared__ Tile tile;
    const unsigned comparator = blockIdx.x * blockDim.x + threadIdx.x;
    load(tile, keys, values);
    merge(tile, kSortTile / 2, isAscending(comparator, size));
    store(tile, keys, values);
}
