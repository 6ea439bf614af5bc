// curand_kernel.h against the published algorithms, and its distributions against their moments.

#include <curand_kernel.h>

#include <array>

#include "check.h"

constexpr int kDraws = 40, kThreads = 32;

struct Start {
    unsigned long long seed, sequence, offset;
};

template <class State>
__global__ void draw(const Start* starts, unsigned* out, State* states) {
    const Start s = starts[threadIdx.x];
    State state;
    curand_init(s.seed, s.sequence, s.offset, &state);
    states[threadIdx.x] = state;
    for (int i = 0; i < kDraws; ++i) out[threadIdx.x * kDraws + i] = curand(&state);
}

// XORWOW (Marsaglia 2003): the register as 160 bits, a step as a matrix.
struct Xorwow {
    std::array<unsigned, 5> v;
    unsigned d;
    unsigned next() {
        const unsigned t = v[0] ^ (v[0] >> 2);
        v = {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
        d += 362437;
        return d + v[4];
    }
};
typedef std::array<std::array<unsigned, 5>, 160> BitMatrix;  // columns: what becomes of each bit

std::array<unsigned, 5> applied(const BitMatrix& m, const std::array<unsigned, 5>& v) {
    std::array<unsigned, 5> sum = {};
    for (int bit = 0; bit < 160; ++bit)
        if (v[bit / 32] >> bit % 32 & 1)
            for (int i = 0; i < 5; ++i) sum[i] ^= m[bit][i];
    return sum;
}
void jump(Xorwow& generator, unsigned long long n, int doublings) {
    BitMatrix m;
    for (int bit = 0; bit < 160; ++bit) {
        Xorwow one = {{}, 0};
        one.v[bit / 32] = 1u << bit % 32;
        one.next();
        m[bit] = one.v;
    }
    const auto square = [&] {
        BitMatrix squared;
        for (int bit = 0; bit < 160; ++bit) squared[bit] = applied(m, m[bit]);
        m = squared;
    };
    for (int i = 0; i < doublings; ++i) square();
    if (doublings < 32) generator.d += 362437u * (unsigned)(n << doublings);
    for (; n != 0; n >>= 1, square())
        if (n & 1) generator.v = applied(m, generator.v);
}

// MRG32k3a in double, as L'Ecuyer published it (1999, figure I).
struct Mrg {
    double s10, s11, s12, s20, s21, s22;
    double next() {
        const double m1 = 4294967087.0, m2 = 4294944443.0;
        double p1 = fmod(1403580.0 * s11 - 810728.0 * s10, m1), p2 = fmod(527612.0 * s22 - 1370589.0 * s20, m2);
        if (p1 < 0) p1 += m1;
        if (p2 < 0) p2 += m2;
        s10 = s11, s11 = s12, s12 = p1, s20 = s21, s21 = s22, s22 = p2;
        return p1 <= p2 ? p1 - p2 + m1 : p1 - p2;
    }
};
void jump(unsigned long long s[3], const unsigned long long step[3][3], unsigned long long m, unsigned long long n,
          int doublings) {
    typedef unsigned __int128 Wide;
    unsigned long long a[3][3], square[3][3];
    memcpy(a, step, sizeof a);
    const auto doubled = [&] {
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k)
                square[i][k] =
                    (unsigned long long)(((Wide)a[i][0] * a[0][k] + (Wide)a[i][1] * a[1][k] + (Wide)a[i][2] * a[2][k]) %
                                         m);
        memcpy(a, square, sizeof a);
    };
    for (int i = 0; i < doublings; ++i) doubled();
    for (; n != 0; n >>= 1, doubled()) {
        if ((n & 1) == 0) continue;
        unsigned long long next[3];
        for (int i = 0; i < 3; ++i)
            next[i] = (unsigned long long)(((Wide)a[i][0] * s[0] + (Wide)a[i][1] * s[1] + (Wide)a[i][2] * s[2]) % m);
        memcpy(s, next, sizeof next);
    }
}

const Start* starts() {
    Start* const s = shared<Start>(kThreads);
    Random random;
    for (int i = 0; i < kThreads; ++i)
        s[i] = {i < 24 ? 0ull : random.next(), i % 4 == 0 ? 0 : random.next() >> (i < 12 ? 50 : 20),
                i % 3 == 0 ? 0 : random.next() >> (i < 12 ? 54 : 3)};
    return s;
}

void checkXorwow() {
    const Start* const s = starts();
    unsigned* const out = shared<unsigned>(kThreads * kDraws);
    auto* const states = shared<curandState>(kThreads);
    draw<<<1, kThreads>>>(s, out, states);
    synchronize();
    for (int i = 0; i < kThreads; ++i) {
        // Seed 0 is the published start; of others, only the state that they left is known.
        Xorwow generator = {{123456789, 362436069, 521288629, 88675123, 5783321}, 6615241};
        if (s[i].seed == 0) {
            jump(generator, s[i].sequence, 67);
            jump(generator, s[i].offset, 0);
        } else {
            for (int k = 0; k < 5; ++k) generator.v[k] = states[i].v[k];
            generator.d = states[i].d;
        }
        for (int k = 0; k < kDraws; ++k) {
            const unsigned want = generator.next();
            expect(out[i * kDraws + k] == want, "XORWOW %d, number %d: %08x, not %08x", i, k, out[i * kDraws + k],
                   want);
        }
    }
}

void checkMrg() {
    const Start* const s = starts();
    unsigned* const out = shared<unsigned>(kThreads * kDraws);
    auto* const states = shared<curandStateMRG32k3a>(kThreads);
    draw<<<1, kThreads>>>(s, out, states);
    synchronize();
    const unsigned long long m1 = 4294967087, m2 = 4294944443;
    const unsigned long long step1[3][3] = {{0, 1, 0}, {0, 0, 1}, {m1 - 810728, 1403580, 0}};
    const unsigned long long step2[3][3] = {{0, 1, 0}, {0, 0, 1}, {m2 - 1370589, 0, 527612}};
    for (int i = 0; i < kThreads; ++i) {
        unsigned long long a[3] = {12345, 12345, 12345}, b[3] = {12345, 12345, 12345};
        if (s[i].seed == 0) {
            const unsigned long long sequence = s[i].sequence & ((1ull << 51) - 1);
            jump(a, step1, m1, sequence, 76);
            jump(b, step2, m2, sequence, 76);
            jump(a, step1, m1, s[i].offset, 0);
            jump(b, step2, m2, s[i].offset, 0);
        } else {
            for (int k = 0; k < 3; ++k) a[k] = states[i].s1[k], b[k] = states[i].s2[k];
        }
        Mrg generator = {(double)a[0], (double)a[1], (double)a[2], (double)b[0], (double)b[1], (double)b[2]};
        for (int k = 0; k < kDraws; ++k) {
            const double want = generator.next();
            expect(out[i * kDraws + k] == want, "MRG32k3a %d, number %d: %u, not %.0f", i, k, out[i * kDraws + k],
                   want);
        }
    }
    // The first number of L'Ecuyer's own package from this seed.
    expect(std::fabs(out[0] / 4294967088.0 - 0.127011122046577) < 1e-15, "MRG32k3a begins with %u", out[0]);
}

/// Known answers of the Random123 distribution: counter, key, block.
struct Known {
    unsigned counter[4], key[2], block[4];
};
__constant__ Known kKnown[3] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                                {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                                {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                 {0xa4093822, 0x299f31d0},
                                 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

/// Bits of what is right: the block by single numbers, by four at once, from each place within, and with an offset.
__global__ void philox(unsigned* right) {
    const Known& known = kKnown[threadIdx.x];
    const unsigned long long seed = (unsigned long long)known.key[1] << 32 | known.key[0];
    const unsigned long long sequence = (unsigned long long)known.counter[3] << 32 | known.counter[2];
    const unsigned long long block = (unsigned long long)known.counter[1] << 32 | known.counter[0];
    curandStatePhilox4_32_10_t state;
    curand_init(seed, sequence, block, &state);
    for (int i = 0; i < 3; ++i) skipahead(block, &state);
    curandStatePhilox4_32_10_t other = state;
    bool same = true;
    for (int i = 0; i < 4; ++i) same = same && curand(&state) == known.block[i];
    const uint4 four = curand4(&other);
    const bool together =
        four.x == known.block[0] && four.y == known.block[1] && four.z == known.block[2] && four.w == known.block[3];
    // The eight numbers that follow, by each mixture of steps.
    unsigned following[12];
    curandStatePhilox4_32_10_t plain = state;
    for (int i = 0; i < 12; ++i) following[i] = curand(&plain);
    bool mixed = true;
    for (int first = 0; first < 4; ++first) {
        curandStatePhilox4_32_10_t s = state;
        for (int i = 0; i < first; ++i) mixed = mixed && curand(&s) == following[i];
        const uint4 x = curand4(&s);
        mixed = mixed && x.x == following[first] && x.y == following[first + 1] && x.z == following[first + 2] &&
                x.w == following[first + 3];
        mixed = mixed && curand(&s) == following[first + 4];
        curandStatePhilox4_32_10_t jumped = state;
        skipahead(first, &jumped);
        skipahead(3, &jumped);
        mixed = mixed && curand(&jumped) == following[first + 3];
    }
    right[threadIdx.x] = (same ? 1 : 0) | (together ? 2 : 0) | (mixed ? 4 : 0);
}

// Sums of powers of each distribution, a row a thread.
constexpr int kKinds = 7, kSamples = 150, kBlocks = 2, kBlock = 64;
template <class State>
__global__ void sample(double* sums, float* uniforms, unsigned* bits) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    State state;
    curand_init(1234, thread, 0, &state);
    State copy = state;
    for (int i = 0; i < 8; ++i) {
        uniforms[8 * thread + i] = curand_uniform(&copy);
    }
    copy = state;
    for (int i = 0; i < 8; ++i) bits[8 * thread + i] = curand(&copy);
    double row[kKinds][2] = {};
    for (int i = 0; i < kSamples; ++i) {
        const float2 pair = curand_normal2(&state);
        const double values[kKinds] = {curand_uniform(&state),
                                       curand_uniform_double(&state),
                                       curand_normal(&state),
                                       curand_normal_double(&state),
                                       log(curand_log_normal(&state, 2.0f, 0.5f)),
                                       (double)curand_poisson(&state, 3.0),
                                       (pair.x + pair.y) * 0.70710678};
        for (int k = 0; k < kKinds; ++k) {
            row[k][0] += values[k];
            row[k][1] += values[k] * values[k];
        }
    }
    for (int k = 0; k < kKinds; ++k)
        for (int p = 0; p < 2; ++p) sums[(thread * kKinds + k) * 2 + p] = row[k][p];
}
__global__ void large(double* sums, double lambda) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    curandState state;
    curand_init(7, thread, 0, &state);
    double one = 0, two = 0;
    for (int i = 0; i < kSamples; ++i) {
        const double x = curand_poisson(&state, lambda);
        one += x;
        two += x * x;
    }
    sums[2 * thread] = one;
    sums[2 * thread + 1] = two;
}

void moments(const char* name, int kind, double one, double two, double mean, double variance) {
    constexpr double n = (double)kSamples * kBlocks * kBlock;
    const double gotMean = one / n, gotVariance = two / n - gotMean * gotMean;
    // Five standard errors; that of a variance is at most sqrt(2/n) of it for these, a little more for Poisson's.
    expect(std::fabs(gotMean - mean) < 5 * std::sqrt(variance / n), "%s, mean %d: %g, not %g", name, kind, gotMean,
           mean);
    expect(std::fabs(gotVariance - variance) < 6 * variance * std::sqrt(2 / n), "%s, variance %d: %g, not %g", name,
           kind, gotVariance, variance);
}

template <class State>
void checkDistributions(const char* name, bool mrg) {
    double* const sums = shared<double>(kBlocks * kBlock * kKinds * 2);
    float* const uniforms = shared<float>(kBlocks * kBlock * 8);
    unsigned* const bits = shared<unsigned>(kBlocks * kBlock * 8);
    sample<State><<<kBlocks, kBlock>>>(sums, uniforms, bits);
    synchronize();
    const double want[kKinds][2] = {{0.5, 1.0 / 12}, {0.5, 1.0 / 12}, {0, 1}, {0, 1}, {2, 0.25}, {3, 3}, {0, 1}};
    for (int k = 0; k < kKinds; ++k) {
        double one = 0, two = 0;
        for (int i = 0; i < kBlocks * kBlock; ++i)
            one += sums[(i * kKinds + k) * 2], two += sums[(i * kKinds + k) * 2 + 1];
        moments(name, k, one, two, want[k][0], want[k][1]);
    }
    for (int i = 0; i < kBlocks * kBlock * 8; ++i) {
        const double exact = mrg ? bits[i] / 4294967088.0 : (bits[i] + 0.5) / 4294967296.0;
        expect(uniforms[i] > 0 && uniforms[i] <= 1 && std::fabs(uniforms[i] - exact) <= 0x1p-23 * exact,
               "%s: %u is %a as a uniform number", name, bits[i], (double)uniforms[i]);
    }
}

// Sobol's sequence in the dimension of the polynomial x + 1: each direction number is the one before, doubled, without
// carry, xor the one before (Bratley and Fox, section 2).
__device__ void start(unsigned* vectors, unsigned, curandStateSobol32* state) {
    curand_init(vectors, 0, state);
}
__device__ void start(unsigned* vectors, unsigned scramble, curandStateScrambledSobol32* state) {
    curand_init(vectors, scramble, 0, state);
}
__device__ void start(unsigned long long* vectors, unsigned long long, curandStateSobol64* state) {
    curand_init(vectors, 0, state);
}
__device__ void start(unsigned long long* vectors, unsigned long long scramble, curandStateScrambledSobol64* state) {
    curand_init(vectors, scramble, 0, state);
}
template <class State, class Word>
__global__ void quasi(Word* vectors, Word scramble, Word* out, float* uniforms, double* normals) {
    State state, jumped;
    start(vectors, scramble, &state);
    jumped = state;
    skipahead(1000, &jumped);
    out[1024] = curand(&jumped);
    State other = state;
    for (int i = 0; i < 1024; ++i) out[i] = curand(&state);
    for (int i = 0; i < 16; ++i) uniforms[i] = curand_uniform(&other);
    for (int i = 0; i < 16; ++i) normals[i] = curand_normal_double(&other);
}
template <class State, class Word>
void checkSobol(const char* name, Word scramble) {
    constexpr int bits = 8 * sizeof(Word);
    Word* const vectors = shared<Word>(bits);
    Word* const out = shared<Word>(1025);
    float* const uniforms = shared<float>(16);
    double* const normals = shared<double>(16);
    Word m = 1;
    for (int k = 0; k < bits; ++k, m = (m << 1) ^ m) vectors[k] = m << (bits - 1 - k);
    quasi<State, Word><<<1, 1>>>(vectors, scramble, out, uniforms, normals);
    synchronize();
    bool seen[1024] = {};
    for (unsigned i = 0; i < 1024; ++i) {
        Word want = scramble;
        for (int k = 0; k < 10; ++k)
            if ((i ^ i >> 1) >> k & 1) want ^= vectors[k];
        expect(out[i] == want, "%s, number %u", name, i);
        seen[out[i] >> (bits - 10)] = true;
        if (i == 1000) expect(out[1024] == want, "%s, number 1000 by a jump", name);
    }
    for (int i = 0; i < 1024; ++i) expect(seen[i], "%s leaves interval %d out", name, i);
    for (int i = 0; i < 16; ++i) {
        const double u = ((double)out[i] + 0.5) * std::ldexp(1, -bits),
                     v = ((double)out[16 + i] + 0.5) * std::ldexp(1, -bits);
        expect(std::fabs(uniforms[i] - u) < 1e-7, "%s, uniform number %d", name, i);
        expect(std::fabs(std::erfc(-normals[i] / std::sqrt(2.0)) / 2 - v) < 2e-10 + 1e-9 * v, "%s, normal number %d",
               name, i);
    }
}

int main() {
    checkSobol<curandStateSobol32, unsigned>("Sobol32", 0);
    checkSobol<curandStateScrambledSobol32, unsigned>("scrambled Sobol32", 0x12345678);
    checkSobol<curandStateSobol64, unsigned long long>("Sobol64", 0);
    checkSobol<curandStateScrambledSobol64, unsigned long long>("scrambled Sobol64", 0x123456789abcdef0);
    checkXorwow();
    checkMrg();
    unsigned* const right = shared<unsigned>(3);
    philox<<<1, 3>>>(right);
    synchronize();
    for (int i = 0; i < 3; ++i) expect(right[i] == 7, "Philox's known answer %d: %u", i, right[i]);
    checkDistributions<curandStateXORWOW_t>("XORWOW", false);
    checkDistributions<curandStateMRG32k3a_t>("MRG32k3a", true);
    checkDistributions<curandStatePhilox4_32_10_t>("Philox", false);
    double* const sums = shared<double>(2 * kBlocks * kBlock);
    large<<<kBlocks, kBlock>>>(sums, 250.0);
    synchronize();
    double one = 0, two = 0;
    for (int i = 0; i < kBlocks * kBlock; ++i) one += sums[2 * i], two += sums[2 * i + 1];
    moments("Poisson", 250, one, two, 250, 250);
    return finished();
}
