#include "workloads/mars/mapreduce.cuh"

using namespace bulkhead::workloads::mars;

/// Emits the place and size of each word that is the keyword. Blocks end with a newline, so that words do.
struct StringMatch {
    template <class Emit>
    static __device__ void map(const char* key, const char* value, Emit& emit) {
        const KeywordKey keys = *reinterpret_cast<const KeywordKey*>(key);
        const KeywordBlock block = *reinterpret_cast<const KeywordBlock*>(value);
        const char* const text = keys.text + block.offset;
        for (int at = 0; at < block.size;) {
            const int start = at;
            while (text[at] != '\n' && text[at] != ' ') ++at;
            const int size = at - start;
            ++at;
            if (size != block.keywordSize || !same(text + start, keys.keyword, size)) continue;
            const int offset = block.offset + start;
            emit(&offset, sizeof offset, &size, sizeof size);
        }
    }

    template <class Emit>
    static __device__ void mapCount(const char* key, const char* value, Emit& emit) {
        map(key, value, emit);
    }

    static __device__ bool same(const char* a, const char* b, int size) {
        for (int i = 0; i < size; ++i)
            if (a[i] != b[i]) return false;
        return true;
    }
};

MARS_MAP(StringMatch, )
