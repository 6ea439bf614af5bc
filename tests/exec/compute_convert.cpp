#include <cmath>

#include "compute_reference.h"

// Conversions against rounding in exact integers.

namespace bulkhead::sim::test {
namespace {

__extension__ using Int = __int128;
using Tuple = std::vector<std::uint64_t>;

struct IntType {
    const char* name;
    unsigned bits;
    bool isSigned;
    Int value(std::uint64_t word) const {
        const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        const Int v = static_cast<Int>(word & mask);
        return isSigned && (word >> (bits - 1) & 1) ? v - (Int{1} << bits) : v;
    }
    Int least() const { return isSigned ? -(Int{1} << (bits - 1)) : 0; }
    Int most() const { return (Int{1} << (isSigned ? bits - 1 : bits)) - 1; }
    /// Registers are at least 16 bits wide; a narrow result is extended by its sign.
    unsigned registerBits() const { return bits == 8 ? 32 : bits; }
    std::uint64_t inRegister(Int v) const {
        const std::uint64_t word = static_cast<std::uint64_t>(v);
        return registerBits() == 64 ? word : word & ((std::uint64_t{1} << registerBits()) - 1);
    }
};
constexpr IntType kTypes[] = {{"u8", 8, false},   {"s8", 8, true},   {"u16", 16, false}, {"s16", 16, true},
                              {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}};

/// The value cut off to the type, as the type reads it.
Int wrapped(const IntType& t, Int v) {
    return t.value(static_cast<std::uint64_t>(v));
}

TEST(Convert, integersWrapOrSaturate) {
    for (const IntType& to : kTypes)
        for (const IntType& from : kTypes) {
            const std::string types = std::string(".") + to.name + "." + from.name + " %o0, %a;";
            expectMatches(
                {"cvt" + types, {from.registerBits()}, to.registerBits()},
                [&](const Tuple& x) { return to.inRegister(wrapped(to, from.value(x[0]))); }, 16);
            expectMatches(
                {"cvt.sat" + types, {from.registerBits()}, to.registerBits()},
                [&](const Tuple& x) {
                    const Int v = from.value(x[0]);
                    return to.inRegister(v < to.least() ? to.least() : v > to.most() ? to.most() : v);
                },
                16);
        }
}

double rounded(double value, int mode) {
    switch (mode) {
        case FE_TONEAREST: {
            // Ties to even, from the definition.
            const double below = std::floor(value), rest = value - below;
            if (rest < 0.5 || (rest == 0.5 && std::fmod(below, 2) == 0)) return below;
            return below + 1;
        }
        case FE_TOWARDZERO:
            return std::trunc(value);
        case FE_DOWNWARD:
            return std::floor(value);
        default:
            return std::ceil(value);
    }
}

/// Half an f32 word's cases near the integers' bounds.
std::uint64_t drawFloat(Words& words, unsigned bits) {
    if (words.below(2)) return words.next(bits);
    const double scale = std::ldexp(1.0, static_cast<int>(words.below(66)));
    const double value = (words.below(2) ? -1 : 1) * scale * (1 + (static_cast<double>(words.below(9)) - 4) / 1024) +
                         (static_cast<double>(words.below(9)) - 4) / 4;
    return bits == 64 ? std::bit_cast<std::uint64_t>(value) : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

TEST(Convert, floatsToIntegersSaturate) {
    for (const IntType& to : kTypes)
        for (const Mode& mode : kModes)
            for (const unsigned bits : {32u, 64u}) {
                const std::string name =
                    std::string("cvt.") + mode.integerName + "." + to.name + (bits == 64 ? ".f64" : ".f32");
                expectMatches(
                    {name + " %o0, %a;", {bits}, to.registerBits()},
                    [&](const Tuple& x) {
                        const double v = bits == 64 ? std::bit_cast<double>(x[0])
                                                    : std::bit_cast<float>(static_cast<std::uint32_t>(x[0]));
                        if (std::isnan(v)) {
                            // Zero, but in the 64-bit unit the word with the top bit set.
                            if (bits == 32 && to.bits < 64) return std::uint64_t{0};
                            return to.inRegister(wrapped(to, Int{1} << (to.bits - 1)));
                        }
                        const double whole = rounded(v, mode.host);
                        if (whole < static_cast<double>(to.least())) return to.inRegister(to.least());
                        if (whole > static_cast<double>(to.most())) return to.inRegister(to.most());
                        // The bound itself may have been rounded up on its way to double.
                        const Int exact = static_cast<Int>(whole);
                        return to.inRegister(exact > to.most() ? to.most() : exact);
                    },
                    60, [&](Words& words, std::size_t) { return drawFloat(words, bits); });
            }
}

/// An integer rounded to `precision` bits: the quotient and remainder by a power of two decide.
double roundInteger(Int value, int precision, int mode) {
    const bool negative = value < 0;
    std::uint64_t magnitude = static_cast<std::uint64_t>(negative ? -value : value);
    int shift = 64 - std::countl_zero(magnitude) - precision;
    if (shift <= 0)
        return static_cast<double>(negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude));
    std::uint64_t quotient = magnitude >> shift;
    const std::uint64_t rest = magnitude - (quotient << shift), half = std::uint64_t{1} << (shift - 1);
    const bool up = mode == FE_TONEAREST    ? rest > half || (rest == half && (quotient & 1))
                    : mode == FE_TOWARDZERO ? false
                    : mode == FE_DOWNWARD   ? negative && rest
                                            : !negative && rest;
    const double result = std::ldexp(static_cast<double>(quotient + up), shift);
    return negative ? -result : result;
}

TEST(Convert, integersToFloatsRound) {
    for (const IntType& from : kTypes)
        for (const Mode& mode : kModes) {
            const std::string name = std::string("cvt.") + mode.name;
            expectMatches({name + ".f32." + from.name + " %o0, %a;", {from.registerBits()}, 32}, [&](const Tuple& x) {
                return std::uint64_t{
                    std::bit_cast<std::uint32_t>(static_cast<float>(roundInteger(from.value(x[0]), 24, mode.host)))};
            });
            expectMatches({name + ".f64." + from.name + " %o0, %a;", {from.registerBits()}, 64}, [&](const Tuple& x) {
                return std::bit_cast<std::uint64_t>(roundInteger(from.value(x[0]), 53, mode.host));
            });
        }
}

TEST(Convert, doubleToSingleRounds) {
    for (const Mode& mode : kModes)
        expectMatches(
            {std::string("cvt.") + mode.name + ".f32.f64 %o0, %a;", {64}, 32},
            [&](const Tuple& x) {
                const HostRounding rounding(mode.host);
                volatile double wide = std::bit_cast<double>(x[0]);
                volatile float narrow = static_cast<float>(wide);
                return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(narrow))};
            },
            300,
            [](Words& words, std::size_t) {
                // Numbers in and around f32's range; NaNs are hardware's affair.
                const auto single = static_cast<std::uint32_t>(words.next(32));
                const double value = std::bit_cast<float>(single);
                if (std::isnan(value)) return std::uint64_t{0};
                return std::bit_cast<std::uint64_t>(value) ^ (std::isinf(value) ? 0 : words.below(1u << 30));
            });
}

TEST(Convert, everyHalfWidensAndReturns) {
    Snippet snippet(".reg .b16 %a, %o0; .reg .b32 %s; .reg .b64 %d;",
                    "cvt.f32.f16 %s, %a; cvt.f64.f16 %d, %a; cvt.rn.f16.f32 %o0, %s;");
    for (std::uint32_t first = 0; first < 0x10000; first += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) snippet.set("%a", lane, first + static_cast<std::uint32_t>(lane));
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane) {
            const std::uint32_t half = first + static_cast<std::uint32_t>(lane);
            const int exponent = static_cast<int>(half >> 10 & 31);
            const double fraction = half & 0x3ff;
            if (exponent == 31 && fraction != 0) {
                EXPECT_EQ(snippet.get("%s", lane), 0x7fffffffu);
                EXPECT_EQ(snippet.get("%o0", lane), 0x7fffu);
                continue;
            }
            const double magnitude = exponent == 31  ? INFINITY
                                     : exponent == 0 ? std::ldexp(fraction, -24)
                                                     : std::ldexp(1024 + fraction, exponent - 25);
            const double value = half & 0x8000 ? -magnitude : magnitude;
            EXPECT_EQ(snippet.get("%s", lane), std::bit_cast<std::uint32_t>(static_cast<float>(value)));
            EXPECT_EQ(snippet.get("%d", lane), std::bit_cast<std::uint64_t>(value));
            EXPECT_EQ(snippet.get("%o0", lane), half);
        }
    }
}

TEST(Convert, singleToHalfTakesTheNearer) {
    // Between each pair of neighbours: below the middle, the middle, above it.
    Snippet snippet(".reg .b16 %o0; .reg .b32 %a;", "cvt.rn.f16.f32 %o0, %a;");
    const auto at = [](std::uint32_t half) {
        const int exponent = static_cast<int>(half >> 10);
        return exponent == 31  ? 65536.0
               : exponent == 0 ? std::ldexp(static_cast<double>(half), -24)
                               : std::ldexp(1024.0 + (half & 0x3ff), exponent - 25);
    };
    for (std::uint32_t half = 0; half < 0x7c00; ++half) {
        const float middle = static_cast<float>((at(half) + at(half + 1)) / 2);  // exact: f32 has 13 bits more
        snippet.set("%a", 0, std::bit_cast<std::uint32_t>(std::nextafter(middle, 0.0f)));
        snippet.set("%a", 1, std::bit_cast<std::uint32_t>(middle));
        snippet.set("%a", 2, std::bit_cast<std::uint32_t>(std::nextafter(middle, INFINITY)));
        snippet.run(7);
        ASSERT_EQ(snippet.get("%o0", 0), half);
        ASSERT_EQ(snippet.get("%o0", 1), half & 1 ? half + 1 : half);
        ASSERT_EQ(snippet.get("%o0", 2), half + 1);
    }
}

TEST(Convert, registersMayBeWiderThanTypes) {
    Snippet snippet(".reg .b16 %h; .reg .b32 %w; .reg .b64 %a, %d;",
                    "cvt.s8.s64 %h, %a; cvt.s8.s64 %w, %a; cvt.s8.s64 %d, %a;");
    snippet.set("%a", 0, 0x1234567890abcd80);
    snippet.run(1);
    EXPECT_EQ(snippet.get("%h", 0), 0xff80u);
    EXPECT_EQ(snippet.get("%w", 0), 0xffffff80u);
    EXPECT_EQ(snippet.get("%d", 0), 0xffffffffffffff80u);
}

}  // namespace
}  // namespace bulkhead::sim::test
