#include <cmath>

#include "sim/exec/compute_float.h"

namespace bulkhead::sim {
namespace {

using arch::OpClass;

// The approximate functions, computed in double by plain additions and multiplications, which give the same bits on
// every host (a mathematical library does not), then rounded to the result. That is closer to the true value than
// hardware's tables, and so within the manual's bounds.

constexpr double kLog2E = 1.4426950408889634;
constexpr double kPi = 3.141592653589793;

constexpr double kShift = 0x1.8p52;  // adding it leaves the nearest integer in the low bits

/// ((first * x + second) * x + third) * x + ...
template <class... C>
inline double polynomial(double x, double first, C... rest) {
    double sum = first;
    ((sum = sum * x + rest), ...);
    return sum;
}

/// 2^x, to about 1e-14.
inline double exponential(double x) {
    x = x > 1000 ? 1000 : x;
    x = x < -1000 ? -1000 : x;
    const double shifted = x + kShift;
    const double whole = shifted - kShift;
    const double y = (x - whole) * 0.6931471805599453;  // |y| <= 0.35
    const double sum = polynomial(y, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                  1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
    return sum * doubleOf((bitsOf(shifted) + 1023) << 52);
}

/// log2 of a positive number.
inline double logarithm(double x) {
    const std::uint64_t bits = bitsOf(x);
    // From sqrt(1/2) to sqrt(2), so that the series below converges fast and cancels nothing near 1.
    const std::uint64_t offset = bits - 0x3fe6a09e667f3bcd;
    const std::uint64_t exponent = (offset + (std::uint64_t{2048} << 52)) >> 52;  // 2048 too large, or modulo 4096
    const double mantissa = doubleOf(bits - (exponent << 52) + (std::uint64_t{2048} << 52));
    const double s = (mantissa - 1) / (mantissa + 1), square = s * s;  // |s| <= 0.172
    const double sum =
        polynomial(square, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0);
    // The exponent as a double, by way of a number whose fraction it is.
    const double whole = doubleOf(0x4330000000000000 + exponent) - (0x1p52 + 2048);
    return whole + 2 * kLog2E * s * sum;
}

inline double sineSeries(double x) {
    const double square = x * x;
    const double sum = polynomial(square, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                                  -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0);
    return sum * x;
}
inline double cosineSeries(double x) {
    const double square = x * x;
    const double sum = polynomial(square, 1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800,
                                  1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0);
    return sum;
}

/// sin(x + region * pi / 2).
inline double sine(double x, int region) {
    // Three times, for the largest floats: far out the manual promises nothing but a value from -1 to 1.
    for (int pass = 0; pass < 3; ++pass) x -= ((x * (0.5 / kPi) + kShift) - kShift) * (2 * kPi);
    const double turns = x * (2 / kPi);
    const double shifted = turns + kShift, whole = shifted - kShift;
    const std::uint64_t regions = bitsOf(shifted) + static_cast<std::uint64_t>(region);
    // pi / 2 in two pieces, the first short enough for exact products.
    const double rest = (x - whole * 0x1.921fb544p0) - whole * 0x1.0b4611a626331p-34;
    const double sineValue = sineSeries(rest), cosineValue = cosineSeries(rest);
    const double value = regions & 1 ? cosineValue : sineValue;
    return doubleOf(bitsOf(value) ^ (regions & 2) << 62);
}

inline double hyperbolicTangent(double x) {
    const double magnitude = std::abs(x);
    const double square = x * x;
    // Near zero the quotient below would cancel.
    const double near = magnitude * (1 - square * (1.0 / 3 - square * (2.0 / 15)));
    const double far = 1 - 2 / (exponential(2 * kLog2E * magnitude) + 1);
    const double result = magnitude < 0x1p-6 ? near : far;
    return std::copysign(result, x);
}

inline float exponential32(float a) {
    const auto value = static_cast<float>(exponential(a));
    return a != a ? floatOf(0x7fffffff) : value;
}
inline float logarithm32(float a) {
    const auto inside = static_cast<float>(logarithm(a));
    const float outside = a == 0 ? floatOf(0xff800000) : a > 0 ? a : floatOf(0x7fffffff);
    return a > 0 && a <= 0x1.fffffep127f ? inside : outside;
}
inline float tangent32(float a) {
    const auto value = static_cast<float>(hyperbolicTangent(a));
    return a != a ? floatOf(0x7fffffff) : value;
}

/// a * (1 / b): a divisor beyond 2^126 has a subnormal reciprocal, which the multiplier takes for zero.
inline float approximateDivision(float a, float b) {
    const float magnitude = std::abs(b);
    if (magnitude > 0x1p126f && magnitude <= 0x1.fffffep127f) return canonical(a * std::copysign(0.0f, b));
    return canonical(a / b);
}

template <bool kFlush>
void addSingle(Forms& forms) {
    const std::string suffix = kFlush ? ".approx.ftz.f32" : ".approx.f32";
    const auto unary = [&]<class Op>(const char* name, Op) {
        forms.def<float, float>(name + suffix, OpClass::special,
                                [](float a) { return flush<kFlush>(canonical(Op{}(flush<kFlush>(a)))); });
    };
    unary("rcp", [](float a) { return 1.0f / a; });
    unary("sqrt", [](float a) { return std::sqrt(a); });
    unary("rsqrt", [](float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); });
    unary("ex2", [](float a) { return exponential32(a); });
    unary("lg2", [](float a) { return logarithm32(a); });
    unary("sin", [](float a) { return static_cast<float>(sine(a, 0)); });
    unary("cos", [](float a) { return static_cast<float>(sine(a, 1)); });
    forms.def<float, float, float>("div" + suffix, OpClass::special, [](float a, float b) {
        return flush<kFlush>(approximateDivision(flush<kFlush>(a), flush<kFlush>(b)));
    });
    forms.def<float, float, float>(
        kFlush ? "div.full.ftz.f32" : "div.full.f32", OpClass::special,
        [](float a, float b) { return flush<kFlush>(canonical(flush<kFlush>(a) / flush<kFlush>(b))); });
}

/// The 64-bit approximations look at the upper word of their operand alone, and answer with an upper word.
template <class Op>
inline double upperWord(double a, Op op) {
    double x = doubleOf(bitsOf(a) & 0xffffffff00000000);
    if (x != x) return doubleOf(0x7fffffff00000000);
    if ((bitsOf(x) & 0x7ff0000000000000) == 0) x = std::copysign(0.0, x);
    const double result = op(x);
    if (result != result) return doubleOf(0x7fffffff00000000);
    const std::uint64_t bits = bitsOf(result) & 0xffffffff00000000;
    return doubleOf((bits & 0x7ff0000000000000) == 0 ? bits & 0x8000000000000000 : bits);
}

template <class One, class Pair, class Op>
void addSixteen(Forms& forms, const std::string& name, const std::string& type, Op) {
    const auto both = [](std::uint32_t bits) { return Op{}(One{static_cast<std::uint16_t>(bits)}).bits; };
    using Both = decltype(both);
    forms.def<One, One>(name + "." + type, OpClass::special, [](One a) { return Op{}(a); });
    forms.def<Pair, Pair>(name + "." + type + "x2", OpClass::special,
                          [](Pair a) { return Pair{Both{}(a.bits) | std::uint32_t{Both{}(a.bits >> 16)} << 16}; });
}

}  // namespace

void addApproxForms(Forms& forms) {
    addSingle<false>(forms);
    addSingle<true>(forms);
    forms.def<float, float>("tanh.approx.f32", OpClass::special, [](float a) { return tangent32(a); });
    addSixteen<Half, HalfPair>(forms, "tanh.approx", "f16", [](Half a) { return toHalf(tangent32(toFloat(a))); });
    addSixteen<Brain, BrainPair>(forms, "tanh.approx", "bf16", [](Brain a) { return toBrain(tangent32(toFloat(a))); });
    addSixteen<Half, HalfPair>(forms, "ex2.approx", "f16", [](Half a) { return toHalf(exponential32(toFloat(a))); });
    addSixteen<Half, HalfPair>(forms, "ex2.approx.ftz", "f16", [](Half a) {
        const auto in = static_cast<std::uint16_t>(flushHalf<true>(a.bits));
        return Half{static_cast<std::uint16_t>(flushHalf<true>(toHalf(exponential32(toFloat(Half{in}))).bits))};
    });
    addSixteen<Brain, BrainPair>(forms, "ex2.approx.ftz", "bf16",
                                 [](Brain a) { return toBrain(flush<true>(exponential32(flush<true>(toFloat(a))))); });

    forms.def<double, double>("rcp.approx.ftz.f64", OpClass::special,
                              [](double a) { return upperWord(a, [](double x) { return 1 / x; }); });
    forms.def<double, double>("rsqrt.approx.ftz.f64", OpClass::special,
                              [](double a) { return upperWord(a, [](double x) { return 1 / std::sqrt(x); }); });
    forms.def<double, double>("rsqrt.approx.f64", OpClass::special, [](double a) {
        if (a != a) return doubleOf(bitsOf(a) | 0x8000000000000);
        const double result = 1 / std::sqrt(a);
        return result != result ? doubleOf(0xfff8000000000000) : result;
    });
}

}  // namespace bulkhead::sim
