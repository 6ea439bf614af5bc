#pragma once

#include "float_intrinsics.h"
#include "integer_intrinsics.h"

// What needs no approximation: rounding, bits, remainders, minima. All results are exact or correctly rounded.

namespace bulkhead_sdk {

/// How a real type is built of bits.
template <class T_>
struct Format;
template <>
struct Format<float> {
    typedef unsigned int Bits;
    static constexpr int mantissaBits = 23, bias = 127, spareBits = 8;
    static __device__ __forceinline__ Bits bits(float x) { return __float_as_uint(x); }
    static __device__ __forceinline__ float real(Bits b) { return __uint_as_float(b); }
};
template <>
struct Format<double> {
    typedef unsigned long long Bits;
    static constexpr int mantissaBits = 52, bias = 1023, spareBits = 11;
    static __device__ __forceinline__ Bits bits(double x) { return (Bits)__double_as_longlong(x); }
    static __device__ __forceinline__ double real(Bits b) { return __longlong_as_double((long long)b); }
};

template <class T_>
__device__ __forceinline__ T_ powerOfTwo(int n) {
    return Format<T_>::real((typename Format<T_>::Bits)(n + Format<T_>::bias) << Format<T_>::mantissaBits);
}
template <class T_>
__device__ __forceinline__ typename Format<T_>::Bits magnitudeBits(T_ x) {
    return Format<T_>::bits(x) << 1 >> 1;
}
template <class T_>
__device__ __forceinline__ typename Format<T_>::Bits infinityBits() {
    return (typename Format<T_>::Bits)(2 * Format<T_>::bias + 1) << Format<T_>::mantissaBits;
}
template <class T_>
__device__ __forceinline__ T_ infinity() {
    return Format<T_>::real(infinityBits<T_>());
}
template <class T_>
__device__ __forceinline__ T_ notANumber() {
    return Format<T_>::real(infinityBits<T_>() | (typename Format<T_>::Bits)1 << (Format<T_>::mantissaBits - 1));
}
template <class T_>
__device__ __forceinline__ bool isNan(T_ x) {
    return x != x;
}
template <class T_>
__device__ __forceinline__ bool isInfinite(T_ x) {
    return magnitudeBits(x) == infinityBits<T_>();
}
template <class T_>
__device__ __forceinline__ T_ withSign(T_ magnitude, T_ sign) {
    const typename Format<T_>::Bits signBit = (typename Format<T_>::Bits)1
                                              << (Format<T_>::mantissaBits + Format<T_>::spareBits);
    return Format<T_>::real((Format<T_>::bits(magnitude) & ~signBit) | (Format<T_>::bits(sign) & signBit));
}

/// x * 2^n with one rounding: what goes below the normal numbers keeps spare bits until the last multiplication.
template <class T_>
__device__ T_ scaled(T_ x, int n) {
    constexpr int top = Format<T_>::bias, bottom = 1 - Format<T_>::bias, down = bottom + Format<T_>::mantissaBits + 1;
    if (n > top) {
        x *= powerOfTwo<T_>(top);
        n -= top;
        if (n > top) {
            x *= powerOfTwo<T_>(top);
            n = n - top > top ? top : n - top;
        }
    } else if (n < bottom) {
        x *= powerOfTwo<T_>(down);
        n -= down;
        if (n < bottom) {
            x *= powerOfTwo<T_>(down);
            n = n - down < bottom ? bottom : n - down;
        }
    }
    return x * powerOfTwo<T_>(n);
}

/// x * 2^n for n from a whole range of exponents to twice its ends, where x is near 1: two factors that are both
/// normal.
template <class T_>
__device__ __forceinline__ T_ scaledNearOne(T_ x, int n) {
    const int half = n >> 1;
    return x * powerOfTwo<T_>(half) * powerOfTwo<T_>(n - half);
}

/// x = result * 2^exponent with |result| in [0.5, 1).
template <class T_>
__device__ T_ splitExponent(T_ x, int* exponent) {
    *exponent = 0;
    if (x == 0 || !(magnitudeBits(x) < infinityBits<T_>())) return x;
    int extra = 0;
    if (magnitudeBits(x) >> Format<T_>::mantissaBits == 0) {
        extra = Format<T_>::mantissaBits + 2;
        x *= powerOfTwo<T_>(extra);
    }
    const int biased = (int)(magnitudeBits(x) >> Format<T_>::mantissaBits);
    *exponent = biased - Format<T_>::bias + 1 - extra;
    return scaled(x, Format<T_>::bias - 1 - biased);
}

/// The remainder of |x| / |y| and the low bits of the whole quotient, by long division, as many bits a step as a word
/// has to spare. Both are finite, y is not 0.
template <class T_>
__device__ T_ longDivision(T_ x, T_ y, unsigned int& quotient) {
    typedef typename Format<T_>::Bits Bits;
    quotient = 0;
    Bits a = magnitudeBits(x), b = magnitudeBits(y);
    if (a < b) return Format<T_>::real(a);
    int exponentX, exponentY;
    a = magnitudeBits(splitExponent(x, &exponentX));
    b = magnitudeBits(splitExponent(y, &exponentY));
    constexpr Bits implicit = (Bits)1 << Format<T_>::mantissaBits;
    a = (a & (implicit - 1)) | implicit;
    b = (b & (implicit - 1)) | implicit;
    quotient = (unsigned int)(a / b);
    a %= b;
    for (int left = exponentX - exponentY; left > 0;) {
        const int step = left < Format<T_>::spareBits ? left : Format<T_>::spareBits;
        a <<= step;
        quotient = quotient << step | (unsigned int)(a / b);
        a %= b;
        left -= step;
    }
    return scaled((T_)a, exponentY - Format<T_>::mantissaBits - 1);
}

template <class T_>
__device__ T_ truncatedRemainder(T_ x, T_ y) {
    if (isNan(x) || isNan(y) || isInfinite(x) || y == 0) return isNan(x) ? x : isNan(y) ? y : notANumber<T_>();
    if (isInfinite(y)) return x;
    unsigned int quotient;
    return withSign(longDivision(x, y, quotient), x);
}

template <class T_>
__device__ T_ roundedRemainder(T_ x, T_ y, int* quotientBits) {
    *quotientBits = 0;
    if (isNan(x) || isNan(y) || isInfinite(x) || y == 0) return isNan(x) ? x : isNan(y) ? y : notANumber<T_>();
    if (isInfinite(y)) return x;
    unsigned int quotient;
    T_ r = longDivision(x, y, quotient);
    const T_ size = withSign(y, (T_)1);
    // Twice r compared with |y|, without overflow; r < |y|, so the difference is exact where it matters.
    const T_ other = size - r;
    if (r > other || (r == other && (quotient & 1) != 0)) {
        r = -other;
        ++quotient;
    }
    const int low = (int)(quotient & 0x7fffffffu);
    *quotientBits = (x < 0) != (y < 0) ? -low : low;
    if (r == 0) return withSign((T_)0, x);
    return x < 0 ? -r : r;
}

template <class T_>
__device__ T_ neighbour(T_ x, T_ towards) {
    if (isNan(x) || isNan(towards)) return isNan(x) ? x : towards;
    if (x == towards) return towards;
    if (x == 0) return withSign(Format<T_>::real(1), towards);
    const bool away = (x < towards) == (x > 0);
    return Format<T_>::real(Format<T_>::bits(x) + (away ? 1 : -1));
}

template <class T_>
__device__ int binaryExponent(T_ x) {
    if (x == 0 || isNan(x)) return -0x7fffffff - 1;
    if (isInfinite(x)) return 0x7fffffff;
    int exponent;
    splitExponent(x, &exponent);
    return exponent - 1;
}

}  // namespace bulkhead_sdk

/// X(type, suffix of the C function, suffix of the builtin, NVVM's suffix)
#define BULKHEAD_BASIC_MATH(T_, s, n)                                                                               \
    BULKHEAD_DEVICE T_ fabs##s(T_ x) {                                                                              \
        return __builtin_fabs##s(x);                                                                                \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ floor##s(T_ x) {                                                                             \
        return __builtin_floor##s(x);                                                                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ ceil##s(T_ x) {                                                                              \
        return __builtin_ceil##s(x);                                                                                \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ trunc##s(T_ x) {                                                                             \
        return __builtin_trunc##s(x);                                                                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ rint##s(T_ x) {                                                                              \
        return __builtin_rint##s(x);                                                                                \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ nearbyint##s(T_ x) {                                                                         \
        return __builtin_nearbyint##s(x);                                                                           \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ fma##s(T_ x, T_ y, T_ z) {                                                                   \
        return __nvvm_fma_rn_##n(x, y, z);                                                                          \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ sqrt##s(T_ x) {                                                                              \
        return __nvvm_sqrt_rn_##n(x);                                                                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ fmin##s(T_ x, T_ y) {                                                                        \
        return __nvvm_fmin_##n(x, y);                                                                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ fmax##s(T_ x, T_ y) {                                                                        \
        return __nvvm_fmax_##n(x, y);                                                                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ copysign##s(T_ x, T_ y) {                                                                    \
        return bulkhead_sdk::withSign(x, y);                                                                        \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ fdim##s(T_ x, T_ y) {                                                                        \
        return x > y ? x - y : x <= y ? (T_)0 : x + y;                                                              \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ round##s(T_ x) {                                                                             \
        const T_ whole = trunc##s(x);                                                                               \
        return fabs##s(x - whole) >= (T_)0.5 ? whole + copysign##s((T_)1, x) : whole;                               \
    }                                                                                                               \
    BULKHEAD_DEVICE long lround##s(T_ x) {                                                                          \
        return (long)round##s(x);                                                                                   \
    }                                                                                                               \
    BULKHEAD_DEVICE long long llround##s(T_ x) {                                                                    \
        return (long long)round##s(x);                                                                              \
    }                                                                                                               \
    BULKHEAD_DEVICE long lrint##s(T_ x) {                                                                           \
        return (long)rint##s(x);                                                                                    \
    }                                                                                                               \
    BULKHEAD_DEVICE long long llrint##s(T_ x) {                                                                     \
        return (long long)rint##s(x);                                                                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ ldexp##s(T_ x, int n) {                                                                      \
        return bulkhead_sdk::scaled(x, n);                                                                          \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ scalbn##s(T_ x, int n) {                                                                     \
        return bulkhead_sdk::scaled(x, n);                                                                          \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ scalbln##s(T_ x, long n) {                                                                   \
        return bulkhead_sdk::scaled(x, n > 5000 ? 5000 : n < -5000 ? -5000 : (int)n);                               \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ frexp##s(T_ x, int* exponent) {                                                              \
        return bulkhead_sdk::splitExponent(x, exponent);                                                            \
    }                                                                                                               \
    BULKHEAD_DEVICE int ilogb##s(T_ x) {                                                                            \
        return bulkhead_sdk::binaryExponent(x);                                                                     \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ logb##s(T_ x) {                                                                              \
        if (x == 0) return -bulkhead_sdk::infinity<T_>();                                                           \
        return bulkhead_sdk::isNan(x) || bulkhead_sdk::isInfinite(x) ? x * x : (T_)bulkhead_sdk::binaryExponent(x); \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ modf##s(T_ x, T_* whole) {                                                                   \
        *whole = trunc##s(x);                                                                                       \
        return copysign##s(bulkhead_sdk::isInfinite(x) ? (T_)0 : x - *whole, x);                                    \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ nextafter##s(T_ x, T_ towards) {                                                             \
        return bulkhead_sdk::neighbour(x, towards);                                                                 \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ fmod##s(T_ x, T_ y) {                                                                        \
        return bulkhead_sdk::truncatedRemainder(x, y);                                                              \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ remquo##s(T_ x, T_ y, int* quotient) {                                                       \
        return bulkhead_sdk::roundedRemainder(x, y, quotient);                                                      \
    }                                                                                                               \
    BULKHEAD_DEVICE T_ remainder##s(T_ x, T_ y) {                                                                   \
        int quotient;                                                                                               \
        return bulkhead_sdk::roundedRemainder(x, y, &quotient);                                                     \
    }
BULKHEAD_BASIC_MATH(float, f, f)
BULKHEAD_BASIC_MATH(double, , d)
#undef BULKHEAD_BASIC_MATH

BULKHEAD_DEVICE float nanf(const char*) {
    return bulkhead_sdk::notANumber<float>();
}
BULKHEAD_DEVICE double nan(const char*) {
    return bulkhead_sdk::notANumber<double>();
}
BULKHEAD_DEVICE float fdividef(float x, float y) {
    return x / y;
}
