#pragma once

#include <cstdint>

/// IEEE arithmetic by the host's own floating-point unit, one operation at a time in the rounding mode asked for.
/// Values are bit patterns, zero-extended. NaN results are the canonical one of the format.
namespace bulkhead::differential {

enum class Rounding : std::uint8_t { nearest, zero, down, up };

enum class FloatType : std::uint8_t { f16, bf16, f32, f64 };

constexpr std::uint64_t canonicalNan(FloatType type) {
    return type == FloatType::f64 ? 0x7ff8000000000000 : type == FloatType::f32 ? 0x7fffffff : 0x7fff;
}
bool isNan(FloatType, std::uint64_t bits);
bool isSubnormal(FloatType, std::uint64_t bits);

/// A subnormal becomes a zero of its sign.
std::uint64_t flushed(FloatType, std::uint64_t bits);
/// To [+0, 1]; NaN becomes +0.
std::uint64_t saturated(FloatType, std::uint64_t bits);

/// Exact: every number of these formats is a double.
double valueOf(FloatType, std::uint64_t bits);
/// Rounds a double once. For f16 and bf16, `odd` says that the double already stands for something inexact, with its
/// last bit set.
std::uint64_t roundedTo(FloatType, double value, Rounding);
std::uint64_t fromInteger(FloatType, bool isSigned, std::uint64_t value, Rounding);

std::uint64_t addFloats(FloatType, std::uint64_t a, std::uint64_t b, Rounding);
std::uint64_t multiplyFloats(FloatType, std::uint64_t a, std::uint64_t b, Rounding);
std::uint64_t fuseFloats(FloatType, std::uint64_t a, std::uint64_t b, std::uint64_t c, Rounding);
std::uint64_t divideFloats(FloatType, std::uint64_t a, std::uint64_t b, Rounding);
std::uint64_t rootOfFloat(FloatType, std::uint64_t a, Rounding);

/// To a whole number, as a float of the same format.
std::uint64_t wholeFloat(FloatType, std::uint64_t a, Rounding);

}  // namespace bulkhead::differential
