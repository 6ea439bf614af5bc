#pragma once

#include <bit>
#include <cstdint>

#include "sim/exec/compute.h"

/// Floating-point arithmetic done with integers: exact to the last step, then rounded once, in any mode and to any
/// format. It knows nothing of the host's rounding mode or fused instructions, so every host gets the same bits. What
/// the host itself does right (round to nearest in f32 and f64) does not come here.
namespace bulkhead::sim {

enum class Round : std::uint8_t { nearest, zero, down, up, nearestAway };

__extension__ using Significand = unsigned __int128;

/// (-1)^negative * significand * 2^exponent. The lowest bit may stand for anything non-zero at or below it.
struct Exact {
    bool negative = false;
    int exponent = 0;
    Significand significand = 0;
};

/// A binary interchange format, with the NaN that hardware makes in it.
template <int kBitsOf, int kMantissaBits, std::uint64_t kNan>
struct FloatFormat {
    static constexpr int kBits = kBitsOf, kMantissa = kMantissaBits;
    static constexpr int kBias = (1 << (kBits - 2 - kMantissa)) - 1;
    static constexpr std::uint64_t kSign = std::uint64_t{1} << (kBits - 1);
    static constexpr std::uint64_t kImplicit = std::uint64_t{1} << kMantissa;
    static constexpr std::uint64_t kInfinity = (kSign - 1) & ~(kImplicit - 1);
    static constexpr std::uint64_t kNaN = kNan;
    static constexpr std::uint64_t magnitude(std::uint64_t bits) { return bits & (kSign - 1); }
    static constexpr bool isNan(std::uint64_t bits) { return magnitude(bits) > kInfinity; }
    static constexpr bool isInfinite(std::uint64_t bits) { return magnitude(bits) == kInfinity; }
    static constexpr bool isZero(std::uint64_t bits) { return magnitude(bits) == 0; }
    static constexpr bool isNegative(std::uint64_t bits) { return bits & kSign; }
    static constexpr bool isSubnormal(std::uint64_t bits) { return magnitude(bits) - 1 < kImplicit - 1; }
};
using F16 = FloatFormat<16, 10, 0x7fff>;
using Bf16 = FloatFormat<16, 7, 0x7fff>;
using F32 = FloatFormat<32, 23, 0x7fffffff>;
using F64 = FloatFormat<64, 52, 0xfff8000000000000>;

template <class T>
struct FormatOf;
template <>
struct FormatOf<Half> {
    using type = F16;
};
template <>
struct FormatOf<Brain> {
    using type = Bf16;
};
template <>
struct FormatOf<float> {
    using type = F32;
};
template <>
struct FormatOf<double> {
    using type = F64;
};

inline int countLeadingZeros(Significand value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return high ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(value));
}

/// Of a finite number.
template <class Format>
Exact exactOf(std::uint64_t bits) {
    const std::uint64_t magnitude = Format::magnitude(bits), fraction = magnitude & (Format::kImplicit - 1);
    const int biased = static_cast<int>(magnitude >> Format::kMantissa);
    return {Format::isNegative(bits), (biased ? biased : 1) - Format::kBias - Format::kMantissa,
            biased ? fraction | Format::kImplicit : fraction};
}

/// Rounds once. Zero keeps its sign. A call, since a copy for each of hundreds of instructions would take long to
/// compile.
template <class Format>
__attribute__((noinline)) std::uint64_t roundTo(const Exact& value, Round mode) {
    const std::uint64_t sign = value.negative ? Format::kSign : 0;
    if (value.significand == 0) return sign;
    const int top = value.exponent + 127 - countLeadingZeros(value.significand);
    constexpr int kLeast = 1 - Format::kBias;
    const int place = top < kLeast ? kLeast : top;  // of the result's leading bit
    const int shift = place - Format::kMantissa - value.exponent;
    // Far above the format: any shift would run off the word.
    if (place > Format::kBias + 1) {
        const bool infinite =
            mode == Round::nearest || mode == Round::nearestAway || mode == (value.negative ? Round::down : Round::up);
        return sign | (infinite ? Format::kInfinity : Format::kInfinity - 1);
    }
    std::uint64_t kept;
    bool half = false, rest = false;
    if (shift <= 0) {
        kept = static_cast<std::uint64_t>(value.significand << -shift);
    } else if (shift > 127) {
        kept = 0;
        rest = true;
    } else {
        kept = static_cast<std::uint64_t>(value.significand >> shift);
        half = value.significand >> (shift - 1) & 1;
        rest = (value.significand & ((Significand{1} << (shift - 1)) - 1)) != 0;
    }
    bool up = false;
    switch (mode) {
        case Round::nearest:
            up = half && (rest || (kept & 1));
            break;
        case Round::nearestAway:
            up = half;
            break;
        case Round::zero:
            break;
        case Round::down:
            up = value.negative && (half || rest);
            break;
        case Round::up:
            up = !value.negative && (half || rest);
            break;
    }
    // The implicit bit adds one to the exponent field, and a carry out of the fraction another: both are meant.
    const std::uint64_t bits =
        (static_cast<std::uint64_t>(place - kLeast) << Format::kMantissa) + kept + static_cast<std::uint64_t>(up);
    if (bits < Format::kInfinity) return sign | bits;
    const bool infinite =
        mode == Round::nearest || mode == Round::nearestAway || mode == (value.negative ? Round::down : Round::up);
    return sign | (infinite ? Format::kInfinity : Format::kInfinity - 1);
}

/// The sum, exact but for bits far below what any format keeps. A zero sum of opposite numbers is +0, or -0 where
/// rounding is down.
inline Exact sumOf(Exact a, Exact b, Round mode) {
    if (a.significand == 0 && b.significand == 0) {
        a.negative = a.negative == b.negative ? a.negative : mode == Round::down;
        return a;
    }
    if (a.significand == 0) return b;
    if (b.significand == 0) return a;
    // The leading one at bit 125, so that the sum has room and cancellation meets no bits already lost.
    const auto normalise = [](Exact& x) {
        const int shift = countLeadingZeros(x.significand) - 2;
        x.significand <<= shift;
        x.exponent -= shift;
    };
    normalise(a);
    normalise(b);
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) std::swap(a, b);
    const int shift = a.exponent - b.exponent;
    Significand low = shift > 127 ? 0 : b.significand >> shift;
    if (shift > 127 || (low << shift) != b.significand) low |= 1;
    if (a.negative == b.negative) {
        a.significand += low;
    } else {
        a.significand -= low;
        if (a.significand == 0) a.negative = mode == Round::down;
    }
    return a;
}

/// Factors of at most 64 bits.
inline Exact productOf(const Exact& a, const Exact& b) {
    return {a.negative != b.negative, a.exponent + b.exponent, a.significand * b.significand};
}

/// Of numbers of at most 64 bits; b is not zero.
inline Exact quotientOf(Exact a, const Exact& b) {
    if (a.significand == 0) return {a.negative != b.negative, 0, 0};
    const int shift = countLeadingZeros(a.significand) - 1;
    a.significand <<= shift;
    const Significand quotient = a.significand / b.significand;
    const bool inexact = quotient * b.significand != a.significand;
    return {a.negative != b.negative, a.exponent - shift - b.exponent - 1, quotient << 1 | Significand{inexact}};
}

/// Of a positive number of at most 64 bits.
inline Exact rootOf(Exact a) {
    int shift = countLeadingZeros(a.significand) - 2;
    if ((a.exponent - shift) & 1) --shift;
    a.significand <<= shift;
    a.exponent -= shift;
    Significand root = 0, rest = a.significand;
    for (Significand bit = Significand{1} << 126; bit; bit >>= 2) {
        const Significand trial = root + bit;
        root >>= 1;
        if (rest >= trial) {
            rest -= trial;
            root += bit;
        }
    }
    return {false, a.exponent / 2 - 1, root << 1 | Significand{rest != 0}};
}

// Operations on bit patterns, special values included. Every NaN that comes out is the format's; propagation, where
// hardware does that, is the caller's.

template <class Format>
std::uint64_t addExactly(std::uint64_t a, std::uint64_t b, Round mode) {
    if (Format::isNan(a) || Format::isNan(b)) return Format::kNaN;
    if (Format::isInfinite(a)) return Format::isInfinite(b) && a != b ? Format::kNaN : a;
    if (Format::isInfinite(b)) return b;
    return roundTo<Format>(sumOf(exactOf<Format>(a), exactOf<Format>(b), mode), mode);
}

template <class Format>
std::uint64_t mulExactly(std::uint64_t a, std::uint64_t b, Round mode) {
    if (Format::isNan(a) || Format::isNan(b)) return Format::kNaN;
    const std::uint64_t sign = (a ^ b) & Format::kSign;
    if (Format::isInfinite(a) || Format::isInfinite(b))
        return Format::isZero(a) || Format::isZero(b) ? Format::kNaN : sign | Format::kInfinity;
    return roundTo<Format>(productOf(exactOf<Format>(a), exactOf<Format>(b)), mode);
}

template <class Format>
std::uint64_t fmaExactly(std::uint64_t a, std::uint64_t b, std::uint64_t c, Round mode) {
    if (Format::isNan(a) || Format::isNan(b) || Format::isNan(c)) return Format::kNaN;
    const std::uint64_t sign = (a ^ b) & Format::kSign;
    if (Format::isInfinite(a) || Format::isInfinite(b)) {
        const std::uint64_t product = sign | Format::kInfinity;
        if (Format::isZero(a) || Format::isZero(b) || (Format::isInfinite(c) && c != product)) return Format::kNaN;
        return product;
    }
    if (Format::isInfinite(c)) return c;
    return roundTo<Format>(sumOf(productOf(exactOf<Format>(a), exactOf<Format>(b)), exactOf<Format>(c), mode), mode);
}

template <class Format>
std::uint64_t divExactly(std::uint64_t a, std::uint64_t b, Round mode) {
    if (Format::isNan(a) || Format::isNan(b)) return Format::kNaN;
    const std::uint64_t sign = (a ^ b) & Format::kSign;
    if (Format::isInfinite(a)) return Format::isInfinite(b) ? Format::kNaN : sign | Format::kInfinity;
    if (Format::isInfinite(b)) return sign;
    if (Format::isZero(b)) return Format::isZero(a) ? Format::kNaN : sign | Format::kInfinity;
    return roundTo<Format>(quotientOf(exactOf<Format>(a), exactOf<Format>(b)), mode);
}

template <class Format>
std::uint64_t sqrtExactly(std::uint64_t a, Round mode) {
    if (Format::isNan(a)) return Format::kNaN;
    if (Format::isZero(a)) return a;
    if (Format::isNegative(a)) return Format::kNaN;
    if (Format::isInfinite(a)) return a;
    return roundTo<Format>(rootOf(exactOf<Format>(a)), mode);
}

}  // namespace bulkhead::sim
