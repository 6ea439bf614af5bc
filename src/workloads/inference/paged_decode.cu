// Attention of one new token of each sequence to all before it, whose keys and values lie in pages that a table lists:
// the step that a language model repeats for every word it says. All of it is read once, so memory is what it waits
// for. A block has a part of a sequence's tokens and one head of keys; another kernel joins the parts.

#include <cuda_runtime.h>

#include "workloads/inference/paged_decode.h"
#include "workloads/inference/tensor_core.h"

namespace {

using namespace bulkhead::workloads;

constexpr int kGroup = 16;                        // lanes that have a row, 16 bytes each
constexpr int kGroups = kDecodeThreads / kGroup;  // that look at tokens of their own
constexpr int kPiece = kDecodeHeadSize / kGroup;  // numbers of a lane
constexpr int kTogether = 4;                      // tokens that a group looks at together
constexpr float kNever = -1e30f;

__device__ void unpack(float (&to)[kPiece], const uint4& from) {
    const unsigned words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        to[2 * i] = lowBf16(words[i]);
        to[2 * i + 1] = highBf16(words[i]);
    }
}

/// Of the lanes of a group.
__device__ float groupSum(float x) {
#pragma unroll
    for (int distance = kGroup / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
    return x;
}

}  // namespace

/// Weighted sums of values, and the largest score and the sum of weights, of each part of each head. `scale` is that of
/// scores, times log2(e).
extern "C" __global__ void __launch_bounds__(kDecodeThreads)
    decodeParts(float* parts, float2* weights, const Bf16* q, const Bf16* keys, const Bf16* values, const int* pages,
                const int* lengths, int mostPages, float scale) {
    const int part = blockIdx.x, keyHead = blockIdx.y, sequence = blockIdx.z, keyHeads = gridDim.y;
    const int length = lengths[sequence], first = part * kSplitTokens;
    if (first >= length) return;
    const int end = min(first + kSplitTokens, length);
    const int lane = threadIdx.x % kGroup, group = threadIdx.x / kGroup;
    const int* const table = pages + (size_t)sequence * mostPages;

    float query[kQueriesPerKey][kPiece];
    const size_t head = ((size_t)sequence * keyHeads + keyHead) * kQueriesPerKey;
#pragma unroll
    for (int h = 0; h < kQueriesPerKey; ++h) {
        unpack(query[h], *(const uint4*)(q + (head + h) * kDecodeHeadSize + lane * kPiece));
#pragma unroll
        for (int i = 0; i < kPiece; ++i) query[h][i] *= scale;
    }

    float sums[kQueriesPerKey][kPiece] = {}, largest[kQueriesPerKey], total[kQueriesPerKey] = {};
#pragma unroll
    for (int h = 0; h < kQueriesPerKey; ++h) largest[h] = kNever;
    for (int begin = first; begin < end; begin += kGroups * kTogether) {
        const int token = begin + group * kTogether;
        uint4 keyBits[kTogether], valueBits[kTogether];
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
            const int at = min(token + t, end - 1);
            const size_t row = ((size_t)table[at / kPageTokens] * keyHeads + keyHead) * kPageTokens + at % kPageTokens;
            keyBits[t] = *(const uint4*)(keys + row * kDecodeHeadSize + lane * kPiece);
            valueBits[t] = *(const uint4*)(values + row * kDecodeHeadSize + lane * kPiece);
        }
        float score[kQueriesPerKey][kTogether];
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
            float key[kPiece];
            unpack(key, keyBits[t]);
#pragma unroll
            for (int h = 0; h < kQueriesPerKey; ++h) {
                float dot = 0;
#pragma unroll
                for (int i = 0; i < kPiece; ++i) dot += query[h][i] * key[i];
                score[h][t] = groupSum(dot);
            }
        }
#pragma unroll
        for (int h = 0; h < kQueriesPerKey; ++h) {
            float next = largest[h];
#pragma unroll
            for (int t = 0; t < kTogether; ++t)
                if (token + t < end) next = fmaxf(next, score[h][t]);
            const float correction = fastExp2(largest[h] - next);
            largest[h] = next;
            total[h] *= correction;
#pragma unroll
            for (int i = 0; i < kPiece; ++i) sums[h][i] *= correction;
#pragma unroll
            for (int t = 0; t < kTogether; ++t) {
                score[h][t] = token + t < end ? fastExp2(score[h][t] - next) : 0;
                total[h] += score[h][t];
            }
        }
#pragma unroll
        for (int t = 0; t < kTogether; ++t) {
            float value[kPiece];
            unpack(value, valueBits[t]);
#pragma unroll
            for (int h = 0; h < kQueriesPerKey; ++h)
#pragma unroll
                for (int i = 0; i < kPiece; ++i) sums[h][i] += score[h][t] * value[i];
        }
    }

    __shared__ float groupSums[kGroups][kQueriesPerKey][kDecodeHeadSize];
    __shared__ float2 groupWeights[kGroups][kQueriesPerKey];
#pragma unroll
    for (int h = 0; h < kQueriesPerKey; ++h) {
#pragma unroll
        for (int i = 0; i < kPiece; ++i) groupSums[group][h][lane * kPiece + i] = sums[h][i];
        if (lane == 0) groupWeights[group][h] = make_float2(largest[h], total[h]);
    }
    __syncthreads();
    for (int h = 0; h < kQueriesPerKey; ++h) {
        float most = kNever;
        for (int g = 0; g < kGroups; ++g) most = fmaxf(most, groupWeights[g][h].x);
        float sum = 0, weight = 0;
        for (int g = 0; g < kGroups; ++g) {
            const float share = fastExp2(groupWeights[g][h].x - most);
            sum += groupSums[g][h][threadIdx.x] * share;
            weight += groupWeights[g][h].y * share;
        }
        const size_t at = (head + h) * gridDim.x + part;
        parts[at * kDecodeHeadSize + threadIdx.x] = sum;
        if (threadIdx.x == 0) weights[at] = make_float2(most, weight);
    }
}

/// A block has a head of a sequence, a thread one number of it.
extern "C" __global__ void __launch_bounds__(kDecodeHeadSize)
    decodeJoin(float* out, const float* parts, const float2* weights, const int* lengths, int mostParts) {
    const int head = blockIdx.x + blockIdx.y * gridDim.x;
    const int count = (lengths[blockIdx.y] + kSplitTokens - 1) / kSplitTokens;
    const size_t first = (size_t)head * mostParts;
    float most = kNever;
    for (int p = 0; p < count; ++p) most = fmaxf(most, weights[first + p].x);
    float sum = 0, weight = 0;
    for (int p = 0; p < count; ++p) {
        const float share = fastExp2(weights[first + p].x - most);
        sum += parts[(first + p) * kDecodeHeadSize + threadIdx.x] * share;
        weight += weights[first + p].y * share;
    }
    out[(size_t)head * kDecodeHeadSize + threadIdx.x] = sum / weight;
}
