#include "workloads/mars/mapreduce.cuh"

// The phases that are the same for every application.

using namespace bulkhead::workloads::mars;

/// Exclusive prefix sums of each block's part, by sweeps up and down a tree in shared memory (Blelloch), and the parts'
/// sums.
extern "C" __global__ void scanBlocks(const int* values, int* out, int* sums, int count) {
    __shared__ int tree[kScanElements];
    const int thread = static_cast<int>(threadIdx.x);
    const int first = static_cast<int>(blockIdx.x) * kScanElements + 2 * thread;
    tree[2 * thread] = first < count ? values[first] : 0;
    tree[2 * thread + 1] = first + 1 < count ? values[first + 1] : 0;
    for (int stride = 1; stride < kScanElements; stride *= 2) {
        __syncthreads();
        const int right = 2 * stride * (thread + 1) - 1;
        if (right < kScanElements) tree[right] += tree[right - stride];
    }
    __syncthreads();
    if (thread == 0) {
        sums[blockIdx.x] = tree[kScanElements - 1];
        tree[kScanElements - 1] = 0;
    }
    for (int stride = kScanElements / 2; stride > 0; stride /= 2) {
        __syncthreads();
        const int right = 2 * stride * (thread + 1) - 1;
        if (right < kScanElements) {
            const int left = tree[right - stride];
            tree[right - stride] = tree[right];
            tree[right] += left;
        }
    }
    __syncthreads();
    if (first < count) out[first] = tree[2 * thread];
    if (first + 1 < count) out[first + 1] = tree[2 * thread + 1];
}

/// Adds to each block's part what all parts before it sum up to.
extern "C" __global__ void addSums(int* values, const int* sums, int count) {
    const int first = static_cast<int>(blockIdx.x) * kScanElements + static_cast<int>(threadIdx.x);
    const int before = sums[blockIdx.x];
    if (first < count) values[first] += before;
    if (first + kScanThreads < count) values[first + kScanThreads] += before;
}

extern "C" __global__ void padEntries(const Entry* entries, int count, Entry* padded) {
    const int task = taskIndex();
    store(padded[task], task < count ? load(entries[task]) : Entry{kPadding, 0, 0, 0});
}

extern "C" __global__ void splitSizes(const Entry* entries, int count, int* keyBytes, int* valueBytes) {
    const int task = taskIndex();
    if (task >= count) return;
    const Entry entry = load(entries[task]);
    keyBytes[task] = entry.keySize;
    valueBytes[task] = entry.valueSize;
}

/// Copies keys and values into the order of the sorted entries.
extern "C" __global__ void gather(RecordView from, const Entry* sorted, const int* keyOffsets, const int* valueOffsets,
                                  RecordView to) {
    const int task = taskIndex();
    if (task >= from.count) return;
    const Entry entry = load(sorted[task]);
    const int keyOffset = keyOffsets[task], valueOffset = valueOffsets[task];
    copyBytes(to.keys + keyOffset, from.keys + entry.keyOffset, entry.keySize);
    copyBytes(to.values + valueOffset, from.values + entry.valueOffset, entry.valueSize);
    store(to.entries[task], {keyOffset, entry.keySize, valueOffset, entry.valueSize});
}

/// `ranks` are the exclusive prefix sums of `starts`.
extern "C" __global__ void writeRanges(const int* starts, const int* ranks, int count, Range* ranges) {
    const int task = taskIndex();
    if (task >= count) return;
    const int rank = ranks[task];
    if (starts[task]) {
        ranges[rank].begin = task;
        if (rank > 0) ranges[rank - 1].end = task;
    }
    if (task == count - 1) ranges[rank + starts[task] - 1].end = count;
}
