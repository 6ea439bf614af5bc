#pragma once

#include "float_intrinsics.h"
#include "integer_intrinsics.h"

// What needs no approximation: rounding, bits, remainders, minima. All results are exact or correctly rounded.

namespace bulkhead_sdk {

/// How a real type is built of bits.
template <class T>
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

template <class T>
__device__ __forceinline__ T powerOfTwo(int n) {
    return Format<T>::real((typename Format<T>::Bits)(n + Format<T>::bias) << Format<T>::mantissaBits);
}
template <class T>
__device__ __forceinline__ typename Format<T>::Bits magnitudeBits(T x) {
    return Format<T>::bits(x) << 1 >> 1;
}
template <class T>
__device__ __forceinline__ typename Format<T>::Bits infinityBits() {
    return (typename Format<T>::Bits)(2 * Format<T>::bias + 1) << Format<T>::mantissaBits;
}
template <class T>
__device__ __forceinline__ T infinity() {
    return Format<T>::real(infinityBits<T>());
}
template <class T>
__device__ __forceinline__ T notANumber() {
    return Format<T>::real(infinityBits<T>() | (typename Format<T>::Bits)1 << (Format<T>::mantissaBits - 1));
}
template <class T>
__device__ __forceinline__ bool isNan(T x) {
    return x != x;
}
template <class T>
__device__ __forceinline__ bool isInfinite(T x) {
    return magnitudeBits(x) == infinityBits<T>();
}
template <class T>
__device__ __forceinline__ T withSign(T magnitude, T sign) {
    const typename Format<T>::Bits signBit = (typename Format<T>::Bits)1
                                             << (Format<T>::mantissaBits + Format<T>::spareBits);
    return Format<T>::real((Format<T>::bits(magnitude) & ~signBit) | (Format<T>::bits(sign) & signBit));
}

/// x * 2^n with one rounding: what goes below the normal numbers keeps spare bits until the last multiplication.
template <class T>
__device__ T scaled(T x, int n) {
    constexpr int top = Format<T>::bias, bottom = 1 - Format<T>::bias, down = bottom + Format<T>::mantissaBits + 1;
    if (n > top) {
        x *= powerOfTwo<T>(top);
        n -= top;
        if (n > top) {
            x *= powerOfTwo<T>(top);
            n = n - top > top ? top : n - top;
        }
    } else if (n < bottom) {
        x *= powerOfTwo<T>(down);
        n -= down;
        if (n < bottom) {
            x *= powerOfTwo<T>(down);
            n = n - down < bottom ? bottom : n - down;
        }
    }
    return x * powerOfTwo<T>(n);
}

/// x * 2^n for n from a whole range of exponents to twice its ends, where x is near 1: two factors that are both
/// normal.
template <class T>
__device__ __forceinline__ T scaledNearOne(T x, int n) {
    const int half = n >> 1;
    return x * powerOfTwo<T>(half) * powerOfTwo<T>(n - half);
}

/// x = result * 2^exponent with |result| in [0.5, 1).
template <class T>
__device__ T splitExponent(T x, int* exponent) {
    *exponent = 0;
    if (x == 0 || !(magnitudeBits(x) < infinityBits<T>())) return x;
    int extra = 0;
    if (magnitudeBits(x) >> Format<T>::mantissaBits == 0) {
        extra = Format<T>::mantissaBits + 2;
        x *= powerOfTwo<T>(extra);
    }
    const int biased = (int)(magnitudeBits(x) >> Format<T>::mantissaBits);
    *exponent = biased - Format<T>::bias + 1 - extra;
    return scaled(x, Format<T>::bias - 1 - biased);
}

/// The remainder of |x| / |y| and the low bits of the whole quotient, by long division, as many bits a step as a word
/// has to spare. Both are finite, y is not 0.
template <class T>
__device__ T longDivision(T x, T y, unsigned int& quotient) {
    typedef typename Format<T>::Bits Bits;
    quotient = 0;
    Bits a = magnitudeBits(x), b = magnitudeBits(y);
    if (a < b) return Format<T>::real(a);
    int exponentX, exponentY;
    a = magnitudeBits(splitExponent(x, &exponentX));
    b = magnitudeBits(splitExponent(y, &exponentY));
    constexpr Bits implicit = (Bits)1 << Format<T>::mantissaBits;
    a = (a & (implicit - 1)) | implicit;
    b = (b & (implicit - 1)) | implicit;
    quotient = (unsigned int)(a / b);
    a %= b;
    for (int left = exponentX - exponentY; left > 0;) {
        const int step = left < Format<T>::spareBits ? left : Format<T>::spareBits;
        a <<= step;
        quotient = quotient << step | (unsigned int)(a / b);
        a %= b;
        left -= step;
    }
    return scaled((T)a, exponentY - Format<T>::mantissaBits - 1);
}

template <class T>
__device__ T truncatedRemainder(T x, T y) {
    if (isNan(x) || isNan(y) || isInfinite(x) || y == 0) return isNan(x) ? x : isNan(y) ? y : notANumber<T>();
    if (isInfinite(y)) return x;
    unsigned int quotient;
    return withSign(longDivision(x, y, quotient), x);
}

template <class T>
__device__ T roundedRemainder(T x, T y, int* quotientBits) {
    *quotientBits = 0;
    if (isNan(x) || isNan(y) || isInfinite(x) || y == 0) return isNan(x) ? x : isNan(y) ? y : notANumber<T>();
    if (isInfinite(y)) return x;
    unsigned int quotient;
    T r = longDivision(x, y, quotient);
    const T size = withSign(y, (T)1);
    // Twice r compared with |y|, without overflow; r < |y|, so the difference is exact where it matters.
    const T other = size - r;
    if (r > other || (r == other && (quotient & 1) != 0)) {
        r = -other;
        ++quotient;
    }
    const int low = (int)(quotient & 0x7fffffffu);
    *quotientBits = (x < 0) != (y < 0) ? -low : low;
    if (r == 0) return withSign((T)0, x);
    return x < 0 ? -r : r;
}

template <class T>
__device__ T neighbour(T x, T towards) {
    if (isNan(x) || isNan(towards)) return isNan(x) ? x : towards;
    if (x == towards) return towards;
    if (x == 0) return withSign(Format<T>::real(1), towards);
    const bool away = (x < towards) == (x > 0);
    return Format<T>::real(Format<T>::bits(x) + (away ? 1 : -1));
}

template <class T>
__device__ int binaryExponent(T x) {
    if (x == 0 || isNan(x)) return -0x7fffffff - 1;
    if (isInfinite(x)) return 0x7fffffff;
    int exponent;
    splitExponent(x, &exponent);
    return exponent - 1;
}

}  // namespace bulkhead_sdk

/// X(type, suffix of the C function, suffix of the builtin, NVVM's suffix)
#define BULKHEAD_BASIC_MATH(T, s, n)                                                                               \
    BULKHEAD_DEVICE T fabs##s(T x) {                                                                               \
        return __builtin_fabs##s(x);                                                                               \
    }                                                                                                              \
    BULKHEAD_DEVICE T floor##s(T x) {                                                                              \
        return __builtin_floor##s(x);                                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T ceil##s(T x) {                                                                               \
        return __builtin_ceil##s(x);                                                                               \
    }                                                                                                              \
    BULKHEAD_DEVICE T trunc##s(T x) {                                                                              \
        return __builtin_trunc##s(x);                                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T rint##s(T x) {                                                                               \
        return __builtin_rint##s(x);                                                                               \
    }                                                                                                              \
    BULKHEAD_DEVICE T nearbyint##s(T x) {                                                                          \
        return __builtin_nearbyint##s(x);                                                                          \
    }                                                                                                              \
    BULKHEAD_DEVICE T fma##s(T x, T y, T z) {                                                                      \
        return __nvvm_fma_rn_##n(x, y, z);                                                                         \
    }                                                                                                              \
    BULKHEAD_DEVICE T sqrt##s(T x) {                                                                               \
        return __nvvm_sqrt_rn_##n(x);                                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T fmin##s(T x, T y) {                                                                          \
        return __nvvm_fmin_##n(x, y);                                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T fmax##s(T x, T y) {                                                                          \
        return __nvvm_fmax_##n(x, y);                                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T copysign##s(T x, T y) {                                                                      \
        return bulkhead_sdk::withSign(x, y);                                                                       \
    }                                                                                                              \
    BULKHEAD_DEVICE T fdim##s(T x, T y) {                                                                          \
        return x > y ? x - y : x <= y ? (T)0 : x + y;                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T round##s(T x) {                                                                              \
        const T whole = trunc##s(x);                                                                               \
        return fabs##s(x - whole) >= (T)0.5 ? whole + copysign##s((T)1, x) : whole;                                \
    }                                                                                                              \
    BULKHEAD_DEVICE long lround##s(T x) {                                                                          \
        return (long)round##s(x);                                                                                  \
    }                                                                                                              \
    BULKHEAD_DEVICE long long llround##s(T x) {                                                                    \
        return (long long)round##s(x);                                                                             \
    }                                                                                                              \
    BULKHEAD_DEVICE long lrint##s(T x) {                                                                           \
        return (long)rint##s(x);                                                                                   \
    }                                                                                                              \
    BULKHEAD_DEVICE long long llrint##s(T x) {                                                                     \
        return (long long)rint##s(x);                                                                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T ldexp##s(T x, int n) {                                                                       \
        return bulkhead_sdk::scaled(x, n);                                                                         \
    }                                                                                                              \
    BULKHEAD_DEVICE T scalbn##s(T x, int n) {                                                                      \
        return bulkhead_sdk::scaled(x, n);                                                                         \
    }                                                                                                              \
    BULKHEAD_DEVICE T scalbln##s(T x, long n) {                                                                    \
        return bulkhead_sdk::scaled(x, n > 5000 ? 5000 : n < -5000 ? -5000 : (int)n);                              \
    }                                                                                                              \
    BULKHEAD_DEVICE T frexp##s(T x, int* exponent) {                                                               \
        return bulkhead_sdk::splitExponent(x, exponent);                                                           \
    }                                                                                                              \
    BULKHEAD_DEVICE int ilogb##s(T x) {                                                                            \
        return bulkhead_sdk::binaryExponent(x);                                                                    \
    }                                                                                                              \
    BULKHEAD_DEVICE T logb##s(T x) {                                                                               \
        if (x == 0) return -bulkhead_sdk::infinity<T>();                                                           \
        return bulkhead_sdk::isNan(x) || bulkhead_sdk::isInfinite(x) ? x * x : (T)bulkhead_sdk::binaryExponent(x); \
    }                                                                                                              \
    BULKHEAD_DEVICE T modf##s(T x, T* whole) {                                                                     \
        *whole = trunc##s(x);                                                                                      \
        return copysign##s(bulkhead_sdk::isInfinite(x) ? (T)0 : x - *whole, x);                                    \
    }                                                                                                              \
    BULKHEAD_DEVICE T nextafter##s(T x, T towards) {                                                               \
        return bulkhead_sdk::neighbour(x, towards);                                                                \
    }                                                                                                              \
    BULKHEAD_DEVICE T fmod##s(T x, T y) {                                                                          \
        return bulkhead_sdk::truncatedRemainder(x, y);                                                             \
    }                                                                                                              \
    BULKHEAD_DEVICE T remquo##s(T x, T y, int* quotient) {                                                         \
        return bulkhead_sdk::roundedRemainder(x, y, quotient);                                                     \
    }                                                                                                              \
    BULKHEAD_DEVICE T remainder##s(T x, T y) {                                                                     \
        int quotient;                                                                                              \
        return bulkhead_sdk::roundedRemainder(x, y, &quotient);                                                    \
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
