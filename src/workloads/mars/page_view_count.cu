#include "workloads/mars/mapreduce.cuh"

using namespace bulkhead::workloads::mars;

/// Views by what a line starts with, up to the character `End`: by hash, then by text.
template <char End>
struct ViewsBy {
    template <class Emit>
    static __device__ void mapCount(char*, const char*, Emit& emit) {
        emit(nullptr, sizeof(ViewKey), nullptr, sizeof(ViewLine));
    }

    static __device__ int compare(const char* a, int, const char* b, int) {
        const ViewKey one = *reinterpret_cast<const ViewKey*>(a), other = *reinterpret_cast<const ViewKey*>(b);
        if (one.hash != other.hash) return compareNumbers(one.hash, other.hash);
        return compareUntil(one.log + one.offset, other.log + other.offset, End);
    }
};

/// The first job: views that differ in page or visitor. Keeps one line of each group.
struct DistinctViews : ViewsBy<'\n'> {
    template <class Emit>
    static __device__ void map(char* key, const char* value, Emit& emit) {
        ViewKey& view = *reinterpret_cast<ViewKey*>(key);
        view.hash = hashBytes(view.log + view.offset, reinterpret_cast<const ViewLine*>(value)->size);
        emit(key, sizeof(ViewKey), value, sizeof(ViewLine));
    }

    template <class Emit>
    static __device__ void reduceCount(const Group& group, Emit& emit) {
        emit(nullptr, group.entry(0).keySize, nullptr, group.entry(0).valueSize);
    }

    template <class Emit>
    static __device__ void reduce(const Group& group, Emit& emit) {
        emit(group.key(0), group.entry(0).keySize, group.value(0), group.entry(0).valueSize);
    }
};

/// The second job: views of each page. The size of a group is their number.
struct PageViews : ViewsBy<'\t'> {
    template <class Emit>
    static __device__ void map(char* key, const char* value, Emit& emit) {
        ViewKey& view = *reinterpret_cast<ViewKey*>(key);
        const char* const url = view.log + view.offset;
        int size = 0;
        while (url[size] != '\t') ++size;
        view.hash = hashBytes(url, size);
        emit(key, sizeof(ViewKey), value, sizeof(ViewLine));
    }
};

extern "C" __global__ void distinct_mapCount(RecordView input, TaskCursors sizes) {
    mapCountTask<DistinctViews>(input, sizes);
}

extern "C" __global__ void distinct_map(RecordView input, TaskCursors cursors, RecordView out) {
    mapTask<DistinctViews>(input, cursors, out);
}

extern "C" __global__ void distinct_sortStep(const char* keys, Entry* entries, int run, int distance) {
    sortStepTask<DistinctViews>(keys, entries, run, distance);
}

extern "C" __global__ void distinct_sortChunks(const char* keys, Entry* entries) {
    sortChunkTask<DistinctViews>(keys, entries);
}

extern "C" __global__ void distinct_mergeChunks(const char* keys, Entry* entries, int run) {
    mergeChunkTask<DistinctViews>(keys, entries, run);
}

extern "C" __global__ void distinct_markStarts(RecordView sorted, int* starts) {
    markStartTask<DistinctViews>(sorted, starts);
}

extern "C" __global__ void distinct_reduceCount(RecordView sorted, const Range* ranges, int groups, TaskCursors sizes) {
    reduceCountTask<DistinctViews>(sorted, ranges, groups, sizes);
}

extern "C" __global__ void distinct_reduce(RecordView sorted, const Range* ranges, int groups, TaskCursors cursors,
                                           RecordView out) {
    reduceTask<DistinctViews>(sorted, ranges, groups, cursors, out);
}

extern "C" __global__ void page_mapCount(RecordView input, TaskCursors sizes) {
    mapCountTask<PageViews>(input, sizes);
}

extern "C" __global__ void page_map(RecordView input, TaskCursors cursors, RecordView out) {
    mapTask<PageViews>(input, cursors, out);
}

extern "C" __global__ void page_sortStep(const char* keys, Entry* entries, int run, int distance) {
    sortStepTask<PageViews>(keys, entries, run, distance);
}

extern "C" __global__ void page_sortChunks(const char* keys, Entry* entries) {
    sortChunkTask<PageViews>(keys, entries);
}

extern "C" __global__ void page_mergeChunks(const char* keys, Entry* entries, int run) {
    mergeChunkTask<PageViews>(keys, entries, run);
}

extern "C" __global__ void page_markStarts(RecordView sorted, int* starts) {
    markStartTask<PageViews>(sorted, starts);
}
