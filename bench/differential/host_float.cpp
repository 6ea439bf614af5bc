#include "host_float.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace bulkhead::differential {
namespace {

struct Format {
    int bits, fraction, leastExponent, greatestExponent;
};
constexpr Format formatOf(FloatType type) {
    switch (type) {
        case FloatType::f16:
            return {16, 10, -14, 15};
        case FloatType::bf16:
            return {16, 7, -126, 127};
        case FloatType::f32:
            return {32, 23, -126, 127};
        default:
            return {64, 52, -1022, 1023};
    }
}
constexpr std::uint64_t infinityOf(FloatType type) {
    const Format f = formatOf(type);
    return ((std::uint64_t{1} << (f.bits - 1 - f.fraction)) - 1) << f.fraction;
}
constexpr std::uint64_t signOf(FloatType type) {
    return std::uint64_t{1} << (formatOf(type).bits - 1);
}

/// The host rounds this way while it lives.
class Mode {
  public:
    explicit Mode(Rounding rounding) : before_(std::fegetround()) {
        constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        std::fesetround(kModes[static_cast<int>(rounding)]);
    }
    Mode(const Mode&) = delete;
    Mode& operator=(const Mode&) = delete;
    ~Mode() { std::fesetround(before_); }

  private:
    int before_;
};

/// Operands and results go through volatile variables: compilers take the rounding mode for granted, and must neither
/// compute beforehand nor move the operation out of the mode's scope.
template <class F, class Operation>
F inMode(Rounding rounding, Operation operation, F a, F b = {}, F c = {}) {
    volatile F x = a, y = b, z = c;
    volatile F result;
    const Mode mode(rounding);
    result = operation(x, y, z);
    return result;
}

/// The same towards zero, with the last bit set where that lost anything: rounding this once more to a format with at
/// least two bits less gives what rounding the exact result would.
template <class Operation>
double toOdd(Operation operation, double a, double b = 0) {
    std::feclearexcept(FE_INEXACT);
    const double result = inMode<double>(Rounding::zero, operation, a, b);
    const auto bits = std::bit_cast<std::uint64_t>(result);
    return std::fetestexcept(FE_INEXACT) ? std::bit_cast<double>(bits | 1) : result;
}

std::uint64_t patternOf(float value) {
    return std::isnan(value) ? canonicalNan(FloatType::f32) : std::bit_cast<std::uint32_t>(value);
}
std::uint64_t patternOf(double value) {
    return std::isnan(value) ? canonicalNan(FloatType::f64) : std::bit_cast<std::uint64_t>(value);
}
float f32Of(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
double f64Of(std::uint64_t bits) {
    return std::bit_cast<double>(bits);
}

/// An operation of up to three operands: f32 and f64 by the host itself, 16-bit formats by `exactly`.
template <class Operation, class Exactly>
std::uint64_t compute(FloatType type, Rounding rounding, Operation operation, Exactly exactly, std::uint64_t a,
                      std::uint64_t b = 0, std::uint64_t c = 0) {
    if (type == FloatType::f32) return patternOf(inMode<float>(rounding, operation, f32Of(a), f32Of(b), f32Of(c)));
    if (type == FloatType::f64) return patternOf(inMode<double>(rounding, operation, f64Of(a), f64Of(b), f64Of(c)));
    return roundedTo(type, exactly(valueOf(type, a), valueOf(type, b), valueOf(type, c)), rounding);
}

}  // namespace

bool isNan(FloatType type, std::uint64_t bits) {
    return (bits & (signOf(type) - 1)) > infinityOf(type);
}

bool isSubnormal(FloatType type, std::uint64_t bits) {
    const std::uint64_t magnitude = bits & (signOf(type) - 1);
    return magnitude != 0 && magnitude < std::uint64_t{1} << formatOf(type).fraction;
}

std::uint64_t flushed(FloatType type, std::uint64_t bits) {
    return isSubnormal(type, bits) ? bits & signOf(type) : bits;
}

std::uint64_t saturated(FloatType type, std::uint64_t bits) {
    const double value = valueOf(type, bits);
    if (!(value > 0)) return 0;
    return value < 1 ? bits : roundedTo(type, 1, Rounding::nearest);
}

double valueOf(FloatType type, std::uint64_t bits) {
    if (type == FloatType::f64) return f64Of(bits);
    if (isNan(type, bits)) return std::bit_cast<double>(canonicalNan(FloatType::f64));
    const Format f = formatOf(type);
    const std::uint64_t magnitude = bits & (signOf(type) - 1),
                        fraction = magnitude & ((std::uint64_t{1} << f.fraction) - 1);
    const int biased = static_cast<int>(magnitude >> f.fraction);
    double value;
    if (magnitude == infinityOf(type)) {
        value = HUGE_VAL;
    } else if (biased == 0) {
        value = std::ldexp(static_cast<double>(fraction), f.leastExponent - f.fraction);
    } else {
        const std::uint64_t significand = fraction | std::uint64_t{1} << f.fraction;
        value = std::ldexp(static_cast<double>(significand), biased - 1 + f.leastExponent - f.fraction);
    }
    return bits & signOf(type) ? -value : value;
}

std::uint64_t roundedTo(FloatType type, double value, Rounding rounding) {
    if (std::isnan(value)) return canonicalNan(type);
    if (type == FloatType::f64) return std::bit_cast<std::uint64_t>(value);
    const Format f = formatOf(type);
    const std::uint64_t sign = std::signbit(value) ? signOf(type) : 0;
    const double magnitude = std::abs(value);
    if (std::isinf(magnitude)) return sign | infinityOf(type);
    if (magnitude == 0) return sign;
    // In units of the last place that a number of this size has.
    const int exponent = std::max(std::ilogb(magnitude), f.leastExponent);
    const double units = std::ldexp(value, f.fraction - exponent);
    const double whole = std::abs(inMode<double>(
        rounding, [](double x, double, double) { return std::nearbyint(x); }, units));
    // What rounds up to the next power of two has its exponent.
    const std::uint64_t pattern =
        (static_cast<std::uint64_t>(exponent - f.leastExponent) << f.fraction) + static_cast<std::uint64_t>(whole);
    if (exponent <= f.greatestExponent && pattern < infinityOf(type)) return sign | pattern;
    const bool outward = rounding == Rounding::nearest || rounding == (sign ? Rounding::down : Rounding::up);
    return sign | (outward ? infinityOf(type) : infinityOf(type) - 1);
}

std::uint64_t fromInteger(FloatType type, bool isSigned, std::uint64_t value, Rounding rounding) {
    // Both halves are exact as doubles; their sum is rounded once.
    const double high = isSigned ? static_cast<double>(static_cast<std::int32_t>(value >> 32))
                                 : static_cast<double>(static_cast<std::uint32_t>(value >> 32));
    const double upper = high * 0x1p32, lower = static_cast<double>(static_cast<std::uint32_t>(value));
    const auto sum = [](double x, double y, double) { return x + y; };
    if (type == FloatType::f64) {
        const double result = inMode<double>(rounding, sum, upper, lower);
        return std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : result);  // rounding down makes -0 of 0 + 0 opposite
    }
    return roundedTo(type, toOdd(sum, upper, lower), rounding);
}

std::uint64_t addFloats(FloatType type, std::uint64_t a, std::uint64_t b, Rounding rounding) {
    const auto sum = [](auto x, auto y, auto) { return x + y; };
    return compute(
        type, rounding, sum, [&](double x, double y, double) { return toOdd(sum, x, y); }, a, b);
}

std::uint64_t multiplyFloats(FloatType type, std::uint64_t a, std::uint64_t b, Rounding rounding) {
    const auto product = [](auto x, auto y, auto) { return x * y; };
    return compute(
        type, rounding, product, [&](double x, double y, double) { return x * y; }, a, b);
}

std::uint64_t fuseFloats(FloatType type, std::uint64_t a, std::uint64_t b, std::uint64_t c, Rounding rounding) {
    const auto fused = [](auto x, auto y, auto z) { return std::fma(x, y, z); };
    const auto exactly = [](double x, double y, double z) {
        return toOdd([](double product, double addend, double) { return product + addend; }, x * y, z);
    };
    return compute(type, rounding, fused, exactly, a, b, c);
}

std::uint64_t divideFloats(FloatType type, std::uint64_t a, std::uint64_t b, Rounding rounding) {
    const auto quotient = [](auto x, auto y, auto) { return x / y; };
    return compute(
        type, rounding, quotient, [&](double x, double y, double) { return toOdd(quotient, x, y); }, a, b);
}

std::uint64_t rootOfFloat(FloatType type, std::uint64_t a, Rounding rounding) {
    const auto root = [](auto x, auto, auto) { return std::sqrt(x); };
    return compute(
        type, rounding, root, [&](double x, double, double) { return toOdd(root, x); }, a);
}

std::uint64_t wholeFloat(FloatType type, std::uint64_t a, Rounding rounding) {
    if (isNan(type, a)) return canonicalNan(type);
    const auto whole = [](double x, double, double) { return std::nearbyint(x); };
    return roundedTo(type, inMode<double>(rounding, whole, valueOf(type, a)), rounding);
}

}  // namespace bulkhead::differential
