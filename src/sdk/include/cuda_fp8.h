#pragma once

#define __CUDA_FP8_H__

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "device_types.h"

// Numbers of 8 bits: e4m3, which has no infinity and reaches to 448, and e5m2, which reaches to 57344. Conversions to
// them round once, to the nearest, ties to even; NaN is 0x7f in both. e8m0 has an exponent alone: the powers of two
// from 2^-127 to 2^127, and NaN, 0xff.

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

namespace bulkhead_sdk {
typedef ShortFloat<4, 3, false> E4m3;
typedef ShortFloat<5, 2, true> E5m2;

static __host__ __device__ __inline__ __nv_fp8_storage_t fp8Bits(double value, __nv_saturation_t saturation,
                                                                 __nv_fp8_interpretation_t format) {
    const Overflow overflow = saturation == __NV_SATFINITE ? Overflow::saturated : Overflow::infinite;
    return (__nv_fp8_storage_t)(format == __NV_E4M3 ? E4m3::bits(value, Rounding::nearest, overflow)
                                                    : E5m2::bits(value, Rounding::nearest, overflow));
}
static __host__ __device__ __inline__ float fp8Value(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t format) {
    return format == __NV_E4M3 ? E4m3::value(bits) : E5m2::value(bits);
}
static __host__ __device__ __inline__ __nv_fp8x2_storage_t fp8Pair(double low, double high,
                                                                   __nv_saturation_t saturation,
                                                                   __nv_fp8_interpretation_t format) {
    return (__nv_fp8x2_storage_t)(fp8Bits(low, saturation, format) | fp8Bits(high, saturation, format) << 8);
}
}  // namespace bulkhead_sdk

BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t format) {
    return bulkhead_sdk::fp8Bits(x, saturation, format);
}
BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t format) {
    return bulkhead_sdk::fp8Bits(x, saturation, format);
}
BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t format) {
    return bulkhead_sdk::fp8Bits((float)__half(x), saturation, format);
}
BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                             __nv_fp8_interpretation_t format) {
    return bulkhead_sdk::fp8Bits((float)__nv_bfloat16(x), saturation, format);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturation,
                                                             __nv_fp8_interpretation_t format) {
    return bulkhead_sdk::fp8Pair(x.x, x.y, saturation, format);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                            __nv_fp8_interpretation_t format) {
    return bulkhead_sdk::fp8Pair(x.x, x.y, saturation, format);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation,
                                                              __nv_fp8_interpretation_t format) {
    const float2 f = __half22float2(__half2(x));
    return bulkhead_sdk::fp8Pair(f.x, f.y, saturation, format);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturation,
                                                                  __nv_fp8_interpretation_t format) {
    const float2 f = __bfloat1622float2(__nv_bfloat162(x));
    return bulkhead_sdk::fp8Pair(f.x, f.y, saturation, format);
}
BULKHEAD_BOTH __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t format) {
    return __half(bulkhead_sdk::fp8Value(x, format));
}
BULKHEAD_BOTH __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t format) {
    return {__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)x, format).x,
            __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), format).x};
}

namespace bulkhead_sdk {
/// The power of two next to the number's size, downwards (cudaRoundZero) or upwards (cudaRoundPosInf).
static __host__ __device__ __inline__ __nv_fp8_storage_t powerBits(double value, __nv_saturation_t saturation,
                                                                   cudaRoundMode rounding) {
    const unsigned long long size = __builtin_bit_cast(unsigned long long, value) << 1 >> 1;
    if (size > 0x7ffull << 52) return 0xff;
    const bool away = rounding == cudaRoundPosInf && (size & ((1ull << 52) - 1)) != 0;
    const int code = (int)(size >> 52) - 1023 + 127 + (away ? 1 : 0);
    if (code < 0) return 0;
    return code <= 0xfe ? (__nv_fp8_storage_t)code : saturation == __NV_SATFINITE ? 0xfe : 0xff;
}
static __host__ __device__ __inline__ __nv_fp8x2_storage_t powerPair(double low, double high,
                                                                     __nv_saturation_t saturation,
                                                                     cudaRoundMode rounding) {
    return (__nv_fp8x2_storage_t)(powerBits(low, saturation, rounding) | powerBits(high, saturation, rounding) << 8);
}
static __host__ __device__ __inline__ unsigned short powerAsBfloat(__nv_fp8_storage_t x) {
    return x == 0xff ? 0x7fff : x == 0 ? 0x40 : (unsigned short)(x << 7);
}
static __host__ __device__ __inline__ float powerValue(__nv_fp8_storage_t x) {
    return bfloatValue(powerAsBfloat(x));
}
}  // namespace bulkhead_sdk

BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturation,
                                                         cudaRoundMode rounding) {
    return bulkhead_sdk::powerBits(x, saturation, rounding);
}
BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturation, cudaRoundMode rounding) {
    return bulkhead_sdk::powerBits(x, saturation, rounding);
}
BULKHEAD_BOTH __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                              cudaRoundMode rounding) {
    return bulkhead_sdk::powerBits(bulkhead_sdk::bfloatValue(x.x), saturation, rounding);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(double2 x, __nv_saturation_t saturation,
                                                              cudaRoundMode rounding) {
    return bulkhead_sdk::powerPair(x.x, x.y, saturation, rounding);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(float2 x, __nv_saturation_t saturation,
                                                             cudaRoundMode rounding) {
    return bulkhead_sdk::powerPair(x.x, x.y, saturation, rounding);
}
BULKHEAD_BOTH __nv_fp8x2_storage_t __nv_cvt_bfloat162raw_to_e8m0x2(__nv_bfloat162_raw x, __nv_saturation_t saturation,
                                                                   cudaRoundMode rounding) {
    return bulkhead_sdk::powerPair(bulkhead_sdk::bfloatValue(x.x), bulkhead_sdk::bfloatValue(x.y), saturation,
                                   rounding);
}
BULKHEAD_BOTH __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
    return {bulkhead_sdk::powerAsBfloat(x)};
}
BULKHEAD_BOTH __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
    return {bulkhead_sdk::powerAsBfloat((__nv_fp8_storage_t)x),
            bulkhead_sdk::powerAsBfloat((__nv_fp8_storage_t)(x >> 8))};
}

/// A power of two: of a number, the one next above its size.
struct __nv_fp8_e8m0 {
    __nv_fp8_storage_t __x;
    __nv_fp8_e8m0() = default;
    explicit __host__ __device__ __nv_fp8_e8m0(double value)
        : __x(bulkhead_sdk::powerBits(value, __NV_SATFINITE, cudaRoundPosInf)) {}
    explicit __host__ __device__ __nv_fp8_e8m0(float value) : __nv_fp8_e8m0((double)value) {}
    explicit __host__ __device__ __nv_fp8_e8m0(__half value) : __nv_fp8_e8m0((float)value) {}
    explicit __host__ __device__ __nv_fp8_e8m0(__nv_bfloat16 value) : __nv_fp8_e8m0((float)value) {}
    explicit __host__ __device__ operator float() const { return bulkhead_sdk::powerValue(__x); }
    explicit __host__ __device__ operator double() const { return bulkhead_sdk::powerValue(__x); }
    explicit __host__ __device__ operator __half() const { return __half(bulkhead_sdk::powerValue(__x)); }
    explicit __host__ __device__ operator __nv_bfloat16() const { return __nv_cvt_e8m0_to_bf16raw(__x); }
    explicit __host__ __device__ operator bool() const { return true; }
};
struct __align__(2) __nv_fp8x2_e8m0 {
    __nv_fp8x2_storage_t __x;
    __nv_fp8x2_e8m0() = default;
    explicit __host__ __device__ __nv_fp8x2_e8m0(double2 v)
        : __x(bulkhead_sdk::powerPair(v.x, v.y, __NV_SATFINITE, cudaRoundPosInf)) {}
    explicit __host__ __device__ __nv_fp8x2_e8m0(float2 v) : __nv_fp8x2_e8m0(double2{v.x, v.y}) {}
    explicit __host__ __device__ __nv_fp8x2_e8m0(__nv_bfloat162 v) : __nv_fp8x2_e8m0(__bfloat1622float2(v)) {}
    explicit __host__ __device__ operator float2() const {
        return float2{bulkhead_sdk::powerValue((__nv_fp8_storage_t)__x),
                      bulkhead_sdk::powerValue((__nv_fp8_storage_t)(__x >> 8))};
    }
    explicit __host__ __device__ operator __nv_bfloat162() const {
        return __nv_cvt_e8m0x2_to_bf162raw(__x);
    }
};
struct __align__(4) __nv_fp8x4_e8m0 {
    __nv_fp8x4_storage_t __x;
    __nv_fp8x4_e8m0() = default;
    explicit __host__ __device__ __nv_fp8x4_e8m0(double4 v)
        : __x((unsigned int)bulkhead_sdk::powerPair(v.x, v.y, __NV_SATFINITE, cudaRoundPosInf) |
              (unsigned int)bulkhead_sdk::powerPair(v.z, v.w, __NV_SATFINITE, cudaRoundPosInf) << 16) {}
    explicit __host__ __device__ __nv_fp8x4_e8m0(float4 v) : __nv_fp8x4_e8m0(double4{v.x, v.y, v.z, v.w}) {}
    explicit __host__ __device__ operator float4() const {
        return float4{bulkhead_sdk::powerValue((__nv_fp8_storage_t)__x),
                      bulkhead_sdk::powerValue((__nv_fp8_storage_t)(__x >> 8)),
                      bulkhead_sdk::powerValue((__nv_fp8_storage_t)(__x >> 16)),
                      bulkhead_sdk::powerValue((__nv_fp8_storage_t)(__x >> 24))};
    }
};

/// One number, two and four of a format. What is too large becomes the largest number.
#define BULKHEAD_FP8_FROM(T_, name, format, toDouble) \
    explicit __host__ __device__ name(T_ value) : __x(bulkhead_sdk::fp8Bits(toDouble(value), __NV_SATFINITE, format)) {}
#define BULKHEAD_FP8_TO(T_, format)                                                                          \
    explicit __host__ __device__ operator T_() const {                                                       \
        return bulkhead_sdk::wholeOf<T_>(bulkhead_sdk::fp8Value(__x, format), bulkhead_sdk::Rounding::zero); \
    }
#define BULKHEAD_FP8(name, format)                                                                                     \
    struct __nv_fp8_##name {                                                                                           \
        __nv_fp8_storage_t __x;                                                                                        \
        __nv_fp8_##name() = default;                                                                                   \
        BULKHEAD_FP8_FROM(float, __nv_fp8_##name, format, )                                                            \
        BULKHEAD_FP8_FROM(double, __nv_fp8_##name, format, )                                                           \
        BULKHEAD_FP8_FROM(__half, __nv_fp8_##name, format, (float))                                                    \
        BULKHEAD_FP8_FROM(__nv_bfloat16, __nv_fp8_##name, format, (float))                                             \
        BULKHEAD_FP8_FROM(short, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                                    \
        BULKHEAD_FP8_FROM(unsigned short, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                           \
        BULKHEAD_FP8_FROM(int, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                                      \
        BULKHEAD_FP8_FROM(unsigned int, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                             \
        BULKHEAD_FP8_FROM(long, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                                     \
        BULKHEAD_FP8_FROM(unsigned long, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                            \
        BULKHEAD_FP8_FROM(long long, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                                \
        BULKHEAD_FP8_FROM(unsigned long long, __nv_fp8_##name, format, bulkhead_sdk::wholeToOdd)                       \
        explicit __host__ __device__ operator float() const { return bulkhead_sdk::fp8Value(__x, format); }            \
        explicit __host__ __device__ operator double() const { return bulkhead_sdk::fp8Value(__x, format); }           \
        explicit __host__ __device__ operator __half() const { return __half(bulkhead_sdk::fp8Value(__x, format)); }   \
        explicit __host__ __device__ operator __nv_bfloat16() const {                                                  \
            return __nv_bfloat16(bulkhead_sdk::fp8Value(__x, format));                                                 \
        }                                                                                                              \
        explicit __host__ __device__ operator bool() const { return (__x & 0x7f) != 0; }                               \
        BULKHEAD_FP8_TO(char, format)                                                                                  \
        BULKHEAD_FP8_TO(signed char, format)                                                                           \
        BULKHEAD_FP8_TO(unsigned char, format)                                                                         \
        BULKHEAD_FP8_TO(short, format)                                                                                 \
        BULKHEAD_FP8_TO(unsigned short, format)                                                                        \
        BULKHEAD_FP8_TO(int, format)                                                                                   \
        BULKHEAD_FP8_TO(unsigned int, format)                                                                          \
        BULKHEAD_FP8_TO(long, format)                                                                                  \
        BULKHEAD_FP8_TO(unsigned long, format)                                                                         \
        BULKHEAD_FP8_TO(long long, format)                                                                             \
        BULKHEAD_FP8_TO(unsigned long long, format)                                                                    \
    };                                                                                                                 \
    struct __align__(2) __nv_fp8x2_##name {                                                                            \
        __nv_fp8x2_storage_t __x;                                                                                      \
        __nv_fp8x2_##name() = default;                                                                                 \
        explicit __host__ __device__ __nv_fp8x2_##name(double2 v)                                                      \
            : __x(bulkhead_sdk::fp8Pair(v.x, v.y, __NV_SATFINITE, format)) {}                                          \
        explicit __host__ __device__ __nv_fp8x2_##name(float2 v)                                                       \
            : __x(bulkhead_sdk::fp8Pair(v.x, v.y, __NV_SATFINITE, format)) {}                                          \
        explicit __host__ __device__ __nv_fp8x2_##name(__half2 v) : __nv_fp8x2_##name(__half22float2(v)) {}            \
        explicit __host__ __device__ __nv_fp8x2_##name(__nv_bfloat162 v) : __nv_fp8x2_##name(__bfloat1622float2(v)) {} \
        explicit __host__ __device__ operator float2() const {                                                         \
            return float2{bulkhead_sdk::fp8Value((__nv_fp8_storage_t)__x, format),                                     \
                          bulkhead_sdk::fp8Value((__nv_fp8_storage_t)(__x >> 8), format)};                             \
        }                                                                                                              \
        explicit __host__ __device__ operator __half2() const {                                                        \
            return __float22half2_rn((float2)(*this));                                                                 \
        }                                                                                                              \
        explicit __host__ __device__ operator __nv_bfloat162() const {                                                 \
            return __float22bfloat162_rn((float2)(*this));                                                             \
        }                                                                                                              \
    };                                                                                                                 \
    struct __align__(4) __nv_fp8x4_##name {                                                                            \
        __nv_fp8x4_storage_t __x;                                                                                      \
        __nv_fp8x4_##name() = default;                                                                                 \
        explicit __host__ __device__ __nv_fp8x4_##name(double4 v)                                                      \
            : __x((unsigned int)bulkhead_sdk::fp8Pair(v.x, v.y, __NV_SATFINITE, format) |                              \
                  (unsigned int)bulkhead_sdk::fp8Pair(v.z, v.w, __NV_SATFINITE, format) << 16) {}                      \
        explicit __host__ __device__ __nv_fp8x4_##name(float4 v) : __nv_fp8x4_##name(double4{v.x, v.y, v.z, v.w}) {}   \
        explicit __host__ __device__ __nv_fp8x4_##name(__half2 low, __half2 high)                                      \
            : __nv_fp8x4_##name(float4{(float)low.x, (float)low.y, (float)high.x, (float)high.y}) {}                   \
        explicit __host__ __device__ __nv_fp8x4_##name(__nv_bfloat162 low, __nv_bfloat162 high)                        \
            : __nv_fp8x4_##name(float4{(float)low.x, (float)low.y, (float)high.x, (float)high.y}) {}                   \
        explicit __host__ __device__ operator float4() const {                                                         \
            return float4{bulkhead_sdk::fp8Value((__nv_fp8_storage_t)__x, format),                                     \
                          bulkhead_sdk::fp8Value((__nv_fp8_storage_t)(__x >> 8), format),                              \
                          bulkhead_sdk::fp8Value((__nv_fp8_storage_t)(__x >> 16), format),                             \
                          bulkhead_sdk::fp8Value((__nv_fp8_storage_t)(__x >> 24), format)};                            \
        }                                                                                                              \
    };
BULKHEAD_FP8(e4m3, __NV_E4M3)
BULKHEAD_FP8(e5m2, __NV_E5M2)
#undef BULKHEAD_FP8
#undef BULKHEAD_FP8_FROM
#undef BULKHEAD_FP8_TO
