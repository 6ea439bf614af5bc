#pragma once

#define __CUDA_FP16_H__

#include "bulkhead_sdk/short_floats.h"
#include "cuda_runtime.h"

// half and half2: 16 bits of sign, 5 of exponent and 10 of mantissa. The device computes with its own instructions,
// the host in float, rounded once more; for +, -, *, / and sqrt that is the same.

struct __half_raw {
    unsigned short x;
};
struct __align__(4) __half2_raw {
    unsigned short x, y;
};

namespace bulkhead_sdk {

BULKHEAD_BOTH unsigned short halfBits(float value) {
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    return (unsigned short)Half::bits(value);
#endif
}
BULKHEAD_BOTH float halfValue(unsigned short bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    return Half::value(bits);
#endif
}

}  // namespace bulkhead_sdk

#define BULKHEAD_FROM_WHOLE(T_, name, Format) \
    __host__ __device__ name(T_ value)        \
        : __x((unsigned short)bulkhead_sdk::Format::bits(bulkhead_sdk::wholeToOdd(value))) {}
#define BULKHEAD_FROM_WHOLES(name, Format)            \
    BULKHEAD_FROM_WHOLE(short, name, Format)          \
    BULKHEAD_FROM_WHOLE(unsigned short, name, Format) \
    BULKHEAD_FROM_WHOLE(int, name, Format)            \
    BULKHEAD_FROM_WHOLE(unsigned int, name, Format)   \
    BULKHEAD_FROM_WHOLE(long, name, Format)           \
    BULKHEAD_FROM_WHOLE(unsigned long, name, Format)  \
    BULKHEAD_FROM_WHOLE(long long, name, Format)      \
    BULKHEAD_FROM_WHOLE(unsigned long long, name, Format)

struct __align__(2) __half {
    unsigned short __x;
    __half() = default;
    __host__ __device__ __half(float value) : __x(bulkhead_sdk::halfBits(value)) {}
    __host__ __device__ __half(double value) : __x((unsigned short)bulkhead_sdk::Half::bits(value)) {}
    BULKHEAD_FROM_WHOLES(__half, Half)
    __host__ __device__ __half(__half_raw raw) : __x(raw.x) {}
    __host__ __device__ operator float() const {
        return bulkhead_sdk::halfValue(__x);
    }
    __host__ __device__ operator __half_raw() const {
        return {__x};
    }
    __host__ __device__ operator __half_raw() const volatile {
        return {__x};
    }
};
typedef __half half;
typedef __half __nv_half;
typedef __half nv_half;
typedef __half_raw __nv_half_raw;

struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    __host__ __device__ __half2(const __half& low, const __half& high) : x(low), y(high) {}
    __host__ __device__ __half2(const __half2_raw& raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
    __host__ __device__ operator __half2_raw() const {
        return {x.__x, y.__x};
    }
};
typedef __half2 half2;
typedef __half2 __nv_half2;
typedef __half2 nv_half2;
typedef __half2_raw __nv_half2_raw;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fffU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bffU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00U)

BULKHEAD_BOTH unsigned short __half_as_ushort(__half h) {
    return h.__x;
}
BULKHEAD_BOTH short __half_as_short(__half h) {
    return (short)h.__x;
}
BULKHEAD_BOTH __half __ushort_as_half(unsigned short bits) {
    return __half(__half_raw{bits});
}
BULKHEAD_BOTH __half __short_as_half(short bits) {
    return __half(__half_raw{(unsigned short)bits});
}

BULKHEAD_BOTH float __half2float(__half h) {
    return (float)h;
}
BULKHEAD_BOTH __half __float2half(float f) {
    return __half(f);
}
BULKHEAD_BOTH __half __double2half(double d) {
    return __half(d);
}

/// Conversions that say how they round, by the names of the types.
#define BULKHEAD_SHORT_WHOLE(T_, name, half, Half, Format, suffix, rounding)                           \
    BULKHEAD_BOTH T_ __##half##2##name##_##suffix(Half h) {                                            \
        return bulkhead_sdk::wholeOf<T_>((float)h, rounding);                                          \
    }                                                                                                  \
    BULKHEAD_BOTH Half __##name##2##half##_##suffix(T_ whole) {                                        \
        Half h;                                                                                        \
        h.__x = (unsigned short)bulkhead_sdk::Format::bits(bulkhead_sdk::wholeToOdd(whole), rounding); \
        return h;                                                                                      \
    }
#define BULKHEAD_HALF_CONVERSIONS(suffix, rounding)                                             \
    BULKHEAD_SHORT_WHOLE(int, int, half, __half, Half, suffix, rounding)                        \
    BULKHEAD_SHORT_WHOLE(unsigned int, uint, half, __half, Half, suffix, rounding)              \
    BULKHEAD_SHORT_WHOLE(short, short, half, __half, Half, suffix, rounding)                    \
    BULKHEAD_SHORT_WHOLE(unsigned short, ushort, half, __half, Half, suffix, rounding)          \
    BULKHEAD_SHORT_WHOLE(long long, ll, half, __half, Half, suffix, rounding)                   \
    BULKHEAD_SHORT_WHOLE(unsigned long long, ull, half, __half, Half, suffix, rounding)         \
    BULKHEAD_BOTH __half __float2half_##suffix(float f) {                                       \
        return rounding == bulkhead_sdk::Rounding::nearest                                      \
                   ? __half(f)                                                                  \
                   : __half(__half_raw{(unsigned short)bulkhead_sdk::Half::bits(f, rounding)}); \
    }
BULKHEAD_SHORT_ROUNDINGS(BULKHEAD_HALF_CONVERSIONS)
#undef BULKHEAD_HALF_CONVERSIONS
BULKHEAD_BOTH signed char __half2char_rz(__half h) {
    return bulkhead_sdk::wholeOf<signed char>((float)h, bulkhead_sdk::Rounding::zero);
}
BULKHEAD_BOTH unsigned char __half2uchar_rz(__half h) {
    return bulkhead_sdk::wholeOf<unsigned char>((float)h, bulkhead_sdk::Rounding::zero);
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
BULKHEAD_BOTH __half2 __low2half2(__half2 h) {
    return {h.x, h.x};
}
BULKHEAD_BOTH __half2 __high2half2(__half2 h) {
    return {h.y, h.y};
}
BULKHEAD_BOTH __half2 __lows2half2(__half2 a, __half2 b) {
    return {a.x, b.x};
}
BULKHEAD_BOTH __half2 __highs2half2(__half2 a, __half2 b) {
    return {a.y, b.y};
}
BULKHEAD_BOTH __half2 __lowhigh2highlow(__half2 h) {
    return {h.y, h.x};
}
BULKHEAD_BOTH float __low2float(__half2 h) {
    return (float)h.x;
}
BULKHEAD_BOTH float __high2float(__half2 h) {
    return (float)h.y;
}

namespace bulkhead_sdk {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
#define BULKHEAD_HALF_ARITHMETIC(name, instruction, symbol)                          \
    BULKHEAD_BOTH __half name(__half a, __half b) {                                  \
        __half result;                                                               \
        asm(instruction " %0, %1, %2;" : "=h"(result.__x) : "h"(a.__x), "h"(b.__x)); \
        return result;                                                               \
    }
BULKHEAD_BOTH __half __hfma(__half a, __half b, __half c) {
    __half result;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(result.__x) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
    return result;
}
#else
#define BULKHEAD_HALF_ARITHMETIC(name, instruction, symbol) \
    BULKHEAD_BOTH __half name(__half a, __half b) {         \
        return __half((float)a symbol(float) b);            \
    }
BULKHEAD_BOTH __half __hfma(__half a, __half b, __half c) {
    return __half(fusedToOdd((float)a, (float)b, (float)c));
}
#endif
BULKHEAD_HALF_ARITHMETIC(__hadd, "add.rn.f16", +)
BULKHEAD_HALF_ARITHMETIC(__hsub, "sub.rn.f16", -)
BULKHEAD_HALF_ARITHMETIC(__hmul, "mul.rn.f16", *)
#undef BULKHEAD_HALF_ARITHMETIC

}  // namespace bulkhead_sdk

#define BULKHEAD_T __half
#define BULKHEAD_T2 __half2
#define BULKHEAD_FORMAT bulkhead_sdk::Half
#include "bulkhead_sdk/short_float_functions.h"
#undef BULKHEAD_T
#undef BULKHEAD_T2
#undef BULKHEAD_FORMAT

/// The name that half alone has.
BULKHEAD_BOTH __half2 h2div(__half2 a, __half2 b) {
    return __h2div(a, b);
}
