#include "workloads/mars/mapreduce.cuh"

using namespace bulkhead::workloads::mars;

/// Emits the cosine of two documents' vectors with their numbers. Rows are read four components at a time.
struct SimilarityScore {
    template <class Emit>
    static __device__ void map(const char* key, const char* value, Emit& emit) {
        const DocumentPair pair = *reinterpret_cast<const DocumentPair*>(value);
        const float* const matrix = reinterpret_cast<const MatrixKey*>(key)->matrix;
        const auto* const first = reinterpret_cast<const float4*>(matrix + pair.first * pair.dimensions);
        const auto* const second = reinterpret_cast<const float4*>(matrix + pair.second * pair.dimensions);
        float product = 0, firstSquares = 0, secondSquares = 0;
        for (int i = 0; i < pair.dimensions / 4; ++i) {
            const float4 a = first[i], b = second[i];
            product += dot(a, b);
            firstSquares += dot(a, a);
            secondSquares += dot(b, b);
        }
        const float similarity = product / (sqrtf(firstSquares) * sqrtf(secondSquares));
        const int2 documents = {pair.first, pair.second};
        emit(&similarity, sizeof similarity, &documents, sizeof documents);
    }

    template <class Emit>
    static __device__ void mapCount(const char*, const char*, Emit& emit) {
        emit(nullptr, sizeof(float), nullptr, sizeof(int2));
    }

    static __device__ int compare(const char* a, int, const char* b, int) {
        const float one = *reinterpret_cast<const float*>(a), other = *reinterpret_cast<const float*>(b);
        return one < other ? -1 : one > other;
    }

  private:
    static __device__ float dot(const float4& a, const float4& b) {
        return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
};

MARS_MAP(SimilarityScore, )
MARS_GROUP(SimilarityScore, )
MARS_CHUNKED_SORT(SimilarityScore, )
