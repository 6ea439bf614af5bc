#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;

// One operation of f16 or bf16, on bit patterns, is written once; f16x2 and bf16x2 do it twice. Sums and products of
// f16 are formed in f32 and rounded once more, which is harmless: f32 has more than twice the bits. A fused sum is
// rounded to odd first.

template <bool kFlush>
inline float halfOperand(std::uint32_t bits) {
    return halfToFloat(flushHalf<kFlush>(bits));
}

enum class Clamp : std::uint8_t { none, unit, relu };

/// .sat: to [+0, 1], NaN becomes +0. .relu: negative becomes +0, NaN the canonical one.
template <Clamp kClamp>
inline float clamp(float value) {
    if constexpr (kClamp == Clamp::unit) return saturateUnit<true>(value);
    if constexpr (kClamp == Clamp::relu) return value > 0.0f || value != value ? value : 0.0f;
    return value;
}

template <bool kFlush, Clamp kClamp>
inline std::uint32_t halfResult(float value) {
    return flushHalf<kFlush>(floatToHalf(clamp<kClamp>(value)));
}

template <Clamp kClamp>
inline std::uint32_t brainResult(float value) {
    return floatToBrain(clamp<kClamp>(value));
}

inline float brainOperand(std::uint32_t bits) {
    return brainToFloat(bits);
}

/// Minimum or maximum of bit patterns of either 16-bit format: sign and magnitude, -0 below +0.
template <bool kMax, bool kNan, bool kXorSign, std::uint32_t kInfinity>
inline std::uint32_t extremeBits(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t sign = kXorSign ? (a ^ b) & 0x8000 : 0;
    if constexpr (kXorSign) {
        a &= 0x7fff;
        b &= 0x7fff;
    }
    const bool aNan = (a & 0x7fff) > kInfinity, bNan = (b & 0x7fff) > kInfinity;
    // Order of the numbers as order of integers.
    const std::int32_t aKey = a & 0x8000 ? -static_cast<std::int32_t>(a & 0x7fff) - 1 : static_cast<std::int32_t>(a);
    const std::int32_t bKey = b & 0x8000 ? -static_cast<std::int32_t>(b & 0x7fff) - 1 : static_cast<std::int32_t>(b);
    std::uint32_t result = (aKey < bKey) == kMax ? b : a;
    result = aNan ? b : bNan ? a : result;
    const bool nan = kNan ? aNan || bNan : aNan && bNan;
    return nan ? 0x7fff : result | sign;
}

template <class Op>
struct Twice {
    template <class... A>
    std::uint32_t operator()(A... a) const {
        return (Op{}((a & 0xffff)...) & 0xffff) | Op{}((a >> 16)...) << 16;
    }
};

template <class Pattern, int kCount>
constexpr Handler patternHandler() {
    using U = std::uint32_t;
    if constexpr (kCount == 1) return &lanewise<Pattern, U, U>;
    if constexpr (kCount == 2) return &lanewise<Pattern, U, U, U>;
    if constexpr (kCount == 3) return &lanewise<Pattern, U, U, U, U>;
}

/// Registers an operation on patterns for a type and for pairs of it. Lanes hold patterns as 32-bit words already.
template <class One, class Pair, class... A, class Op>
void both(Forms& forms, const std::string& name, const std::string& type, OpClass opClass, Op) {
    constexpr int kCount = sizeof...(A);
    forms.add(name + "." + type, patternHandler<Op, kCount>(), opClass, typeOf<One>(), {typeOf<A>()...});
    const auto pairOf = [](auto) { return typeOf<Pair>(); };
    forms.add(name + "." + type + "x2", patternHandler<Twice<Op>, kCount>(), opClass, typeOf<Pair>(), {pairOf(A{})...});
}

using U = std::uint32_t;

template <bool kFlush, Clamp kClamp>
[[gnu::cold]] void addHalfArithmetic(Forms& forms) {
    const std::string suffix = std::string(kFlush ? ".ftz" : "") + (kClamp == Clamp::unit   ? ".sat"
                                                                    : kClamp == Clamp::relu ? ".relu"
                                                                                            : "");
    if constexpr (kClamp != Clamp::relu)
        for (const char* rounding : {"", ".rn"}) {
            both<Half, HalfPair, Half, Half>(
                forms, std::string("add") + rounding + suffix, "f16", OpClass::fp32,
                [](U a, U b) { return halfResult<kFlush, kClamp>(halfOperand<kFlush>(a) + halfOperand<kFlush>(b)); });
            both<Half, HalfPair, Half, Half>(
                forms, std::string("sub") + rounding + suffix, "f16", OpClass::fp32,
                [](U a, U b) { return halfResult<kFlush, kClamp>(halfOperand<kFlush>(a) - halfOperand<kFlush>(b)); });
            both<Half, HalfPair, Half, Half>(
                forms, std::string("mul") + rounding + suffix, "f16", OpClass::fp32,
                [](U a, U b) { return halfResult<kFlush, kClamp>(halfOperand<kFlush>(a) * halfOperand<kFlush>(b)); });
        }
    both<Half, HalfPair, Half, Half, Half>(forms, "fma.rn" + suffix, "f16", OpClass::fp32, [](U a, U b, U c) {
        return halfResult<kFlush, kClamp>(
            addToOdd(halfOperand<kFlush>(a) * halfOperand<kFlush>(b), halfOperand<kFlush>(c)));
    });
}

// A product of two bf16 numbers is exact in f64, never mind its exponent, but not always in f32.
inline double brainProduct(U a, U b) {
    return static_cast<double>(brainOperand(a)) * static_cast<double>(brainOperand(b));
}

template <Clamp kClamp>
[[gnu::cold]] void addBrainFused(Forms& forms, const std::string& suffix) {
    both<Brain, BrainPair, Brain, Brain, Brain>(forms, "fma.rn" + suffix, "bf16", OpClass::fp32, [](U a, U b, U c) {
        return brainResult<kClamp>(narrowToOdd(addToOdd(brainProduct(a, b), static_cast<double>(brainOperand(c)))));
    });
}

template <bool kMax, bool kNan, bool kXorSign>
[[gnu::cold]] void addExtremes(Forms& forms) {
    const std::string name = kMax ? "max" : "min";
    const std::string suffix = std::string(kNan ? ".NaN" : "") + (kXorSign ? ".xorsign.abs" : "");
    both<Half, HalfPair, Half, Half>(forms, name + suffix, "f16", OpClass::fp32,
                                     [](U a, U b) { return extremeBits<kMax, kNan, kXorSign, 0x7c00>(a, b); });
    both<Half, HalfPair, Half, Half>(forms, name + ".ftz" + suffix, "f16", OpClass::fp32, [](U a, U b) {
        return extremeBits<kMax, kNan, kXorSign, 0x7c00>(flushHalf<true>(a), flushHalf<true>(b));
    });
    both<Brain, BrainPair, Brain, Brain>(forms, name + suffix, "bf16", OpClass::fp32,
                                         [](U a, U b) { return extremeBits<kMax, kNan, kXorSign, 0x7f80>(a, b); });
}

/// NaNs become the canonical one, whatever their sign.
template <class One, class Pair, std::uint32_t kInfinity, bool kFlush>
[[gnu::cold]] void addSigns(Forms& forms, const std::string& ftz, const std::string& type) {
    both<One, Pair, One>(forms, "abs" + ftz, type, OpClass::fp32,
                         [](U a) -> U { return (a & 0x7fff) > kInfinity ? 0x7fff : flushHalf<kFlush>(a) & 0x7fff; });
    both<One, Pair, One>(forms, "neg" + ftz, type, OpClass::fp32,
                         [](U a) -> U { return (a & 0x7fff) > kInfinity ? 0x7fff : flushHalf<kFlush>(a) ^ 0x8000; });
}

}  // namespace

[[gnu::cold]] void addHalfForms(Forms& forms) {
    addHalfArithmetic<false, Clamp::none>(forms);
    addHalfArithmetic<false, Clamp::unit>(forms);
    addHalfArithmetic<false, Clamp::relu>(forms);
    addHalfArithmetic<true, Clamp::none>(forms);
    addHalfArithmetic<true, Clamp::unit>(forms);
    addHalfArithmetic<true, Clamp::relu>(forms);

    for (const char* rounding : {"", ".rn"}) {
        both<Brain, BrainPair, Brain, Brain>(forms, std::string("add") + rounding, "bf16", OpClass::fp32, [](U a, U b) {
            return brainResult<Clamp::none>(brainOperand(a) + brainOperand(b));
        });
        both<Brain, BrainPair, Brain, Brain>(forms, std::string("sub") + rounding, "bf16", OpClass::fp32, [](U a, U b) {
            return brainResult<Clamp::none>(brainOperand(a) - brainOperand(b));
        });
        both<Brain, BrainPair, Brain, Brain>(forms, std::string("mul") + rounding, "bf16", OpClass::fp32, [](U a, U b) {
            return brainResult<Clamp::none>(narrowToOdd(brainProduct(a, b)));
        });
    }
    addBrainFused<Clamp::none>(forms, "");
    addBrainFused<Clamp::relu>(forms, ".relu");

    addExtremes<false, false, false>(forms);
    addExtremes<false, false, true>(forms);
    addExtremes<false, true, false>(forms);
    addExtremes<false, true, true>(forms);
    addExtremes<true, false, false>(forms);
    addExtremes<true, false, true>(forms);
    addExtremes<true, true, false>(forms);
    addExtremes<true, true, true>(forms);

    addSigns<Half, HalfPair, 0x7c00, false>(forms, "", "f16");
    addSigns<Half, HalfPair, 0x7c00, true>(forms, ".ftz", "f16");
    addSigns<Brain, BrainPair, 0x7f80, false>(forms, "", "bf16");
}

}  // namespace bulkhead::sim
