#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/exec/compute.h"

/// What the floating-point instructions have in common: flushing, saturating, NaNs, 16-bit formats. All of it is
/// written without branches, so that loops over the lanes vectorise.
namespace bulkhead::sim {

inline std::uint32_t bitsOf(float value) {
    return std::bit_cast<std::uint32_t>(value);
}
inline std::uint64_t bitsOf(double value) {
    return std::bit_cast<std::uint64_t>(value);
}
inline float floatOf(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}
inline double doubleOf(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
}

/// .ftz: a subnormal becomes a zero of its sign.
template <bool kFlush>
inline float flush(float value) {
    if constexpr (!kFlush) return value;
    const std::uint32_t bits = bitsOf(value);
    return floatOf((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}
template <bool kFlush>
inline std::uint32_t flushHalf(std::uint32_t bits) {
    if constexpr (!kFlush) return bits;
    return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits;
}

/// Hardware makes one NaN in f32, whatever went in.
inline float canonical(float value) {
    return value != value ? floatOf(0x7fffffff) : value;
}

// Double-precision hardware passes a NaN operand on, made quiet and otherwise as it is; of several one has precedence.
// What is no number out of numbers is kInvalid.
constexpr std::uint64_t kInvalid = 0xfff8000000000000, kQuiet = 0x0008000000000000;

inline double quiet(double nan) {
    return doubleOf(bitsOf(nan) | kQuiet);
}
/// The result, or if that is NaN, the first of the operands that is one.
inline double orNan(double result, double first) {
    const double nan = first != first ? quiet(first) : doubleOf(kInvalid);
    return result != result ? nan : result;
}
inline double orNan(double result, double first, double second) {
    const double nan = first != first ? quiet(first) : second != second ? quiet(second) : doubleOf(kInvalid);
    return result != result ? nan : result;
}
inline double orNan(double result, double first, double second, double third) {
    const double nan = first != first     ? quiet(first)
                       : second != second ? quiet(second)
                       : third != third   ? quiet(third)
                                          : doubleOf(kInvalid);
    return result != result ? nan : result;
}

/// .sat: to [+0, 1]; NaN becomes +0.
template <bool kSaturate>
inline float saturateUnit(float value) {
    if constexpr (!kSaturate) return value;
    return value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
}

// 16-bit formats on patterns in 32-bit words, the width that lanes have.

inline float halfToFloat(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    // Scaling turns subnormals into normal numbers and leaves normal ones exact.
    const float scaled = floatOf(magnitude << 13) * 0x1p112f;
    return floatOf((magnitude >= 0x7c00 ? 0x7f800000 | (magnitude & 0x3ff) << 13 : bitsOf(scaled)) | sign);
}
inline float brainToFloat(std::uint32_t bits) {
    return floatOf(bits << 16);
}
/// Round to nearest even; NaN becomes 0x7fff.
inline std::uint32_t floatToHalf(float value) {
    const std::uint32_t bits = bitsOf(value), sign = bits & 0x80000000, magnitude = bits ^ sign;
    // Normal results: rebias, round by adding just less than half, and let the carry run into the exponent.
    const std::uint32_t normal = (magnitude + 0xc8000fff + (magnitude >> 13 & 1)) >> 13;
    // Subnormal results: adding 0.5 aligns the binary point, and the addition rounds.
    const std::uint32_t subnormal = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000;
    std::uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
    half = magnitude >= 0x47800000 ? 0x7c00u : half;
    half |= sign >> 16;
    return magnitude > 0x7f800000 ? 0x7fffu : half;
}
inline std::uint32_t floatToBrain(float value) {
    const std::uint32_t bits = bitsOf(value);
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffu : rounded;
}

inline float toFloat(Half value) {
    return halfToFloat(value.bits);
}
inline float toFloat(Brain value) {
    return brainToFloat(value.bits);
}
inline Half toHalf(float value) {
    return {static_cast<std::uint16_t>(floatToHalf(value))};
}
inline Brain toBrain(float value) {
    return {static_cast<std::uint16_t>(floatToBrain(value))};
}

/// a + b rounded to odd: inexact sums have their last bit set, so that rounding once more, to a format at least two
/// bits narrower, gives what rounding the exact sum would.
inline double addToOdd(double a, double b) {
    const double sum = a + b, part = sum - a;
    const double error = (a - (sum - part)) + (b - part);
    const std::uint64_t bits = bitsOf(sum);
    // The exact sum lies beyond `sum`, away from zero, if the error has its sign. Infinities and NaNs have no error.
    const std::uint64_t outward = (error > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
    const bool inexact = error > 0 || error < 0;
    return doubleOf(inexact && !(bits & 1) ? bits + outward : bits);
}
inline float addToOdd(float a, float b) {
    const float sum = a + b, part = sum - a;
    const float error = (a - (sum - part)) + (b - part);
    const std::uint32_t bits = bitsOf(sum);
    const std::uint32_t outward = (error > 0) == (sum > 0) ? 1 : ~std::uint32_t{0};
    const bool inexact = error > 0 || error < 0;
    return floatOf(inexact && !(bits & 1) ? bits + outward : bits);
}

/// To f32, rounded to odd.
inline float narrowToOdd(double value) {
    const float rounded = static_cast<float>(value);
    const double back = rounded;
    const std::uint32_t bits = bitsOf(rounded);
    const std::uint32_t outward = (value > back) == (value > 0) ? 1 : ~std::uint32_t{0};
    const bool inexact = value > back || value < back;
    return floatOf(inexact && !(bits & 1) ? bits + outward : bits);
}

/// a * b + c with one rounding.
inline float fusedMultiplyAdd(float a, float b, float c) {
#if defined(__aarch64__) || defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    // The product of two floats is exact in double.
    return static_cast<float>(addToOdd(static_cast<double>(a) * b, static_cast<double>(c)));
#endif
}

}  // namespace bulkhead::sim
