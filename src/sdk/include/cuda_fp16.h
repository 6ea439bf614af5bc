#pragma once

#define __CUDA_FP16_H__

#include "cuda_runtime.h"

// half and half2: stored as 16 bits, computed in float and rounded once, which for +, -, *, / and sqrt is the exact
// half result.

struct __half_raw {
    unsigned short x;
};

namespace bulkhead_sdk {

// The bit patterns by arithmetic, on both sides: no hardware is asked.
BULKHEAD_BOTH unsigned short halfBits(float value) {
    unsigned int bits = __builtin_bit_cast(unsigned int, value);
    const unsigned short sign = (unsigned short)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return 0x7fff;
    if (bits >= 0x477ff000u) return sign | 0x7c00;  // rounds beyond 65504
    if (bits < 0x38800000u) {                       // below the normal numbers: count in units of 2^-24
        const float units = __builtin_rintf(__builtin_bit_cast(float, bits) * 0x1p24f);
        return (unsigned short)(sign | (unsigned int)units);
    }
    bits += 0xfffu + (bits >> 13 & 1u);  // to nearest, ties to even
    return (unsigned short)(sign | ((bits - 0x38000000u) >> 13));
}
BULKHEAD_BOTH float halfValue(unsigned short half) {
    const unsigned int sign = (unsigned int)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00u) return __builtin_bit_cast(float, sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    const float size = rest >= 0x400u ? __builtin_bit_cast(float, (rest << 13) + 0x38000000u) : (float)rest * 0x1p-24f;
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned int, size) | sign);
}

}  // namespace bulkhead_sdk

struct __align__(2) __half {
    unsigned short bits;
    __half() = default;
    __host__ __device__ __half(float value) : bits(bulkhead_sdk::halfBits(value)) {}
    __host__ __device__ __half(double value) : __half((float)value) {}
    __host__ __device__ __half(int value) : __half((float)value) {}
    __host__ __device__ __half(__half_raw raw) : bits(raw.x) {}
    __host__ __device__ operator float() const {
        return bulkhead_sdk::halfValue(bits);
    }
    __host__ __device__ operator __half_raw() const {
        return {bits};
    }
};
typedef __half half;

struct __align__(4) __half2 {
    __half x, y;
};
typedef __half2 half2;

BULKHEAD_BOTH float __half2float(__half h) {
    return (float)h;
}
BULKHEAD_BOTH __half __float2half(float f) {
    return __half(f);
}
BULKHEAD_BOTH __half __float2half_rn(float f) {
    return __half(f);
}
BULKHEAD_BOTH __half __double2half(double d) {
    return __half((float)d);
}
BULKHEAD_BOTH __half __int2half_rn(int i) {
    return __half((float)i);
}
BULKHEAD_BOTH int __half2int_rz(__half h) {
    return (int)(float)h;
}
BULKHEAD_BOTH unsigned short __half_as_ushort(__half h) {
    return h.bits;
}
BULKHEAD_BOTH __half __ushort_as_half(unsigned short bits) {
    return __half(__half_raw{bits});
}

BULKHEAD_BOTH __half2 __halves2half2(__half a, __half b) {
    return {a, b};
}
BULKHEAD_BOTH __half2 make_half2(__half a, __half b) {
    return {a, b};
}
BULKHEAD_BOTH __half2 __half2half2(__half a) {
    return {a, a};
}
BULKHEAD_BOTH __half2 __float2half2_rn(float f) {
    return {__half(f), __half(f)};
}
BULKHEAD_BOTH __half2 __floats2half2_rn(float a, float b) {
    return {__half(a), __half(b)};
}
BULKHEAD_BOTH __half2 __float22half2_rn(float2 f) {
    return {__half(f.x), __half(f.y)};
}
BULKHEAD_BOTH float2 __half22float2(__half2 h) {
    return float2{(float)h.x, (float)h.y};
}
BULKHEAD_BOTH __half __low2half(__half2 h) {
    return h.x;
}
BULKHEAD_BOTH __half __high2half(__half2 h) {
    return h.y;
}
BULKHEAD_BOTH float __low2float(__half2 h) {
    return (float)h.x;
}
BULKHEAD_BOTH float __high2float(__half2 h) {
    return (float)h.y;
}

#define BULKHEAD_HALF_ARITHMETIC(name, symbol)                         \
    BULKHEAD_BOTH __half name(__half a, __half b) {                    \
        return __half((float)a symbol(float) b);                       \
    }                                                                  \
    BULKHEAD_BOTH __half2 name##2(__half2 a, __half2 b) {              \
        return {name(a.x, b.x), name(a.y, b.y)};                       \
    }                                                                  \
    BULKHEAD_BOTH __half operator symbol(__half a, __half b) {         \
        return name(a, b);                                             \
    }                                                                  \
    BULKHEAD_BOTH __half& operator symbol##=(__half& a, __half b) {    \
        return a = name(a, b);                                         \
    }                                                                  \
    BULKHEAD_BOTH __half2 operator symbol(__half2 a, __half2 b) {      \
        return name##2(a, b);                                          \
    }                                                                  \
    BULKHEAD_BOTH __half2& operator symbol##=(__half2& a, __half2 b) { \
        return a = name##2(a, b);                                      \
    }
BULKHEAD_HALF_ARITHMETIC(__hadd, +)
BULKHEAD_HALF_ARITHMETIC(__hsub, -)
BULKHEAD_HALF_ARITHMETIC(__hmul, *)
BULKHEAD_HALF_ARITHMETIC(__hdiv, /)
#undef BULKHEAD_HALF_ARITHMETIC

#define BULKHEAD_HALF_COMPARISON(name, symbol)               \
    BULKHEAD_BOTH bool name(__half a, __half b) {            \
        return (float)a symbol(float) b;                     \
    }                                                        \
    BULKHEAD_BOTH bool operator symbol(__half a, __half b) { \
        return name(a, b);                                   \
    }
BULKHEAD_HALF_COMPARISON(__heq, ==)
BULKHEAD_HALF_COMPARISON(__hne, !=)
BULKHEAD_HALF_COMPARISON(__hlt, <)
BULKHEAD_HALF_COMPARISON(__hle, <=)
BULKHEAD_HALF_COMPARISON(__hgt, >)
BULKHEAD_HALF_COMPARISON(__hge, >=)
#undef BULKHEAD_HALF_COMPARISON

BULKHEAD_BOTH __half __hneg(__half a) {
    return __half(__half_raw{(unsigned short)(a.bits ^ 0x8000u)});
}
BULKHEAD_BOTH __half __habs(__half a) {
    return __half(__half_raw{(unsigned short)(a.bits & 0x7fffu)});
}
BULKHEAD_BOTH __half operator-(__half a) {
    return __hneg(a);
}
BULKHEAD_BOTH bool __hisnan(__half a) {
    return (a.bits & 0x7fffu) > 0x7c00u;
}
BULKHEAD_BOTH __half __hmax(__half a, __half b) {
    return __half(__builtin_fmaxf((float)a, (float)b));
}
BULKHEAD_BOTH __half __hmin(__half a, __half b) {
    return __half(__builtin_fminf((float)a, (float)b));
}

// A product of halves and a half are exact in double, so that one rounding to odd precision would be needed to be sure;
// double to float to half differs from the fused result only where the float lands on a tie.
BULKHEAD_BOTH __half __hfma(__half a, __half b, __half c) {
    return __half((float)((double)(float)a * (float)b + (float)c));
}
BULKHEAD_BOTH __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

BULKHEAD_DEVICE __half hsqrt(__half a) {
    return __half(sqrtf((float)a));
}
BULKHEAD_DEVICE __half hexp(__half a) {
    return __half(expf((float)a));
}
BULKHEAD_DEVICE __half hlog(__half a) {
    return __half(logf((float)a));
}
BULKHEAD_DEVICE __half hsin(__half a) {
    return __half(sinf((float)a));
}
BULKHEAD_DEVICE __half hcos(__half a) {
    return __half(cosf((float)a));
}
