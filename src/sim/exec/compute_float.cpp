#include "sim/exec/compute_float.h"

#include <cmath>

#include "sim/exec/compute_exact.h"
#include "sim/exec/wide_registers.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;

template <Round kRound>
struct Add {
    template <bool kFlush, bool kSaturate>
    static float f32(float a, float b) {
        a = flush<kFlush>(a);
        b = flush<kFlush>(b);
        float sum;
        if constexpr (kRound == Round::nearest)
            sum = canonical(a + b);
        else
            sum = floatOf(static_cast<std::uint32_t>(addExactly<F32>(bitsOf(a), bitsOf(b), kRound)));
        return saturateUnit<kSaturate>(flush<kFlush>(sum));
    }
    static double f64(double a, double b) {
        if constexpr (kRound == Round::nearest)
            return orNan(a + b, b, a);
        else
            return orNan(doubleOf(addExactly<F64>(bitsOf(a), bitsOf(b), kRound)), b, a);
    }
};

template <Round kRound>
struct Subtract {
    template <bool kFlush, bool kSaturate>
    static float f32(float a, float b) {
        return Add<kRound>::template f32<kFlush, kSaturate>(a, -b);
    }
    static double f64(double a, double b) {
        return Add<kRound>::f64(a, b != b ? b : -b);  // a NaN keeps its sign
    }
};

template <Round kRound>
struct Multiply {
    template <bool kFlush, bool kSaturate>
    static float f32(float a, float b) {
        a = flush<kFlush>(a);
        b = flush<kFlush>(b);
        float product;
        if constexpr (kRound == Round::nearest)
            product = canonical(a * b);
        else
            product = floatOf(static_cast<std::uint32_t>(mulExactly<F32>(bitsOf(a), bitsOf(b), kRound)));
        return saturateUnit<kSaturate>(flush<kFlush>(product));
    }
    static double f64(double a, double b) {
        if constexpr (kRound == Round::nearest)
            return orNan(a * b, b, a);
        else
            return orNan(doubleOf(mulExactly<F64>(bitsOf(a), bitsOf(b), kRound)), b, a);
    }
};

/// kHardware: in a function compiled for a processor with fused multiply-add.
template <Round kRound, bool kHardware = false>
struct Fused {
    template <bool kFlush, bool kSaturate>
    static float f32(float a, float b, float c) {
        a = flush<kFlush>(a);
        b = flush<kFlush>(b);
        c = flush<kFlush>(c);
        float result;
        if constexpr (kRound != Round::nearest)
            result = floatOf(static_cast<std::uint32_t>(fmaExactly<F32>(bitsOf(a), bitsOf(b), bitsOf(c), kRound)));
        else if constexpr (kHardware)
            result = canonical(__builtin_fmaf(a, b, c));
        else
            result = canonical(fusedMultiplyAdd(a, b, c));
        return saturateUnit<kSaturate>(flush<kFlush>(result));
    }
    static double f64(double a, double b, double c) {
        if constexpr (kRound == Round::nearest)
            return orNan(__builtin_fma(a, b, c), b, c, a);
        else
            return orNan(doubleOf(fmaExactly<F64>(bitsOf(a), bitsOf(b), bitsOf(c), kRound)), b, c, a);
    }
};

template <Round kRound>
struct Divide {
    template <bool kFlush>
    static float f32(float a, float b) {
        a = flush<kFlush>(a);
        b = flush<kFlush>(b);
        float quotient;
        if constexpr (kRound == Round::nearest)
            quotient = canonical(a / b);
        else
            quotient = floatOf(static_cast<std::uint32_t>(divExactly<F32>(bitsOf(a), bitsOf(b), kRound)));
        return flush<kFlush>(quotient);
    }
    static double f64(double a, double b) {
        if constexpr (kRound == Round::nearest)
            return orNan(a / b, a, b);
        else
            return orNan(doubleOf(divExactly<F64>(bitsOf(a), bitsOf(b), kRound)), a, b);
    }
};

template <Round kRound>
struct Root {
    template <bool kFlush>
    static float f32(float a) {
        a = flush<kFlush>(a);
        float root;
        if constexpr (kRound == Round::nearest)
            root = canonical(std::sqrt(a));
        else
            root = floatOf(static_cast<std::uint32_t>(sqrtExactly<F32>(bitsOf(a), kRound)));
        return flush<kFlush>(root);
    }
    static double f64(double a) {
        if constexpr (kRound == Round::nearest)
            return orNan(std::sqrt(a), a);
        else
            return orNan(doubleOf(sqrtExactly<F64>(bitsOf(a), kRound)), a);
    }
};

#if defined(__x86_64__) && !defined(__AVX2__)
/// fma on an x86-64 processor that has it, in a program built for those that have not.
template <class Op, class R, class... A>
__attribute__((target("avx2,fma"))) void lanewiseFused(const Instr& instr, Warp& warp, LaneMask mask) {
    applyLanewise<Op, R, A...>(instr, warp, mask, std::index_sequence_for<A...>{});
}
#endif

template <bool kFlush, bool kSaturate, Round kRound>
[[gnu::cold]] void addFused(Forms& forms, const std::string& name) {
    constexpr auto op = [](float a, float b, float c) {
        return Fused<kRound>::template f32<kFlush, kSaturate>(a, b, c);
    };
    Form& form = forms.def<float, float, float, float>(name, OpClass::fp32, op);
#if defined(__x86_64__) && !defined(__AVX2__)
    constexpr auto fast = [](float a, float b, float c) {
        return Fused<kRound, true>::template f32<kFlush, kSaturate>(a, b, c);
    };
    if (kRound == Round::nearest && hasWideRegisters())
        form.run = &lanewiseFused<decltype(fast), float, float, float, float>;
#endif
    (void)form;
}

template <Round kRound>
[[gnu::cold]] void addFused64(Forms& forms, const std::string& name) {
    constexpr auto op = [](double a, double b, double c) { return Fused<kRound>::f64(a, b, c); };
    Form& form = forms.def<double, double, double, double>(name, OpClass::fp64, op);
#if defined(__x86_64__) && !defined(__AVX2__)
    if (kRound == Round::nearest && hasWideRegisters())
        form.run = &lanewiseFused<decltype(op), double, double, double, double>;
#endif
    (void)form;
}

template <Round kRound, bool kFlush, bool kSaturate>
[[gnu::cold]] void addArithmetic32(Forms& forms, const std::string& rounding) {
    const std::string suffix = std::string(kFlush ? ".ftz" : "") + (kSaturate ? ".sat" : "") + ".f32";
    using F = float;
    forms.def<F, F, F>("add" + rounding + suffix, OpClass::fp32,
                       [](F a, F b) { return Add<kRound>::template f32<kFlush, kSaturate>(a, b); });
    forms.def<F, F, F>("sub" + rounding + suffix, OpClass::fp32,
                       [](F a, F b) { return Subtract<kRound>::template f32<kFlush, kSaturate>(a, b); });
    forms.def<F, F, F>("mul" + rounding + suffix, OpClass::fp32,
                       [](F a, F b) { return Multiply<kRound>::template f32<kFlush, kSaturate>(a, b); });
    addFused<kFlush, kSaturate, kRound>(forms, "fma" + rounding + suffix);
    addFused<kFlush, kSaturate, kRound>(forms, "mad" + rounding + suffix);
}

template <Round kRound, bool kFlush>
[[gnu::cold]] void addDivision32(Forms& forms, const std::string& rounding) {
    const std::string suffix = rounding + (kFlush ? ".ftz" : "") + ".f32";
    forms.def<float, float, float>("div" + suffix, OpClass::fp32Div,
                                   [](float a, float b) { return Divide<kRound>::template f32<kFlush>(a, b); });
    forms.def<float, float>("rcp" + suffix, OpClass::fp32Div,
                            [](float a) { return Divide<kRound>::template f32<kFlush>(1.0f, a); });
    forms.def<float, float>("sqrt" + suffix, OpClass::fp32Div,
                            [](float a) { return Root<kRound>::template f32<kFlush>(a); });
}

template <Round kRound>
[[gnu::cold]] void addRounding(Forms& forms, const std::string& rounding) {
    addArithmetic32<kRound, false, false>(forms, rounding);
    addArithmetic32<kRound, false, true>(forms, rounding);
    addArithmetic32<kRound, true, false>(forms, rounding);
    addArithmetic32<kRound, true, true>(forms, rounding);

    using D = double;
    forms.def<D, D, D>("add" + rounding + ".f64", OpClass::fp64, [](D a, D b) { return Add<kRound>::f64(a, b); });
    forms.def<D, D, D>("sub" + rounding + ".f64", OpClass::fp64, [](D a, D b) { return Subtract<kRound>::f64(a, b); });
    forms.def<D, D, D>("mul" + rounding + ".f64", OpClass::fp64, [](D a, D b) { return Multiply<kRound>::f64(a, b); });
    addFused64<kRound>(forms, "fma" + rounding + ".f64");
    addFused64<kRound>(forms, "mad" + rounding + ".f64");
    if (rounding.empty()) return;  // only the operations above have a default rounding

    addDivision32<kRound, false>(forms, rounding);
    addDivision32<kRound, true>(forms, rounding);
    forms.def<D, D, D>("div" + rounding + ".f64", OpClass::fp64Div, [](D a, D b) { return Divide<kRound>::f64(a, b); });
    forms.def<D, D>("rcp" + rounding + ".f64", OpClass::fp64Div, [](D a) { return Divide<kRound>::f64(1.0, a); });
    forms.def<D, D>("sqrt" + rounding + ".f64", OpClass::fp64Div, [](D a) { return Root<kRound>::f64(a); });
}

// Minimum and maximum ----------------------------------------------------------------------------------------------

/// Of numbers that are not NaN, with -0 below +0.
template <bool kMax>
inline float extreme(float a, float b) {
    // Equal numbers differ at most in the sign of zero: either sign bit makes the minimum negative.
    const std::uint32_t equal = kMax ? bitsOf(a) & bitsOf(b) : bitsOf(a) | bitsOf(b);
    const float less = kMax ? b : a, more = kMax ? a : b;
    return a < b ? less : b < a ? more : floatOf(equal);
}
template <bool kMax>
inline double extreme(double a, double b) {
    const std::uint64_t equal = kMax ? bitsOf(a) & bitsOf(b) : bitsOf(a) | bitsOf(b);
    const double less = kMax ? b : a, more = kMax ? a : b;
    return a < b ? less : b < a ? more : doubleOf(equal);
}

/// A NaN gives way to the other operand, unless kNan; both NaN, or either with kNan, give the canonical one.
template <bool kMax, bool kFlush, bool kNan, bool kXorSign>
inline float extreme32(float a, float b) {
    a = flush<kFlush>(a);
    b = flush<kFlush>(b);
    const std::uint32_t sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000;
    if constexpr (kXorSign) {
        a = floatOf(bitsOf(a) & 0x7fffffff);
        b = floatOf(bitsOf(b) & 0x7fffffff);
    }
    float result = extreme<kMax>(a, b);
    if constexpr (kXorSign) result = floatOf(bitsOf(result) | sign);
    const float other = kXorSign ? floatOf(bitsOf(a != a ? b : a) | sign) : (a != a ? b : a);
    result = a != a || b != b ? (kNan ? floatOf(0x7fffffff) : canonical(other)) : result;
    return result;
}

template <bool kMax>
inline double extreme64(double a, double b) {
    // Of two NaNs the second is passed on.
    return a != a ? (b != b ? quiet(b) : b) : b != b ? a : extreme<kMax>(a, b);
}

template <bool kMax, bool kFlush>
[[gnu::cold]] void addExtremes(Forms& forms) {
    const std::string name = std::string(kMax ? "max" : "min") + (kFlush ? ".ftz" : "");
    using F = float;
    forms.def<F, F, F>(name + ".f32", OpClass::fp32,
                       [](F a, F b) { return extreme32<kMax, kFlush, false, false>(a, b); });
    forms.def<F, F, F>(name + ".NaN.f32", OpClass::fp32,
                       [](F a, F b) { return extreme32<kMax, kFlush, true, false>(a, b); });
    forms.def<F, F, F>(name + ".xorsign.abs.f32", OpClass::fp32,
                       [](F a, F b) { return extreme32<kMax, kFlush, false, true>(a, b); });
    forms.def<F, F, F>(name + ".NaN.xorsign.abs.f32", OpClass::fp32,
                       [](F a, F b) { return extreme32<kMax, kFlush, true, true>(a, b); });
}

template <bool kFlush>
[[gnu::cold]] void addSigns(Forms& forms, const std::string& ftz) {
    forms.def<float, float>("abs" + ftz + ".f32", OpClass::fp32,
                            [](float a) { return canonical(floatOf(bitsOf(flush<kFlush>(a)) & 0x7fffffff)); });
    forms.def<float, float>("neg" + ftz + ".f32", OpClass::fp32,
                            [](float a) { return canonical(floatOf(bitsOf(flush<kFlush>(a)) ^ 0x80000000)); });
}

}  // namespace

[[gnu::cold]] void addFloatForms(Forms& forms) {
    addRounding<Round::nearest>(forms, "");
    addRounding<Round::nearest>(forms, ".rn");
    addRounding<Round::zero>(forms, ".rz");
    addRounding<Round::down>(forms, ".rm");
    addRounding<Round::up>(forms, ".rp");
    addExtremes<false, false>(forms);
    addExtremes<false, true>(forms);
    addExtremes<true, false>(forms);
    addExtremes<true, true>(forms);
    addSigns<false>(forms, "");
    addSigns<true>(forms, ".ftz");

    using D = double;
    forms.def<D, D, D>("min.f64", OpClass::fp64, [](D a, D b) { return extreme64<false>(a, b); });
    forms.def<D, D, D>("max.f64", OpClass::fp64, [](D a, D b) { return extreme64<true>(a, b); });
    forms.def<D, D>("abs.f64", OpClass::fp64,
                    [](D a) { return a != a ? quiet(a) : doubleOf(bitsOf(a) & 0x7fffffffffffffff); });
    forms.def<D, D>("neg.f64", OpClass::fp64,
                    [](D a) { return a != a ? quiet(a) : doubleOf(bitsOf(a) ^ 0x8000000000000000); });
    forms.def<float, float, float>("copysign.f32", OpClass::integer, [](float a, float b) {
        return floatOf((bitsOf(b) & 0x7fffffff) | (bitsOf(a) & 0x80000000));
    });
    forms.def<D, D, D>("copysign.f64", OpClass::integer, [](D a, D b) {
        return doubleOf((bitsOf(b) & 0x7fffffffffffffff) | (bitsOf(a) & 0x8000000000000000));
    });
}

}  // namespace bulkhead::sim
