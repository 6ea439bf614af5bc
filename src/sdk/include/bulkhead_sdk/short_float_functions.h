// The functions that half and bfloat16 have by the same names. Included once for each, with BULKHEAD_T and BULKHEAD_T2
// (the type and its pair) and BULKHEAD_FORMAT (the ShortFloat) defined. The pair's functions are those of its lanes.

namespace bulkhead_sdk {
BULKHEAD_BOTH BULKHEAD_T ofBits(unsigned int bits, const BULKHEAD_T&) {
    BULKHEAD_T result;
    result.__x = (unsigned short)bits;
    return result;
}
/// Within [0, 1]; NaN becomes 0.
BULKHEAD_BOTH BULKHEAD_T saturated(BULKHEAD_T a) {
    const float x = (float)a;
    return x > 0 ? (x < 1 ? a : BULKHEAD_T(1.0f)) : BULKHEAD_T(0.0f);
}
BULKHEAD_BOTH BULKHEAD_T notNegative(BULKHEAD_T a) {
    const float x = (float)a;
    return x > 0 ? a : x != x ? ofBits(BULKHEAD_FORMAT::nan, a) : BULKHEAD_T(0.0f);
}
/// A number wins over NaN, and -0 is less than +0.
BULKHEAD_BOTH BULKHEAD_T smaller(BULKHEAD_T a, BULKHEAD_T b, bool larger) {
    const float x = (float)a, y = (float)b;
    if (x != x) return y != y ? ofBits(BULKHEAD_FORMAT::nan, a) : b;
    if (y != y) return a;
    if (x == y) return ((a.__x & 0x8000u) != 0) != larger ? a : b;
    return (x < y) != larger ? a : b;
}
}  // namespace bulkhead_sdk

#define BULKHEAD_LANES1(name)                          \
    BULKHEAD_BOTH BULKHEAD_T2 name##2(BULKHEAD_T2 a) { \
        return {name(a.x), name(a.y)};                 \
    }
#define BULKHEAD_LANES2_AS(name, name2)                             \
    BULKHEAD_BOTH BULKHEAD_T2 name2(BULKHEAD_T2 a, BULKHEAD_T2 b) { \
        return {name(a.x, b.x), name(a.y, b.y)};                    \
    }
#define BULKHEAD_LANES3_AS(name, name2)                                            \
    BULKHEAD_BOTH BULKHEAD_T2 name2(BULKHEAD_T2 a, BULKHEAD_T2 b, BULKHEAD_T2 c) { \
        return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)};                         \
    }

#define BULKHEAD_ARITHMETIC(name, symbol)                             \
    BULKHEAD_BOTH BULKHEAD_T name(BULKHEAD_T a, BULKHEAD_T b) {       \
        return bulkhead_sdk::name(a, b);                              \
    }                                                                 \
    BULKHEAD_LANES2_AS(name, name##2)                                 \
    BULKHEAD_BOTH BULKHEAD_T name##_rn(BULKHEAD_T a, BULKHEAD_T b) {  \
        return name(a, b);                                            \
    }                                                                 \
    BULKHEAD_LANES2_AS(name, name##2_rn)                              \
    BULKHEAD_BOTH BULKHEAD_T name##_sat(BULKHEAD_T a, BULKHEAD_T b) { \
        return bulkhead_sdk::saturated(name(a, b));                   \
    }                                                                 \
    BULKHEAD_LANES2_AS(name##_sat, name##2_sat)                       \
    BULKHEAD_OPERATORS(name, name##2, symbol)
#define BULKHEAD_OPERATORS(name, name2, symbol)                                             \
    BULKHEAD_BOTH BULKHEAD_T operator symbol(const BULKHEAD_T& a, const BULKHEAD_T& b) {    \
        return name(a, b);                                                                  \
    }                                                                                       \
    BULKHEAD_BOTH BULKHEAD_T& operator symbol##=(BULKHEAD_T& a, const BULKHEAD_T& b) {      \
        return a = name(a, b);                                                              \
    }                                                                                       \
    BULKHEAD_BOTH BULKHEAD_T2 operator symbol(const BULKHEAD_T2& a, const BULKHEAD_T2& b) { \
        return name2(a, b);                                                                 \
    }                                                                                       \
    BULKHEAD_BOTH BULKHEAD_T2& operator symbol##=(BULKHEAD_T2& a, const BULKHEAD_T2& b) {   \
        return a = name2(a, b);                                                             \
    }
BULKHEAD_ARITHMETIC(__hadd, +)
BULKHEAD_ARITHMETIC(__hsub, -)
BULKHEAD_ARITHMETIC(__hmul, *)
BULKHEAD_BOTH BULKHEAD_T __hdiv(BULKHEAD_T a, BULKHEAD_T b) {
    return BULKHEAD_T((float)a / (float)b);
}
BULKHEAD_LANES2_AS(__hdiv, __h2div)
BULKHEAD_OPERATORS(__hdiv, __h2div, /)
#undef BULKHEAD_ARITHMETIC
#undef BULKHEAD_OPERATORS

BULKHEAD_BOTH BULKHEAD_T __hfma(BULKHEAD_T a, BULKHEAD_T b, BULKHEAD_T c) {
    return bulkhead_sdk::__hfma(a, b, c);
}
BULKHEAD_BOTH BULKHEAD_T __hfma_sat(BULKHEAD_T a, BULKHEAD_T b, BULKHEAD_T c) {
    return bulkhead_sdk::saturated(__hfma(a, b, c));
}
BULKHEAD_BOTH BULKHEAD_T __hfma_relu(BULKHEAD_T a, BULKHEAD_T b, BULKHEAD_T c) {
    return bulkhead_sdk::notNegative(__hfma(a, b, c));
}
BULKHEAD_LANES3_AS(__hfma, __hfma2)
BULKHEAD_LANES3_AS(__hfma_sat, __hfma2_sat)
BULKHEAD_LANES3_AS(__hfma_relu, __hfma2_relu)
/// A pair as a complex number: a * b + c.
BULKHEAD_BOTH BULKHEAD_T2 __hcmadd(BULKHEAD_T2 a, BULKHEAD_T2 b, BULKHEAD_T2 c) {
    const BULKHEAD_T real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);
    return {__hfma(bulkhead_sdk::ofBits(a.y.__x ^ 0x8000u, a.y), b.y, real), __hfma(a.y, b.x, imaginary)};
}

BULKHEAD_BOTH BULKHEAD_T __hneg(BULKHEAD_T a) {
    return bulkhead_sdk::ofBits(a.__x ^ 0x8000u, a);
}
BULKHEAD_BOTH BULKHEAD_T __habs(BULKHEAD_T a) {
    return bulkhead_sdk::ofBits(a.__x & 0x7fffu, a);
}
BULKHEAD_LANES1(__hneg)
BULKHEAD_LANES1(__habs)
BULKHEAD_BOTH BULKHEAD_T operator+(const BULKHEAD_T& a) {
    return a;
}
BULKHEAD_BOTH BULKHEAD_T operator-(const BULKHEAD_T& a) {
    return __hneg(a);
}
BULKHEAD_BOTH BULKHEAD_T2 operator+(const BULKHEAD_T2& a) {
    return a;
}
BULKHEAD_BOTH BULKHEAD_T2 operator-(const BULKHEAD_T2& a) {
    return __hneg2(a);
}
#define BULKHEAD_STEP(symbol, sum)                                   \
    BULKHEAD_BOTH BULKHEAD_T& operator symbol(BULKHEAD_T& a) {       \
        return a = sum(a, BULKHEAD_T(1.0f));                         \
    }                                                                \
    BULKHEAD_BOTH BULKHEAD_T operator symbol(BULKHEAD_T& a, int) {   \
        const BULKHEAD_T before = a;                                 \
        symbol a;                                                    \
        return before;                                               \
    }                                                                \
    BULKHEAD_BOTH BULKHEAD_T2& operator symbol(BULKHEAD_T2& a) {     \
        symbol a.x;                                                  \
        symbol a.y;                                                  \
        return a;                                                    \
    }                                                                \
    BULKHEAD_BOTH BULKHEAD_T2 operator symbol(BULKHEAD_T2& a, int) { \
        const BULKHEAD_T2 before = a;                                \
        symbol a;                                                    \
        return before;                                               \
    }
BULKHEAD_STEP(++, __hadd)
BULKHEAD_STEP(--, __hsub)
#undef BULKHEAD_STEP

BULKHEAD_BOTH bool __hisnan(BULKHEAD_T a) {
    return (a.__x & 0x7fffu) > BULKHEAD_FORMAT::infinity;
}
BULKHEAD_BOTH int __hisinf(BULKHEAD_T a) {
    return (a.__x & 0x7fffu) != BULKHEAD_FORMAT::infinity ? 0 : (a.__x & 0x8000u) != 0 ? -1 : 1;
}
BULKHEAD_BOTH BULKHEAD_T2 __hisnan2(BULKHEAD_T2 a) {
    return {BULKHEAD_T(__hisnan(a.x) ? 1.0f : 0.0f), BULKHEAD_T(__hisnan(a.y) ? 1.0f : 0.0f)};
}

// Each comparison alone and with u, which holds where an operand is NaN; of pairs, as 1 or 0 a lane, as a mask a lane,
// and as one answer (b: both).
#define BULKHEAD_COMPARE(name, expression)                                                                     \
    BULKHEAD_BOTH bool __h##name(BULKHEAD_T a, BULKHEAD_T b) {                                                 \
        const float x = (float)a, y = (float)b;                                                                \
        return expression;                                                                                     \
    }                                                                                                          \
    BULKHEAD_BOTH bool __hb##name##2(BULKHEAD_T2 a, BULKHEAD_T2 b) {                                           \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                     \
    }                                                                                                          \
    BULKHEAD_BOTH BULKHEAD_T2 __h##name##2(BULKHEAD_T2 a, BULKHEAD_T2 b) {                                     \
        return {BULKHEAD_T(__h##name(a.x, b.x) ? 1.0f : 0.0f), BULKHEAD_T(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; \
    }                                                                                                          \
    BULKHEAD_BOTH unsigned int __h##name##2_mask(BULKHEAD_T2 a, BULKHEAD_T2 b) {                               \
        return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);                \
    }
BULKHEAD_COMPARE(eq, x == y)
BULKHEAD_COMPARE(ne, x<y || x> y)
BULKHEAD_COMPARE(lt, x < y)
BULKHEAD_COMPARE(le, x <= y)
BULKHEAD_COMPARE(gt, x > y)
BULKHEAD_COMPARE(ge, x >= y)
BULKHEAD_COMPARE(equ, !(x < y || x > y))
BULKHEAD_COMPARE(neu, !(x == y))
BULKHEAD_COMPARE(ltu, !(x >= y))
BULKHEAD_COMPARE(leu, !(x > y))
BULKHEAD_COMPARE(gtu, !(x <= y))
BULKHEAD_COMPARE(geu, !(x < y))
#undef BULKHEAD_COMPARE
#define BULKHEAD_COMPARE(symbol, name)                                               \
    BULKHEAD_BOTH bool operator symbol(const BULKHEAD_T& a, const BULKHEAD_T& b) {   \
        return __h##name(a, b);                                                      \
    }                                                                                \
    BULKHEAD_BOTH bool operator symbol(const BULKHEAD_T2& a, const BULKHEAD_T2& b) { \
        return __hb##name##2(a, b);                                                  \
    }
BULKHEAD_COMPARE(==, eq)
BULKHEAD_COMPARE(!=, neu)
BULKHEAD_COMPARE(<, lt)
BULKHEAD_COMPARE(<=, le)
BULKHEAD_COMPARE(>, gt)
BULKHEAD_COMPARE(>=, ge)
#undef BULKHEAD_COMPARE

#define BULKHEAD_EXTREME(which, larger)                                                                       \
    BULKHEAD_BOTH BULKHEAD_T __h##which(BULKHEAD_T a, BULKHEAD_T b) {                                         \
        return bulkhead_sdk::smaller(a, b, larger);                                                           \
    }                                                                                                         \
    BULKHEAD_BOTH BULKHEAD_T __h##which##_nan(BULKHEAD_T a, BULKHEAD_T b) {                                   \
        return __hisnan(a) || __hisnan(b) ? bulkhead_sdk::ofBits(BULKHEAD_FORMAT::nan, a) : __h##which(a, b); \
    }                                                                                                         \
    BULKHEAD_LANES2_AS(__h##which, __h##which##2)                                                             \
    BULKHEAD_LANES2_AS(__h##which##_nan, __h##which##2_nan)
BULKHEAD_EXTREME(min, false)
BULKHEAD_EXTREME(max, true)
#undef BULKHEAD_EXTREME

#undef BULKHEAD_LANES1
#undef BULKHEAD_LANES2_AS
#undef BULKHEAD_LANES3_AS

#ifdef __CUDA__

// Those of float, rounded.
#define BULKHEAD_ELEMENTARY(name, expression)             \
    BULKHEAD_DEVICE BULKHEAD_T h##name(BULKHEAD_T a) {    \
        const float x = (float)a;                         \
        return BULKHEAD_T(expression);                    \
    }                                                     \
    BULKHEAD_DEVICE BULKHEAD_T2 h2##name(BULKHEAD_T2 a) { \
        return {h##name(a.x), h##name(a.y)};              \
    }
BULKHEAD_ELEMENTARY(sqrt, sqrtf(x))
BULKHEAD_ELEMENTARY(rsqrt, 1 / sqrtf(x))
BULKHEAD_ELEMENTARY(rcp, 1 / x)
BULKHEAD_ELEMENTARY(exp, expf(x))
BULKHEAD_ELEMENTARY(exp2, exp2f(x))
BULKHEAD_ELEMENTARY(exp10, exp10f(x))
BULKHEAD_ELEMENTARY(log, logf(x))
BULKHEAD_ELEMENTARY(log2, log2f(x))
BULKHEAD_ELEMENTARY(log10, log10f(x))
BULKHEAD_ELEMENTARY(sin, sinf(x))
BULKHEAD_ELEMENTARY(cos, cosf(x))
BULKHEAD_ELEMENTARY(tanh, tanhf(x))
BULKHEAD_ELEMENTARY(tanh_approx, tanhf(x))
BULKHEAD_ELEMENTARY(ceil, ceilf(x))
BULKHEAD_ELEMENTARY(floor, floorf(x))
BULKHEAD_ELEMENTARY(trunc, truncf(x))
BULKHEAD_ELEMENTARY(rint, rintf(x))
#undef BULKHEAD_ELEMENTARY

#define BULKHEAD_SHUFFLE(name, Lane)                                                                              \
    BULKHEAD_DEVICE BULKHEAD_T name(unsigned int mask, BULKHEAD_T value, Lane lane, int width = 32) {             \
        return bulkhead_sdk::ofBits(name(mask, (unsigned int)value.__x, lane, width), value);                     \
    }                                                                                                             \
    BULKHEAD_DEVICE BULKHEAD_T2 name(unsigned int mask, BULKHEAD_T2 value, Lane lane, int width = 32) {           \
        return __builtin_bit_cast(BULKHEAD_T2, name(mask, __builtin_bit_cast(unsigned int, value), lane, width)); \
    }
BULKHEAD_SHUFFLE(__shfl_sync, int)
BULKHEAD_SHUFFLE(__shfl_up_sync, unsigned int)
BULKHEAD_SHUFFLE(__shfl_down_sync, unsigned int)
BULKHEAD_SHUFFLE(__shfl_xor_sync, int)
#undef BULKHEAD_SHUFFLE

#define BULKHEAD_LOAD(name)                                                        \
    BULKHEAD_DEVICE BULKHEAD_T name(const BULKHEAD_T* p) {                         \
        return bulkhead_sdk::ofBits(name((const unsigned short*)p), BULKHEAD_T()); \
    }                                                                              \
    BULKHEAD_DEVICE BULKHEAD_T2 name(const BULKHEAD_T2* p) {                       \
        return __builtin_bit_cast(BULKHEAD_T2, name((const unsigned int*)p));      \
    }
BULKHEAD_LOAD(__ldg)
BULKHEAD_LOAD(__ldca)
BULKHEAD_LOAD(__ldcg)
BULKHEAD_LOAD(__ldcs)
BULKHEAD_LOAD(__ldcv)
#undef BULKHEAD_LOAD
#define BULKHEAD_STORE(name)                                             \
    BULKHEAD_DEVICE void name(BULKHEAD_T* p, BULKHEAD_T value) {         \
        name((unsigned short*)p, value.__x);                             \
    }                                                                    \
    BULKHEAD_DEVICE void name(BULKHEAD_T2* p, BULKHEAD_T2 value) {       \
        name((unsigned int*)p, __builtin_bit_cast(unsigned int, value)); \
    }
BULKHEAD_STORE(__stwb)
BULKHEAD_STORE(__stcg)
BULKHEAD_STORE(__stcs)
BULKHEAD_STORE(__stwt)
#undef BULKHEAD_STORE

// By compare and swap of the word that holds it, which every device has. A pair is added lane by lane: CUDA promises
// no more.
BULKHEAD_DEVICE_LARGE BULKHEAD_T atomicAdd(BULKHEAD_T* address, BULKHEAD_T value) {
    unsigned int* const word = (unsigned int*)((unsigned long)address & ~3ul);
    const unsigned int shift = ((unsigned long)address & 2) * 8;
    unsigned int seen = *(volatile unsigned int*)word;
    while (true) {
        const BULKHEAD_T before = bulkhead_sdk::ofBits(seen >> shift & 0xffffu, value);
        const unsigned int after = (seen & ~(0xffffu << shift)) | (unsigned int)__hadd(before, value).__x << shift;
        const unsigned int found = atomicCAS(word, seen, after);
        if (found == seen) return before;
        seen = found;
    }
}
BULKHEAD_DEVICE_LARGE BULKHEAD_T2 atomicAdd(BULKHEAD_T2* address, BULKHEAD_T2 value) {
    unsigned int seen = *(volatile unsigned int*)address;
    while (true) {
        const BULKHEAD_T2 before = __builtin_bit_cast(BULKHEAD_T2, seen);
        const unsigned int found =
            atomicCAS((unsigned int*)address, seen, __builtin_bit_cast(unsigned int, __hadd2(before, value)));
        if (found == seen) return before;
        seen = found;
    }
}

#endif
