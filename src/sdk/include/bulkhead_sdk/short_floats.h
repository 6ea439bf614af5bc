#pragma once

#include "device.h"

// Floating-point numbers of 8 and 16 bits, by arithmetic on their bits: the same on both sides.

namespace bulkhead_sdk {

enum class Rounding { nearest, zero, down, up };
/// What becomes of numbers that are too large: infinity (or NaN, where the format has none), or the largest number.
enum class Overflow { infinite, saturated };

template <int exponentBits, int mantissaBits, bool hasInfinity>
struct ShortFloat {
    static constexpr int bias = (1 << (exponentBits - 1)) - 1;
    static constexpr unsigned int sign = 1u << (exponentBits + mantissaBits), nan = sign - 1;
    static constexpr unsigned int infinity = ((1u << exponentBits) - 1) << mantissaBits;
    static constexpr unsigned int largest = hasInfinity ? infinity - 1 : nan - 1;

    static __host__ __device__ __inline__ unsigned int bits(double value, Rounding rounding = Rounding::nearest,
                                                            Overflow overflow = Overflow::infinite) {
        const unsigned long long all = __builtin_bit_cast(unsigned long long, value), size = all << 1 >> 1;
        const bool negative = all >> 63 != 0;
        const unsigned int signBit = negative ? sign : 0;
        if (size > 0x7ffull << 52) return nan;
        if (size == 0x7ffull << 52) return beyond(signBit, overflow, true);
        if (size == 0) return signBit;
        const int exponent = (int)(size >> 52) - 1023;
        const unsigned long long mantissa = (size & ((1ull << 52) - 1)) | 1ull << 52;
        const bool normal = exponent >= 1 - bias;
        const int below = normal ? 0 : 1 - bias - exponent;
        const int dropped = 52 - mantissaBits + (below > mantissaBits + 2 ? mantissaBits + 2 : below);
        const unsigned long long rest = mantissa & ((1ull << dropped) - 1), half = 1ull << (dropped - 1);
        unsigned int kept = (unsigned int)(mantissa >> dropped);
        const bool away = rounding == Rounding::nearest
                              ? rest > half || (rest == half && (kept & 1) != 0)
                              : rest != 0 && rounding != Rounding::zero && (rounding == Rounding::up) != negative;
        kept += away ? 1 : 0;
        // The leading bit of the mantissa, or a carry into it, adds one to the exponent's field.
        const unsigned int code = normal ? kept + ((unsigned int)(exponent + bias - 1) << mantissaBits) : kept;
        if (code <= largest) return signBit | code;
        const bool towardsZero = rounding == Rounding::zero || (rounding == Rounding::up && negative) ||
                                 (rounding == Rounding::down && !negative);
        return towardsZero ? signBit | largest : beyond(signBit, overflow, false);
    }

    static __host__ __device__ __inline__ float value(unsigned int code) {
        const unsigned int negative = (code & sign) != 0 ? 0x80000000u : 0, rest = code & nan;
        if (rest > largest) {
            const unsigned int mantissa = hasInfinity ? (rest - infinity) << (23 - mantissaBits) : 0x7fffffu;
            return __builtin_bit_cast(float, negative | 0x7f800000u | mantissa);
        }
        const float size = rest >> mantissaBits != 0
                               ? __builtin_bit_cast(float, (rest << (23 - mantissaBits)) + ((127u - bias) << 23))
                               : (float)rest * unit();
        return __builtin_bit_cast(float, negative | __builtin_bit_cast(unsigned int, size));
    }

  private:
    static __host__ __device__ __inline__ unsigned int beyond(unsigned int signBit, Overflow overflow, bool) {
        if (overflow == Overflow::saturated) return signBit | largest;
        return hasInfinity ? signBit | infinity : signBit | nan;
    }
    /// The smallest number; of the formats here, only that with float's range has it among float's denormals.
    static __host__ __device__ __inline__ constexpr float unit() {
        return bias == 127 ? __builtin_bit_cast(float, 1u << (23 - mantissaBits))
                           : __builtin_bit_cast(float, (128u - bias - mantissaBits) << 23);
    }
};

typedef ShortFloat<5, 10, true> Half;
typedef ShortFloat<8, 7, true> Bfloat;

/// a * b + c rounded to odd: the last bit is set if anything was cut off, so that rounding once more to fewer bits
/// gives what rounding the exact number would. a and b have up to 16 bits each, so that their product is exact.
BULKHEAD_BOTH double fusedToOdd(float a, float b, float c) {
    const double product = (double)a * b, sum = product + c;
    if (!(sum - sum == 0)) return sum;
    const double part = sum - product, error = (product - (sum - part)) + (c - part);
    unsigned long long bits = __builtin_bit_cast(unsigned long long, sum);
    if (error == 0 || (bits & 1) != 0) return sum;
    bits += (error > 0) == (sum > 0) ? 1 : -1ull;
    return __builtin_bit_cast(double, bits);
}

/// A whole number as a double, to odd where it has too many bits.
template <class T_>
BULKHEAD_BOTH double wholeToOdd(T_ whole) {
    const bool negative = whole < 0;
    unsigned long long size = negative ? 0ull - (unsigned long long)whole : (unsigned long long)whole;
    if (size >> 52 != 0) size = (size & ~0xfffull) | ((size & 0xfffull) != 0 ? 0x1000u : 0);
    return negative ? -(double)size : (double)size;
}

/// A number as a whole one, saturated.
template <class T_>
BULKHEAD_BOTH T_ wholeOf(float value, Rounding rounding) {
    constexpr bool isSigned = (T_)-1 < (T_)0;
    constexpr T_ top = (T_)(isSigned ? ((T_)1 << (8 * sizeof(T_) - 2)) - 1 + ((T_)1 << (8 * sizeof(T_) - 2)) : (T_)-1);
    constexpr T_ bottom = (T_)(isSigned ? -top - 1 : 0);
    if (value != value) return sizeof(T_) == 8 ? (T_)(1ull << 63) : (T_)0;
    const float whole = rounding == Rounding::nearest ? __builtin_rintf(value)
                        : rounding == Rounding::zero  ? __builtin_truncf(value)
                        : rounding == Rounding::down  ? __builtin_floorf(value)
                                                      : __builtin_ceilf(value);
    if (whole >= (float)top) return top;
    return whole <= (float)bottom ? bottom : (T_)whole;
}

/// X(suffix of the function, rounding)
#define BULKHEAD_SHORT_ROUNDINGS(X_)        \
    X_(rn, bulkhead_sdk::Rounding::nearest) \
    X_(rz, bulkhead_sdk::Rounding::zero)    \
    X_(rd, bulkhead_sdk::Rounding::down)    \
    X_(ru, bulkhead_sdk::Rounding::up)

}  // namespace bulkhead_sdk
