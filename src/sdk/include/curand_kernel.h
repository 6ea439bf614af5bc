#pragma once

#define CURAND_KERNEL_H_

#include "bulkhead_sdk/random_jumps.h"
#include "curand.h"

// Random numbers on the device, by the algorithms' publications:
//   XORWOW          G. Marsaglia, Xorshift RNGs, J. Stat. Softw. 8(14), 2003, section 3.1
//   MRG32k3a        P. L'Ecuyer, Good parameters and implementations for combined multiple recursive generators, 1999
//   Philox4_32_10   J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011
//   Sobol           P. Bratley, B. Fox, Algorithm 659, ACM Trans. Math. Softw. 14(1), 1988, in the order of Gray's code
// Where cuRAND's documentation leaves something open, what stands here is our own: how a seed other than 0 sets the
// state of the first two, how two draws make a double, and how Poisson's numbers are drawn.

#ifdef __CUDA__

/// What all states have: the second of two normal numbers that were made together.
struct BulkheadNormalPair {
    float spare;
    double spareDouble;
    int hasSpare, hasSpareDouble;
};

struct curandStateXORWOW {
    unsigned int d, v[5];
    BulkheadNormalPair normal;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

struct curandStateMRG32k3a {
    unsigned int s1[3], s2[3];
    BulkheadNormalPair normal;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned int STATE;  ///< how many numbers of the block have been given
    BulkheadNormalPair normal;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace bulkhead_sdk {

/// A seed as a sequence of words that look independent (SplitMix64; Steele, Lea and Flood, 2014).
struct SeedWords {
    unsigned long long state;
    __device__ __forceinline__ unsigned long long next() {
        state += 0x9e3779b97f4a7c15ull;
        unsigned long long z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
};

BULKHEAD_DEVICE void xorwowStep(unsigned int v[5]) {
    const unsigned int t = v[0] ^ (v[0] >> 2);
    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
}
/// The sum of the states after those numbers of steps whose coefficients are 1.
BULKHEAD_DEVICE_LARGE void xorwowJump(unsigned int v[5], const unsigned int polynomial[5]) {
    unsigned int sum[5] = {0, 0, 0, 0, 0};
    for (int word = 0; word < 5; ++word) {
        unsigned int coefficients = polynomial[word];
        for (int bit = 0; bit < 32; ++bit, coefficients >>= 1) {
            const unsigned int chosen = 0u - (coefficients & 1u);
            for (int i = 0; i < 5; ++i) sum[i] ^= v[i] & chosen;
            xorwowStep(v);
        }
    }
    for (int i = 0; i < 5; ++i) v[i] = sum[i];
}

constexpr unsigned int kMrgModulus1 = 4294967087u, kMrgModulus2 = 4294944443u;

/// The rest of a 64-bit number by 2^32 - difference, for small differences.
template <unsigned int modulus>
__device__ __forceinline__ unsigned int mrgReduced(unsigned long long x) {
    constexpr unsigned int difference = 0u - modulus;
    x = (x & 0xffffffffull) + (x >> 32) * difference;
    x = (x & 0xffffffffull) + (x >> 32) * difference;
    return (unsigned int)(x >= modulus ? x - modulus : x);
}
template <unsigned int modulus>
__device__ __forceinline__ unsigned int mrgProduct(unsigned int a, unsigned int b) {
    return mrgReduced<modulus>((unsigned long long)a * b);
}
/// s = a s.
template <unsigned int modulus>
__device__ __forceinline__ void mrgApply(const unsigned int a[3][3], unsigned int s[3]) {
    unsigned int result[3];
    for (int i = 0; i < 3; ++i)
        result[i] = mrgReduced<modulus>((unsigned long long)mrgProduct<modulus>(a[i][0], s[0]) +
                                        mrgProduct<modulus>(a[i][1], s[1]) + mrgProduct<modulus>(a[i][2], s[2]));
    for (int i = 0; i < 3; ++i) s[i] = result[i];
}
/// s = a^n s.
template <unsigned int modulus>
__device__ void mrgJump(const unsigned int once[3][3], unsigned long long n, unsigned int s[3]) {
    unsigned int a[3][3];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) a[i][k] = once[i][k];
    for (; n != 0; n >>= 1) {
        if ((n & 1) != 0) mrgApply<modulus>(a, s);
        unsigned int columns[3][3];
        for (int k = 0; k < 3; ++k) {
            for (int i = 0; i < 3; ++i) columns[k][i] = a[i][k];
            mrgApply<modulus>(a, columns[k]);
        }
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) a[i][k] = columns[k][i];
    }
}
static __device__ const unsigned int kMrgStep1[3][3] = {{0, 1, 0}, {0, 0, 1}, {kMrgModulus1 - 810728u, 1403580u, 0}};
static __device__ const unsigned int kMrgStep2[3][3] = {{0, 1, 0}, {0, 0, 1}, {kMrgModulus2 - 1370589u, 0, 527612u}};

/// Ten rounds of Philox4x32.
BULKHEAD_DEVICE uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const unsigned long long first = (unsigned long long)0xd2511f53u * counter.x;
        const unsigned long long second = (unsigned long long)0xcd9e8d57u * counter.z;
        counter = uint4{(unsigned int)(second >> 32) ^ counter.y ^ key.x, (unsigned int)second,
                        (unsigned int)(first >> 32) ^ counter.w ^ key.y, (unsigned int)first};
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return counter;
}
/// A counter of 128 bits; numbers are added to its lower or its upper half, as a sequence is 2^64 blocks.
BULKHEAD_DEVICE void addBlocks(uint4& counter, unsigned long long blocks) {
    const unsigned long long low = (unsigned long long)counter.y << 32 | counter.x, sum = low + blocks;
    counter.x = (unsigned int)sum;
    counter.y = (unsigned int)(sum >> 32);
    if (sum < low && ++counter.z == 0) ++counter.w;
}
BULKHEAD_DEVICE void addSequences(uint4& counter, unsigned long long sequences) {
    const unsigned long long sum = ((unsigned long long)counter.w << 32 | counter.z) + sequences;
    counter.z = (unsigned int)sum;
    counter.w = (unsigned int)(sum >> 32);
}

}  // namespace bulkhead_sdk

// XORWOW: a sequence has 2^67 numbers.

BULKHEAD_DEVICE unsigned int curand(curandStateXORWOW_t* state) {
    bulkhead_sdk::xorwowStep(state->v);
    state->d += 362437u;
    return state->v[4] + state->d;
}
BULKHEAD_DEVICE_LARGE void skipahead(unsigned long long n, curandStateXORWOW_t* state) {
    state->d += 362437u * (unsigned int)n;
    for (int k = 0; n != 0; ++k, n >>= 1)
        if ((n & 1) != 0) bulkhead_sdk::xorwowJump(state->v, bulkhead_sdk::kXorwowSteps[k]);
}
/// The Weyl sequence repeats after 2^32, and so at the start of each sequence.
BULKHEAD_DEVICE_LARGE void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* state) {
    for (int k = 0; n != 0; ++k, n >>= 4)
        if ((n & 15) != 0) bulkhead_sdk::xorwowJump(state->v, bulkhead_sdk::kXorwowSequences[k][(n & 15) - 1]);
}
BULKHEAD_DEVICE_LARGE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                       curandStateXORWOW_t* state) {
    *state = curandStateXORWOW_t{6615241u, {123456789u, 362436069u, 521288629u, 88675123u, 5783321u}, {}};
    if (seed != 0) {
        bulkhead_sdk::SeedWords words{seed};
        for (int i = 0; i < 3; ++i) {
            const unsigned long long word = words.next();
            state->v[i] ^= (unsigned int)word;
            (i < 2 ? state->v[3 + i] : state->d) ^= (unsigned int)(word >> 32);
        }
    }
    skipahead_sequence(sequence, state);
    skipahead(offset, state);
}

// MRG32k3a: a sequence has 2^127 numbers, a subsequence 2^76. curand_init counts subsequences.

BULKHEAD_DEVICE unsigned int curand(curandStateMRG32k3a_t* state) {
    using namespace bulkhead_sdk;
    unsigned int* const s = state->s1;
    unsigned int* const t = state->s2;
    const unsigned int first = mrgReduced<kMrgModulus1>((unsigned long long)1403580u * s[1] +
                                                        (unsigned long long)810728u * (kMrgModulus1 - s[0]));
    const unsigned int second = mrgReduced<kMrgModulus2>((unsigned long long)527612u * t[2] +
                                                         (unsigned long long)1370589u * (kMrgModulus2 - t[0]));
    s[0] = s[1];
    s[1] = s[2];
    s[2] = first;
    t[0] = t[1];
    t[1] = t[2];
    t[2] = second;
    return first > second ? first - second : first - second + kMrgModulus1;
}
BULKHEAD_DEVICE_LARGE void skipahead(unsigned long long n, curandStateMRG32k3a_t* state) {
    bulkhead_sdk::mrgJump<bulkhead_sdk::kMrgModulus1>(bulkhead_sdk::kMrgStep1, n, state->s1);
    bulkhead_sdk::mrgJump<bulkhead_sdk::kMrgModulus2>(bulkhead_sdk::kMrgStep2, n, state->s2);
}
BULKHEAD_DEVICE_LARGE void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t* state) {
    bulkhead_sdk::mrgJump<bulkhead_sdk::kMrgModulus1>(bulkhead_sdk::kMrgSubsequence1, n, state->s1);
    bulkhead_sdk::mrgJump<bulkhead_sdk::kMrgModulus2>(bulkhead_sdk::kMrgSubsequence2, n, state->s2);
}
BULKHEAD_DEVICE_LARGE void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t* state) {
    bulkhead_sdk::mrgJump<bulkhead_sdk::kMrgModulus1>(bulkhead_sdk::kMrgSequence1, n, state->s1);
    bulkhead_sdk::mrgJump<bulkhead_sdk::kMrgModulus2>(bulkhead_sdk::kMrgSequence2, n, state->s2);
}
BULKHEAD_DEVICE_LARGE void curand_init(unsigned long long seed, unsigned long long subsequence,
                                       unsigned long long offset, curandStateMRG32k3a_t* state) {
    *state = curandStateMRG32k3a_t{{12345u, 12345u, 12345u}, {12345u, 12345u, 12345u}, {}};
    if (seed != 0) {
        bulkhead_sdk::SeedWords words{seed};
        for (int i = 0; i < 3; ++i) {
            const unsigned long long word = words.next();
            // From 1 on: a recurrence must not start with zeros alone.
            state->s1[i] = 1 + (unsigned int)word % (bulkhead_sdk::kMrgModulus1 - 1);
            state->s2[i] = 1 + (unsigned int)(word >> 32) % (bulkhead_sdk::kMrgModulus2 - 1);
        }
    }
    // Beyond 51 bits begins the next sequence.
    skipahead_subsequence(subsequence & ((1ull << 51) - 1), state);
    skipahead(offset, state);
}

// Philox: blocks of four numbers, made of a counter and a key, which is the seed; a sequence has 2^66 numbers.

BULKHEAD_DEVICE void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
    const unsigned int within = state->STATE + (unsigned int)(n & 3);
    bulkhead_sdk::addBlocks(state->ctr, (n >> 2) + (within >> 2));
    state->STATE = within & 3;
    state->output = bulkhead_sdk::philox(state->ctr, state->key);
}
BULKHEAD_DEVICE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
    bulkhead_sdk::addSequences(state->ctr, n);
    state->output = bulkhead_sdk::philox(state->ctr, state->key);
}
BULKHEAD_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                 curandStatePhilox4_32_10_t* state) {
    *state = curandStatePhilox4_32_10_t{};
    state->key = uint2{(unsigned int)seed, (unsigned int)(seed >> 32)};
    bulkhead_sdk::addSequences(state->ctr, sequence);
    skipahead(offset, state);
}
BULKHEAD_DEVICE unsigned int curand(curandStatePhilox4_32_10_t* state) {
    const unsigned int at = state->STATE;
    const uint4 block = state->output;
    if (at == 3) {
        bulkhead_sdk::addBlocks(state->ctr, 1);
        state->output = bulkhead_sdk::philox(state->ctr, state->key);
    }
    state->STATE = (at + 1) & 3;
    return at == 0 ? block.x : at == 1 ? block.y : at == 2 ? block.z : block.w;
}
/// The next four numbers; one block if none of it has been given yet.
BULKHEAD_DEVICE uint4 curand4(curandStatePhilox4_32_10_t* state) {
    const uint4 a = state->output;
    bulkhead_sdk::addBlocks(state->ctr, 1);
    const uint4 b = state->output = bulkhead_sdk::philox(state->ctr, state->key);
    switch (state->STATE) {
        case 0:
            return a;
        case 1:
            return uint4{a.y, a.z, a.w, b.x};
        case 2:
            return uint4{a.z, a.w, b.x, b.y};
        default:
            return uint4{a.w, b.x, b.y, b.z};
    }
}

namespace bulkhead_sdk {

/// In (0, 1]: the middle of each of 2^32 intervals, where float can tell it from its ends.
BULKHEAD_DEVICE float uniformOf(unsigned int x) {
    return (float)x * 0x1p-32f + 0x1p-33f;
}
BULKHEAD_DEVICE double uniformOf(unsigned int low, unsigned int high) {
    const unsigned long long bits = ((unsigned long long)high << 32 | low) >> 11;
    return (double)bits * 0x1p-53 + 0x1p-54;
}
/// L'Ecuyer's: a number from 1 to the modulus, by the modulus + 1.
BULKHEAD_DEVICE double uniformOfMrg(unsigned int x) {
    return x * 2.328306549295727688e-10;
}

/// Box and Muller, 1958: two normal numbers of two uniform ones.
BULKHEAD_DEVICE_LARGE float2 normalOf(float u, float v) {
    const float size = sqrtf(-2.0f * logf(u));
    float2 pair;
    sincosf(6.2831853f * v, &pair.x, &pair.y);
    return float2{size * pair.x, size * pair.y};
}
BULKHEAD_DEVICE_LARGE double2 normalOf(double u, double v) {
    const double size = sqrt(-2.0 * log(u));
    double2 pair;
    sincospi(2.0 * v, &pair.x, &pair.y);
    return double2{size * pair.x, size * pair.y};
}

}  // namespace bulkhead_sdk

BULKHEAD_DEVICE float curand_uniform(curandStateXORWOW_t* state) {
    return bulkhead_sdk::uniformOf(curand(state));
}
BULKHEAD_DEVICE float curand_uniform(curandStatePhilox4_32_10_t* state) {
    return bulkhead_sdk::uniformOf(curand(state));
}
BULKHEAD_DEVICE float curand_uniform(curandStateMRG32k3a_t* state) {
    return (float)bulkhead_sdk::uniformOfMrg(curand(state));
}
BULKHEAD_DEVICE double curand_uniform_double(curandStateXORWOW_t* state) {
    const unsigned int low = curand(state);
    return bulkhead_sdk::uniformOf(low, curand(state));
}
BULKHEAD_DEVICE double curand_uniform_double(curandStatePhilox4_32_10_t* state) {
    const unsigned int low = curand(state);
    return bulkhead_sdk::uniformOf(low, curand(state));
}
/// It has no more than 32 bits to give.
BULKHEAD_DEVICE double curand_uniform_double(curandStateMRG32k3a_t* state) {
    return bulkhead_sdk::uniformOfMrg(curand(state));
}
BULKHEAD_DEVICE float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
    const uint4 x = curand4(state);
    return float4{bulkhead_sdk::uniformOf(x.x), bulkhead_sdk::uniformOf(x.y), bulkhead_sdk::uniformOf(x.z),
                  bulkhead_sdk::uniformOf(x.w)};
}
BULKHEAD_DEVICE double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
    const uint4 x = curand4(state);
    return double2{bulkhead_sdk::uniformOf(x.x, x.y), bulkhead_sdk::uniformOf(x.z, x.w)};
}
BULKHEAD_DEVICE double4 curand_uniform4_double(curandStatePhilox4_32_10_t* state) {
    const double2 a = curand_uniform2_double(state), b = curand_uniform2_double(state);
    return double4{a.x, a.y, b.x, b.y};
}

#define BULKHEAD_NORMAL(State)                                                                       \
    BULKHEAD_DEVICE_LARGE float2 curand_normal2(State* state) {                                      \
        const float u = curand_uniform(state);                                                       \
        return bulkhead_sdk::normalOf(u, curand_uniform(state));                                     \
    }                                                                                                \
    BULKHEAD_DEVICE_LARGE double2 curand_normal2_double(State* state) {                              \
        const double u = curand_uniform_double(state);                                               \
        return bulkhead_sdk::normalOf(u, curand_uniform_double(state));                              \
    }                                                                                                \
    BULKHEAD_DEVICE_LARGE float curand_normal(State* state) {                                        \
        BulkheadNormalPair& kept = state->normal;                                                    \
        kept.hasSpare ^= 1;                                                                          \
        if (kept.hasSpare == 0) return kept.spare;                                                   \
        const float2 pair = curand_normal2(state);                                                   \
        kept.spare = pair.y;                                                                         \
        return pair.x;                                                                               \
    }                                                                                                \
    BULKHEAD_DEVICE_LARGE double curand_normal_double(State* state) {                                \
        BulkheadNormalPair& kept = state->normal;                                                    \
        kept.hasSpareDouble ^= 1;                                                                    \
        if (kept.hasSpareDouble == 0) return kept.spareDouble;                                       \
        const double2 pair = curand_normal2_double(state);                                           \
        kept.spareDouble = pair.y;                                                                   \
        return pair.x;                                                                               \
    }                                                                                                \
    BULKHEAD_DEVICE float curand_log_normal(State* state, float mean, float deviation) {             \
        return expf(mean + deviation * curand_normal(state));                                        \
    }                                                                                                \
    BULKHEAD_DEVICE double curand_log_normal_double(State* state, double mean, double deviation) {   \
        return exp(mean + deviation * curand_normal_double(state));                                  \
    }                                                                                                \
    BULKHEAD_DEVICE float2 curand_log_normal2(State* state, float mean, float deviation) {           \
        const float2 pair = curand_normal2(state);                                                   \
        return float2{expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};             \
    }                                                                                                \
    BULKHEAD_DEVICE double2 curand_log_normal2_double(State* state, double mean, double deviation) { \
        const double2 pair = curand_normal2_double(state);                                           \
        return double2{exp(mean + deviation * pair.x), exp(mean + deviation * pair.y)};              \
    }                                                                                                \
    BULKHEAD_DEVICE unsigned int curand_poisson(State* state, double lambda) {                       \
        return bulkhead_sdk::poisson(state, lambda);                                                 \
    }

namespace bulkhead_sdk {

/// Below 10 by products of uniform numbers (Knuth), else by transformed rejection (PTRS; W. Hoermann, The transformed
/// rejection method for generating Poisson random variables, 1993).
template <class State>
__device__ unsigned int poisson(State* state, double lambda) {
    if (lambda < 10) {
        const double limit = exp(-lambda);
        double product = curand_uniform_double(state);
        unsigned int count = 0;
        for (; product > limit; ++count) product *= curand_uniform_double(state);
        return count;
    }
    const double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b;
    const double inverseAlpha = 1.1239 + 1.1328 / (b - 3.4), top = 0.9277 - 3.6224 / (b - 2), logLambda = log(lambda);
    while (true) {
        const double u = curand_uniform_double(state) - 0.5, v = curand_uniform_double(state), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + lambda + 0.43);
        if (us >= 0.07 && v <= top) return (unsigned int)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v * inverseAlpha / (a / (us * us) + b)) <= k * logLambda - lambda - lgamma(k + 1))
            return (unsigned int)k;
    }
}

}  // namespace bulkhead_sdk

BULKHEAD_NORMAL(curandStateXORWOW_t)
BULKHEAD_NORMAL(curandStateMRG32k3a_t)
BULKHEAD_NORMAL(curandStatePhilox4_32_10_t)
#undef BULKHEAD_NORMAL

BULKHEAD_DEVICE_LARGE float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
    const float4 u = curand_uniform4(state);
    const float2 a = bulkhead_sdk::normalOf(u.x, u.y), b = bulkhead_sdk::normalOf(u.z, u.w);
    return float4{a.x, a.y, b.x, b.y};
}
BULKHEAD_DEVICE_LARGE double4 curand_normal4_double(curandStatePhilox4_32_10_t* state) {
    const double4 u = curand_uniform4_double(state);
    const double2 a = bulkhead_sdk::normalOf(u.x, u.y), b = bulkhead_sdk::normalOf(u.z, u.w);
    return double4{a.x, a.y, b.x, b.y};
}
BULKHEAD_DEVICE_LARGE float4 curand_log_normal4(curandStatePhilox4_32_10_t* state, float mean, float deviation) {
    const float4 n = curand_normal4(state);
    return float4{expf(mean + deviation * n.x), expf(mean + deviation * n.y), expf(mean + deviation * n.z),
                  expf(mean + deviation * n.w)};
}
BULKHEAD_DEVICE_LARGE uint4 curand_poisson4(curandStatePhilox4_32_10_t* state, double lambda) {
    uint4 counts;
    counts.x = curand_poisson(state, lambda);
    counts.y = curand_poisson(state, lambda);
    counts.z = curand_poisson(state, lambda);
    counts.w = curand_poisson(state, lambda);
    return counts;
}

// Sobol's sequences of one dimension each, by direction vectors that the program brings; scrambled ones are shifted by
// a constant. Normal numbers come from the inverse of their distribution, so that one number makes one.

namespace bulkhead_sdk {

template <class Word, int bits>
struct Sobol {
    unsigned long long i;
    Word x, c, direction_vectors[bits];
};
BULKHEAD_DEVICE double uniformOf(unsigned long long x) {
    return (double)(x >> 11) * 0x1p-53 + 0x1p-54;
}

}  // namespace bulkhead_sdk

struct curandStateSobol32 : bulkhead_sdk::Sobol<unsigned int, 32> {};
struct curandStateScrambledSobol32 : bulkhead_sdk::Sobol<unsigned int, 32> {};
struct curandStateSobol64 : bulkhead_sdk::Sobol<unsigned long long, 64> {};
struct curandStateScrambledSobol64 : bulkhead_sdk::Sobol<unsigned long long, 64> {};
typedef struct curandStateSobol32 curandStateSobol32_t;
typedef struct curandStateScrambledSobol32 curandStateScrambledSobol32_t;
typedef struct curandStateSobol64 curandStateSobol64_t;
typedef struct curandStateScrambledSobol64 curandStateScrambledSobol64_t;

namespace bulkhead_sdk {

template <class Word, int bits>
__device__ void sobolSkip(unsigned long long n, Sobol<Word, bits>& state) {
    state.i += n;
    state.x = state.c;
    const unsigned long long gray = state.i ^ (state.i >> 1);
    for (int k = 0; k < bits; ++k)
        if ((gray >> k & 1) != 0) state.x ^= state.direction_vectors[k];
}
template <class Word, int bits>
__device__ void sobolInit(const Word* vectors, Word scramble, unsigned long long offset, Sobol<Word, bits>& state) {
    for (int k = 0; k < bits; ++k) state.direction_vectors[k] = vectors[k];
    state.i = 0;
    state.c = scramble;
    sobolSkip(offset, state);
}
template <class Word, int bits>
__device__ __forceinline__ Word sobolNext(Sobol<Word, bits>& state) {
    const Word x = state.x;
    const int zero = __ffsll((long long)~state.i) - 1;
    state.x ^= state.direction_vectors[zero < bits ? zero : bits - 1];
    ++state.i;
    return x;
}

}  // namespace bulkhead_sdk

BULKHEAD_DEVICE void curand_init(curandDirectionVectors32_t vectors, unsigned int offset, curandStateSobol32_t* state) {
    bulkhead_sdk::sobolInit<unsigned int, 32>(vectors, 0, offset, *state);
}
BULKHEAD_DEVICE void curand_init(curandDirectionVectors32_t vectors, unsigned int scramble, unsigned int offset,
                                 curandStateScrambledSobol32_t* state) {
    bulkhead_sdk::sobolInit<unsigned int, 32>(vectors, scramble, offset, *state);
}
BULKHEAD_DEVICE void curand_init(curandDirectionVectors64_t vectors, unsigned long long offset,
                                 curandStateSobol64_t* state) {
    bulkhead_sdk::sobolInit<unsigned long long, 64>(vectors, 0, offset, *state);
}
BULKHEAD_DEVICE void curand_init(curandDirectionVectors64_t vectors, unsigned long long scramble,
                                 unsigned long long offset, curandStateScrambledSobol64_t* state) {
    bulkhead_sdk::sobolInit<unsigned long long, 64>(vectors, scramble, offset, *state);
}

#define BULKHEAD_SOBOL(State, Word)                                                                   \
    BULKHEAD_DEVICE Word curand(State* state) {                                                       \
        return bulkhead_sdk::sobolNext(*state);                                                       \
    }                                                                                                 \
    BULKHEAD_DEVICE void skipahead(unsigned long long n, State* state) {                              \
        bulkhead_sdk::sobolSkip(n, *state);                                                           \
    }                                                                                                 \
    BULKHEAD_DEVICE float curand_uniform(State* state) {                                              \
        return bulkhead_sdk::uniformOf((unsigned int)(curand(state) >> (8 * sizeof(Word) - 32)));     \
    }                                                                                                 \
    BULKHEAD_DEVICE double curand_uniform_double(State* state) {                                      \
        return bulkhead_sdk::uniformOf((unsigned long long)curand(state) << (64 - 8 * sizeof(Word))); \
    }                                                                                                 \
    BULKHEAD_DEVICE_LARGE float curand_normal(State* state) {                                         \
        return (float)normcdfinv(curand_uniform_double(state));                                       \
    }                                                                                                 \
    BULKHEAD_DEVICE_LARGE double curand_normal_double(State* state) {                                 \
        return normcdfinv(curand_uniform_double(state));                                              \
    }                                                                                                 \
    BULKHEAD_DEVICE float curand_log_normal(State* state, float mean, float deviation) {              \
        return expf(mean + deviation * curand_normal(state));                                         \
    }                                                                                                 \
    BULKHEAD_DEVICE double curand_log_normal_double(State* state, double mean, double deviation) {    \
        return exp(mean + deviation * curand_normal_double(state));                                   \
    }
BULKHEAD_SOBOL(curandStateSobol32_t, unsigned int)
BULKHEAD_SOBOL(curandStateScrambledSobol32_t, unsigned int)
BULKHEAD_SOBOL(curandStateSobol64_t, unsigned long long)
BULKHEAD_SOBOL(curandStateScrambledSobol64_t, unsigned long long)
#undef BULKHEAD_SOBOL

#endif
