#pragma once

#include <cuda_runtime.h>

#include "workloads/mars/layouts.h"
#include "workloads/mars/records.h"

// The phases that call an application's functions, as Mars (He et al., PACT 2008) has them: a task is a thread with one
// record, nothing is atomic, and each emission goes through its task's cursors in global memory. An application is a
// type with static functions
//     template <class Emit> void mapCount(char* key, char* value, Emit&)       emits sizes
//     template <class Emit> void map(char* key, char* value, Emit&)            emits the same number and sizes
//     int compare(const char* key, int size, const char* otherKey, int otherSize)
//     template <class Emit> void reduceCount(const Group&, Emit&)
//     template <class Emit> void reduce(const Group&, Emit&)
// of which it needs those of the phases it goes through. Mars puts a barrier into each emission, which a task that
// emits less often never reaches; it has no meaning there and is left out.

namespace bulkhead::workloads::mars {

inline __device__ int taskIndex() {
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

/// An entry in registers. Field by field: clang keeps a copy of the whole struct in local memory.
inline __device__ Entry load(const Entry& from) {
    return {from.keyOffset, from.keySize, from.valueOffset, from.valueSize};
}

inline __device__ void store(Entry& to, const Entry& entry) {
    to.keyOffset = entry.keyOffset;
    to.keySize = entry.keySize;
    to.valueOffset = entry.valueOffset;
    to.valueSize = entry.valueSize;
}

inline __device__ void copyBytes(char* to, const void* from, int bytes) {
    const char* source = static_cast<const char*>(from);
    for (int i = 0; i < bytes; ++i) to[i] = source[i];
}

/// Order of two strings that end with the character `end`, and of nothing but that: it may be any order.
inline __device__ int compareUntil(const char* a, const char* b, char end) {
    for (;; ++a, ++b) {
        if (*a != *b) return *a < *b ? -1 : 1;
        if (*a == end) return 0;
    }
}

inline __device__ int hashBytes(const char* bytes, int size) {
    unsigned hash = 2166136261u;
    for (int i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 16777619u;
    return static_cast<int>(hash);
}

inline __device__ int compareNumbers(int a, int b) {
    return a < b ? -1 : a > b;
}

/// Takes emissions and adds up their sizes.
class SizeCounter {
  public:
    __device__ SizeCounter(const TaskCursors& sizes, int task) : sizes_(sizes), task_(task) {}
    __device__ void operator()(const void*, int keySize, const void*, int valueSize) {
        sizes_.keyBytes[task_] += keySize;
        sizes_.valueBytes[task_] += valueSize;
        sizes_.records[task_] += 1;
    }

  private:
    const TaskCursors& sizes_;
    int task_;
};

/// Takes emissions and appends them to its task's part of the output.
class RecordWriter {
  public:
    __device__ RecordWriter(const TaskCursors& cursors, const RecordView& out, int task)
        : cursors_(cursors), out_(out), task_(task) {}
    __device__ void operator()(const void* key, int keySize, const void* value, int valueSize) {
        const int keyOffset = cursors_.keyBytes[task_], valueOffset = cursors_.valueBytes[task_];
        const int record = cursors_.records[task_];
        copyBytes(out_.keys + keyOffset, key, keySize);
        copyBytes(out_.values + valueOffset, value, valueSize);
        store(out_.entries[record], {keyOffset, keySize, valueOffset, valueSize});
        cursors_.keyBytes[task_] = keyOffset + keySize;
        cursors_.valueBytes[task_] = valueOffset + valueSize;
        cursors_.records[task_] = record + 1;
    }

  private:
    const TaskCursors& cursors_;
    const RecordView& out_;
    int task_;
};

template <class Application>
__device__ void mapCountTask(const RecordView& input, const TaskCursors& sizes) {
    const int task = taskIndex();
    if (task >= input.count) return;
    const Entry entry = load(input.entries[task]);
    SizeCounter emit(sizes, task);
    Application::mapCount(input.keys + entry.keyOffset, input.values + entry.valueOffset, emit);
}

template <class Application>
__device__ void mapTask(const RecordView& input, const TaskCursors& cursors, const RecordView& out) {
    const int task = taskIndex();
    if (task >= input.count) return;
    const Entry entry = load(input.entries[task]);
    RecordWriter emit(cursors, out, task);
    Application::map(input.keys + entry.keyOffset, input.values + entry.valueOffset, emit);
}

template <class Application>
__device__ int compareEntries(const char* keys, const Entry& a, const Entry& b) {
    if (a.keyOffset == kPadding || b.keyOffset == kPadding)
        return (a.keyOffset == kPadding) - (b.keyOffset == kPadding);
    return Application::compare(keys + a.keyOffset, a.keySize, keys + b.keyOffset, b.keySize);
}

/// Whether a bitonic merge of runs of `run` elements has to exchange the elements `index` < `partner`.
template <class Application>
__device__ bool outOfOrder(const char* keys, const Entry& low, const Entry& high, int index, int run) {
    const int order = compareEntries<Application>(keys, low, high);
    return (index & run) == 0 ? order > 0 : order < 0;
}

/// One step of a bitonic sort in global memory.
template <class Application>
__device__ void sortStepTask(const char* keys, Entry* entries, int run, int distance) {
    const int index = taskIndex();
    const int partner = index ^ distance;
    if (partner < index) return;
    const Entry low = load(entries[index]), high = load(entries[partner]);
    if (!outOfOrder<Application>(keys, low, high, index, run)) return;
    store(entries[index], high);
    store(entries[partner], low);
}

/// The steps of one merge whose distances stay inside of a chunk, which a block has in shared memory.
template <class Application>
__device__ void mergeChunk(const char* keys, Entry* chunk, int run, int distance) {
    const int thread = static_cast<int>(threadIdx.x);
    for (; distance > 0; distance /= 2) {
        const int partner = thread ^ distance;
        if (partner > thread) {
            const Entry low = load(chunk[thread]), high = load(chunk[partner]);
            if (outOfOrder<Application>(keys, low, high, taskIndex(), run)) {
                store(chunk[thread], high);
                store(chunk[partner], low);
            }
        }
        __syncthreads();
    }
}

/// Sorts each chunk, up and down in turn.
template <class Application>
__device__ void sortChunkTask(const char* keys, Entry* entries) {
    __shared__ Entry chunk[kBlockThreads];
    store(chunk[threadIdx.x], load(entries[taskIndex()]));
    __syncthreads();
    for (int run = 2; run <= kBlockThreads; run *= 2) mergeChunk<Application>(keys, chunk, run, run / 2);
    store(entries[taskIndex()], load(chunk[threadIdx.x]));
}

/// The rest of a merge, once its distances are less than a chunk.
template <class Application>
__device__ void mergeChunkTask(const char* keys, Entry* entries, int run) {
    __shared__ Entry chunk[kBlockThreads];
    store(chunk[threadIdx.x], load(entries[taskIndex()]));
    __syncthreads();
    mergeChunk<Application>(keys, chunk, run, kBlockThreads / 2);
    store(entries[taskIndex()], load(chunk[threadIdx.x]));
}

/// 1 where a record's key differs from the one before it, else 0.
template <class Application>
__device__ void markStartTask(const RecordView& sorted, int* starts) {
    const int task = taskIndex();
    if (task >= sorted.count) return;
    starts[task] = task == 0 || compareEntries<Application>(sorted.keys, load(sorted.entries[task - 1]),
                                                            load(sorted.entries[task])) != 0;
}

/// The records of one key.
class Group {
  public:
    __device__ Group(const RecordView& sorted, Range range) : sorted_(sorted), range_(range) {}
    __device__ int size() const { return range_.end - range_.begin; }
    __device__ const char* key(int i) const { return sorted_.keys + entry(i).keyOffset; }
    __device__ const char* value(int i) const { return sorted_.values + entry(i).valueOffset; }
    __device__ const Entry& entry(int i) const { return sorted_.entries[range_.begin + i]; }

  private:
    const RecordView& sorted_;
    Range range_;
};

template <class Application>
__device__ void reduceCountTask(const RecordView& sorted, const Range* ranges, int groups, const TaskCursors& sizes) {
    const int task = taskIndex();
    if (task >= groups) return;
    SizeCounter emit(sizes, task);
    Application::reduceCount(Group(sorted, ranges[task]), emit);
}

template <class Application>
__device__ void reduceTask(const RecordView& sorted, const Range* ranges, int groups, const TaskCursors& cursors,
                           const RecordView& out) {
    const int task = taskIndex();
    if (task >= groups) return;
    RecordWriter emit(cursors, out, task);
    Application::reduce(Group(sorted, ranges[task]), emit);
}

}  // namespace bulkhead::workloads::mars

// The kernels of an application, under the names that the host asks for. They need C names, which templates cannot
// have.
#define MARS_MAP(App, prefix)                                                                       \
    extern "C" __global__ void prefix##mapCount(RecordView input, TaskCursors sizes) {              \
        mapCountTask<App>(input, sizes);                                                            \
    }                                                                                               \
    extern "C" __global__ void prefix##map(RecordView input, TaskCursors cursors, RecordView out) { \
        mapTask<App>(input, cursors, out);                                                          \
    }
#define MARS_GROUP(App, prefix)                                                                            \
    extern "C" __global__ void prefix##sortStep(const char* keys, Entry* entries, int run, int distance) { \
        sortStepTask<App>(keys, entries, run, distance);                                                   \
    }                                                                                                      \
    extern "C" __global__ void prefix##markStarts(RecordView sorted, int* starts) {                        \
        markStartTask<App>(sorted, starts);                                                                \
    }
#define MARS_CHUNKED_SORT(App, prefix)                                                          \
    extern "C" __global__ void prefix##sortChunks(const char* keys, Entry* entries) {           \
        sortChunkTask<App>(keys, entries);                                                      \
    }                                                                                           \
    extern "C" __global__ void prefix##mergeChunks(const char* keys, Entry* entries, int run) { \
        mergeChunkTask<App>(keys, entries, run);                                                \
    }
#define MARS_REDUCE(App, prefix)                                                                                       \
    extern "C" __global__ void prefix##reduceCount(RecordView sorted, const Range* ranges, int groups,                 \
                                                   TaskCursors sizes) {                                                \
        reduceCountTask<App>(sorted, ranges, groups, sizes);                                                           \
    }                                                                                                                  \
    extern "C" __global__ void prefix##reduce(RecordView sorted, const Range* ranges, int groups, TaskCursors cursors, \
                                              RecordView out) {                                                        \
        reduceTask<App>(sorted, ranges, groups, cursors, out);                                                         \
    }
