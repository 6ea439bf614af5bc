#include "workloads/mars/mapreduce.cuh"

using namespace bulkhead::workloads::mars;

/// Emits each word of at least six letters, as Mars does, with its length.
struct WordCount {
    static constexpr int kLetters = 6;

    static __device__ bool isLetter(char c) { return c >= 'a' && c <= 'z'; }

    template <class Emit>
    static __device__ void map(const char* key, const char* value, Emit& emit) {
        const TextBlock block = *reinterpret_cast<const TextBlock*>(value);
        const char* at = reinterpret_cast<const TextKey*>(key)->text + block.offset;
        const char* const end = at + block.size;
        while (at < end) {
            const char* const word = at;
            while (at < end && isLetter(*at)) ++at;
            const int length = static_cast<int>(at - word);
            if (length >= kLetters) emit(word, length, &length, sizeof length);
            while (at < end && !isLetter(*at)) ++at;
        }
    }

    template <class Emit>
    static __device__ void mapCount(const char* key, const char* value, Emit& emit) {
        map(key, value, emit);
    }

    static __device__ int compare(const char* a, int aSize, const char* b, int bSize) {
        for (int i = 0; i < aSize && i < bSize; ++i)
            if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
        return compareNumbers(aSize, bSize);
    }
};

MARS_MAP(WordCount, )
MARS_GROUP(WordCount, )
