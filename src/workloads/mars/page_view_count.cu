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

MARS_MAP(DistinctViews, distinct_)
MARS_GROUP(DistinctViews, distinct_)
MARS_CHUNKED_SORT(DistinctViews, distinct_)
MARS_REDUCE(DistinctViews, distinct_)

MARS_MAP(PageViews, page_)
MARS_GROUP(PageViews, page_)
MARS_CHUNKED_SORT(PageViews, page_)
