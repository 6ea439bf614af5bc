#pragma once

#define __CUDA_BF16_H__

#include "cuda_fp16.h"

// __nv_bfloat16 and __nv_bfloat162: the upper half of a float. Computed in float, rounded once more, which for +, -, *,
// / and sqrt is exact.

struct __nv_bfloat16_raw {
    unsigned short x;
};
struct __align__(4) __nv_bfloat162_raw {
    unsigned short x, y;
};

namespace bulkhead_sdk {

BULKHEAD_BOTH unsigned short bfloatBits(float value) {
    const unsigned int bits = __builtin_bit_cast(unsigned int, value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);  // to nearest, ties to even
}
BULKHEAD_BOTH float bfloatValue(unsigned short bits) {
    return __builtin_bit_cast(float, (unsigned int)bits << 16);
}

}  // namespace bulkhead_sdk

struct __align__(2) __nv_bfloat16 {
    unsigned short __x;
    __nv_bfloat16() = default;
    __host__ __device__ __nv_bfloat16(float value) : __x(bulkhead_sdk::bfloatBits(value)) {}
    __host__ __device__ __nv_bfloat16(double value) : __x((unsigned short)bulkhead_sdk::Bfloat::bits(value)) {}
    BULKHEAD_FROM_WHOLES(__nv_bfloat16, Bfloat)
    __host__ __device__ __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
    __host__ __device__ operator float() const {
        return bulkhead_sdk::bfloatValue(__x);
    }
    __host__ __device__ operator __nv_bfloat16_raw() const {
        return {__x};
    }
    __host__ __device__ operator __nv_bfloat16_raw() const volatile {
        return {__x};
    }
};
typedef __nv_bfloat16 nv_bfloat16;

struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    __host__ __device__ __nv_bfloat162(const __nv_bfloat16& low, const __nv_bfloat16& high) : x(low), y(high) {}
    __host__ __device__ __nv_bfloat162(const __nv_bfloat162_raw& raw)
        : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
    __host__ __device__ operator __nv_bfloat162_raw() const {
        return {x.__x, y.__x};
    }
};
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fffU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7fU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80U)

BULKHEAD_BOTH unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) {
    return h.__x;
}
BULKHEAD_BOTH short __bfloat16_as_short(__nv_bfloat16 h) {
    return (short)h.__x;
}
BULKHEAD_BOTH __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    return __nv_bfloat16(__nv_bfloat16_raw{bits});
}
BULKHEAD_BOTH __nv_bfloat16 __short_as_bfloat16(short bits) {
    return __nv_bfloat16(__nv_bfloat16_raw{(unsigned short)bits});
}

BULKHEAD_BOTH float __bfloat162float(__nv_bfloat16 h) {
    return (float)h;
}
BULKHEAD_BOTH __nv_bfloat16 __float2bfloat16(float f) {
    return __nv_bfloat16(f);
}
BULKHEAD_BOTH __nv_bfloat16 __double2bfloat16(double d) {
    return __nv_bfloat16(d);
}

#define BULKHEAD_BFLOAT_CONVERSIONS(suffix, rounding)                                                           \
    BULKHEAD_SHORT_WHOLE(int, int, bfloat16, __nv_bfloat16, Bfloat, suffix, rounding)                           \
    BULKHEAD_SHORT_WHOLE(unsigned int, uint, bfloat16, __nv_bfloat16, Bfloat, suffix, rounding)                 \
    BULKHEAD_SHORT_WHOLE(short, short, bfloat16, __nv_bfloat16, Bfloat, suffix, rounding)                       \
    BULKHEAD_SHORT_WHOLE(unsigned short, ushort, bfloat16, __nv_bfloat16, Bfloat, suffix, rounding)             \
    BULKHEAD_SHORT_WHOLE(long long, ll, bfloat16, __nv_bfloat16, Bfloat, suffix, rounding)                      \
    BULKHEAD_SHORT_WHOLE(unsigned long long, ull, bfloat16, __nv_bfloat16, Bfloat, suffix, rounding)            \
    BULKHEAD_BOTH __nv_bfloat16 __float2bfloat16_##suffix(float f) {                                            \
        return rounding == bulkhead_sdk::Rounding::nearest                                                      \
                   ? __nv_bfloat16(f)                                                                           \
                   : __nv_bfloat16(__nv_bfloat16_raw{(unsigned short)bulkhead_sdk::Bfloat::bits(f, rounding)}); \
    }
BULKHEAD_SHORT_ROUNDINGS(BULKHEAD_BFLOAT_CONVERSIONS)
#undef BULKHEAD_BFLOAT_CONVERSIONS
BULKHEAD_BOTH signed char __bfloat162char_rz(__nv_bfloat16 h) {
    return bulkhead_sdk::wholeOf<signed char>((float)h, bulkhead_sdk::Rounding::zero);
}
BULKHEAD_BOTH unsigned char __bfloat162uchar_rz(__nv_bfloat16 h) {
    return bulkhead_sdk::wholeOf<unsigned char>((float)h, bulkhead_sdk::Rounding::zero);
}

BULKHEAD_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return {a, b};
}
BULKHEAD_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return {a, b};
}
BULKHEAD_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) {
    return {a, a};
}
BULKHEAD_BOTH __nv_bfloat162 __float2bfloat162_rn(float f) {
    return {__nv_bfloat16(f), __nv_bfloat16(f)};
}
BULKHEAD_BOTH __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
    return {__nv_bfloat16(a), __nv_bfloat16(b)};
}
BULKHEAD_BOTH __nv_bfloat162 __float22bfloat162_rn(float2 f) {
    return {__nv_bfloat16(f.x), __nv_bfloat16(f.y)};
}
BULKHEAD_BOTH float2 __bfloat1622float2(__nv_bfloat162 h) {
    return float2{(float)h.x, (float)h.y};
}
BULKHEAD_BOTH __nv_bfloat16 __low2bfloat16(__nv_bfloat162 h) {
    return h.x;
}
BULKHEAD_BOTH __nv_bfloat16 __high2bfloat16(__nv_bfloat162 h) {
    return h.y;
}
BULKHEAD_BOTH __nv_bfloat162 __low2bfloat162(__nv_bfloat162 h) {
    return {h.x, h.x};
}
BULKHEAD_BOTH __nv_bfloat162 __high2bfloat162(__nv_bfloat162 h) {
    return {h.y, h.y};
}
BULKHEAD_BOTH __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
    return {a.x, b.x};
}
BULKHEAD_BOTH __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) {
    return {a.y, b.y};
}
BULKHEAD_BOTH __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 h) {
    return {h.y, h.x};
}
BULKHEAD_BOTH float __low2float(__nv_bfloat162 h) {
    return (float)h.x;
}
BULKHEAD_BOTH float __high2float(__nv_bfloat162 h) {
    return (float)h.y;
}

namespace bulkhead_sdk {

#define BULKHEAD_BFLOAT_ARITHMETIC(name, symbol)                         \
    BULKHEAD_BOTH __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) { \
        return __nv_bfloat16((float)a symbol(float) b);                  \
    }
BULKHEAD_BFLOAT_ARITHMETIC(__hadd, +)
BULKHEAD_BFLOAT_ARITHMETIC(__hsub, -)
BULKHEAD_BFLOAT_ARITHMETIC(__hmul, *)
#undef BULKHEAD_BFLOAT_ARITHMETIC
BULKHEAD_BOTH __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __nv_bfloat16 result;
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.__x) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
    return result;
#else
    return __nv_bfloat16(fusedToOdd((float)a, (float)b, (float)c));
#endif
}

}  // namespace bulkhead_sdk

#define BULKHEAD_T __nv_bfloat16
#define BULKHEAD_T2 __nv_bfloat162
#define BULKHEAD_FORMAT bulkhead_sdk::Bfloat
#include "bulkhead_sdk/short_float_functions.h"
#undef BULKHEAD_T
#undef BULKHEAD_T2
#undef BULKHEAD_FORMAT
