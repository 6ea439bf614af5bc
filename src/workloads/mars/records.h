#pragma once

// What host and device share of the MapReduce framework: how records lie in device memory.

namespace bulkhead::workloads::mars {

/// An address in device memory: a pointer there, a number on the host.
#ifdef __CUDA__
template <class T>
using Pointer = T*;
#else
template <class T>
using Pointer = unsigned long long;
#endif

/// Where a record's key and value lie in their buffers.
struct alignas(16) Entry {
    int keyOffset, keySize, valueOffset, valueSize;
};

/// Marks an entry that only fills a sort up to a power of two. Sorts behind every record.
constexpr int kPadding = -1;

/// Keys end to end in one buffer, values in another, and a directory of entries.
struct RecordView {
    Pointer<char> keys, values;
    Pointer<Entry> entries;
    int count;
};

/// Records [begin, end) of a sorted directory that have equal keys.
struct Range {
    int begin, end;
};

/// For each task: first what it is going to emit, then, after prefix sums, where it emits next.
struct TaskCursors {
    Pointer<int> keyBytes, valueBytes, records;
};

constexpr int kBlockThreads = 256;  ///< Mars's default block for map and reduce, and its sort's
constexpr int kScanThreads = 64;
constexpr int kScanElements = 2 * kScanThreads;  ///< of one block of a prefix sum

}  // namespace bulkhead::workloads::mars
