// The SIMD intrinsics against arithmetic on each lane.

#include "check.h"

constexpr int kCount = 1024;

// They would be formatted anew each time.
// clang-format off
#define OF_TWO(X)                                                                                                  \
    X(vadd) X(vaddss) X(vaddus) X(vsub) X(vsubss) X(vsubus) X(vavgs) X(vavgu) X(vhaddu) X(vabsdiffs) X(vabsdiffu)  \
    X(vmaxs) X(vmaxu) X(vmins) X(vminu) X(vsads) X(vsadu)                                                          \
    X(vseteq) X(vsetne) X(vsetges) X(vsetgeu) X(vsetgts) X(vsetgtu) X(vsetles) X(vsetleu) X(vsetlts) X(vsetltu)    \
    X(vcmpeq) X(vcmpne) X(vcmpges) X(vcmpgeu) X(vcmpgts) X(vcmpgtu) X(vcmples) X(vcmpleu) X(vcmplts) X(vcmpltu)
#define OF_ONE(X) X(vneg) X(vnegss) X(vabs) X(vabsss)
// clang-format on

enum Name {
#define NAME(name) k##name,
    OF_TWO(NAME) OF_ONE(NAME) kNames
#undef NAME
};
const char* const kText[] = {
#define TEXT(name) #name,
    OF_TWO(TEXT) OF_ONE(TEXT)
#undef TEXT
};

__global__ void evaluate(const unsigned* x, const unsigned* y, unsigned* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned a = x[i], b = y[i];
    unsigned* row = out + (size_t)i * 2 * kNames;
#define TWO(name)               \
    *row++ = __##name##2(a, b); \
    *row++ = __##name##4(a, b);
#define ONE(name)            \
    *row++ = __##name##2(a); \
    *row++ = __##name##4(a);
    OF_TWO(TWO)
    OF_ONE(ONE)
}

long clamped(long v, long low, long high) {
    return v < low ? low : v > high ? high : v;
}

/// One lane: its operands as signed and unsigned numbers.
long lane(int name, int bits, long s, long t, long u, long v) {
    const long top = (1L << bits) - 1, most = top / 2, least = -most - 1;
    switch (name) {
        case kvadd:
            return u + v;
        case kvaddss:
            return clamped(s + t, least, most);
        case kvaddus:
            return clamped(u + v, 0, top);
        case kvsub:
            return u - v;
        case kvsubss:
            return clamped(s - t, least, most);
        case kvsubus:
            return clamped(u - v, 0, top);
        case kvavgs:
            return (s + t + (s + t >= 0)) >> 1;
        case kvavgu:
            return (u + v + 1) / 2;
        case kvhaddu:
            return (u + v) / 2;
        case kvabsdiffs:
        case kvsads:
            return labs(s - t);
        case kvabsdiffu:
        case kvsadu:
            return labs(u - v);
        case kvmaxs:
            return s > t ? s : t;
        case kvmaxu:
            return u > v ? u : v;
        case kvmins:
            return s < t ? s : t;
        case kvminu:
            return u < v ? u : v;
        case kvneg:
            return -s;
        case kvnegss:
            return clamped(-s, least, most);
        case kvabs:
            return labs(s);
        case kvabsss:
            return clamped(labs(s), least, most);
        default:
            break;
    }
    const bool holds[] = {u == v, u != v, s >= t, u >= v, s > t, u > v, s <= t, u <= v, s < t, u < v};
    return name >= kvcmpeq ? (holds[name - kvcmpeq] ? top : 0) : holds[name - kvseteq];
}

unsigned expected(int name, int bits, unsigned a, unsigned b) {
    unsigned result = 0, sum = 0;
    for (int shift = 0; shift < 32; shift += bits) {
        const unsigned top = bits == 16 ? 0xffffu : 0xffu, u = a >> shift & top, v = b >> shift & top;
        const long s = (long)u - (u > top / 2 ? (long)top + 1 : 0), t = (long)v - (v > top / 2 ? (long)top + 1 : 0);
        const unsigned value = (unsigned)lane(name, bits, s, t, u, v);
        result |= (value & top) << shift;
        sum += value;
    }
    return name == kvsads || name == kvsadu ? sum : result;
}

/// The chains are for both sides: 32 bits and pairs of 16.
#define CHAINS(X) X(max) X(min)
__host__ __device__ void chains(unsigned a, unsigned b, unsigned c, unsigned* row) {
    bool p, q;
#define CHAIN(which)                                                    \
    *row++ = (unsigned)__vi##which##3_s32((int)a, (int)b, (int)c);      \
    *row++ = __vi##which##3_u32(a, b, c);                               \
    *row++ = __vi##which##3_s16x2(a, b, c);                             \
    *row++ = __vi##which##3_u16x2(a, b, c);                             \
    *row++ = (unsigned)__viadd##which##_s32((int)a, (int)b, (int)c);    \
    *row++ = __viadd##which##_u16x2(a, b, c);                           \
    *row++ = __viadd##which##_s16x2_relu(a, b, c);                      \
    *row++ = (unsigned)__vi##which##3_s32_relu((int)a, (int)b, (int)c); \
    *row++ = __vib##which##_u16x2(a, b, &p, &q) ^ (p ? 2u : 0) ^ (q ? 1u : 0);
    CHAINS(CHAIN)
}
constexpr int kChains = 18;
__global__ void evaluateChains(const unsigned* x, const unsigned* y, unsigned* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    chains(x[i], y[i], x[i] ^ y[kCount - 1 - i], out + i * kChains);
}
void expectedChains(unsigned a, unsigned b, unsigned c, unsigned* row) {
    for (const bool most : {true, false}) {
        const auto pick = [&](long x, long y) { return (x < y) == most ? y : x; };
        const auto s16 = [](unsigned w, int k) { return (long)(int16_t)(w >> k); };
        const auto u16 = [](unsigned w, int k) { return (long)(uint16_t)(w >> k); };
        const auto pairs = [](long low, long high) { return (unsigned)(uint16_t)low | (unsigned)(uint16_t)high << 16; };
        *row++ = (unsigned)pick(pick((int)a, (int)b), (int)c);
        *row++ = (unsigned)pick(pick(a, b), c);
        *row++ = pairs(pick(pick(s16(a, 0), s16(b, 0)), s16(c, 0)), pick(pick(s16(a, 16), s16(b, 16)), s16(c, 16)));
        *row++ = pairs(pick(pick(u16(a, 0), u16(b, 0)), u16(c, 0)), pick(pick(u16(a, 16), u16(b, 16)), u16(c, 16)));
        *row++ = (unsigned)pick((int)(a + b), (int)c);
        *row++ = pairs(pick((uint16_t)(u16(a, 0) + u16(b, 0)), u16(c, 0)),
                       pick((uint16_t)(u16(a, 16) + u16(b, 16)), u16(c, 16)));
        *row++ = pairs(clamped(pick((int16_t)(s16(a, 0) + s16(b, 0)), s16(c, 0)), 0, 32767),
                       clamped(pick((int16_t)(s16(a, 16) + s16(b, 16)), s16(c, 16)), 0, 32767));
        *row++ = (unsigned)clamped(pick(pick((int)a, (int)b), (int)c), 0, INT32_MAX);
        const long low = pick(u16(a, 0), u16(b, 0)), high = pick(u16(a, 16), u16(b, 16));
        *row++ = pairs(low, high) ^ (high == u16(a, 16) ? 2u : 0) ^ (low == u16(a, 0) ? 1u : 0);
    }
}

int main() {
    unsigned* const x = shared<unsigned>(kCount);
    unsigned* const y = shared<unsigned>(kCount);
    unsigned* const out = shared<unsigned>(kCount * 2 * kNames);
    unsigned* const chained = shared<unsigned>(kCount * kChains);
    const unsigned edges[] = {0,           1,           0x7f7f7f7fu, 0x80808080u, 0xffffffffu,
                              0x7fff8000u, 0x80007fffu, 0x00ff01feu, 0x80000001u, 0x7f80ff00u};
    Random random;
    int n = 0;
    for (const unsigned a : edges)
        for (const unsigned b : edges) x[n] = a, y[n++] = b;
    for (; n < kCount; ++n) {
        x[n] = (unsigned)random.next();
        y[n] = n % 5 == 0 ? x[n] ^ (0xffu << n % 32) : (unsigned)random.next();
    }
    evaluate<<<kCount / 128, 128>>>(x, y, out);
    evaluateChains<<<kCount / 128, 128>>>(x, y, chained);
    synchronize();
    for (int i = 0; i < kCount; ++i) {
        for (int k = 0; k < 2 * kNames; ++k) {
            const unsigned want = expected(k / 2, k % 2 == 0 ? 16 : 8, x[i], y[i]), got = out[i * 2 * kNames + k];
            expect(got == want, "__%s%d(%08x, %08x): %08x, not %08x", kText[k / 2], k % 2 == 0 ? 2 : 4, x[i], y[i], got,
                   want);
        }
        unsigned want[kChains], host[kChains];
        expectedChains(x[i], y[i], x[i] ^ y[kCount - 1 - i], want);
        chains(x[i], y[i], x[i] ^ y[kCount - 1 - i], host);
        for (int k = 0; k < kChains; ++k)
            expect(chained[i * kChains + k] == want[k] && host[k] == want[k],
                   "chain %d of %08x, %08x: %08x, %08x, not %08x", k, x[i], y[i], chained[i * kChains + k], host[k],
                   want[k]);
    }
    return finished();
}
