#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// A constant expression's value, by the rules of the PTX manual's chapter on constant expressions: integers are
/// 64-bit, signed unless a U suffix, a cast or an operand makes them unsigned; reals are f64, or f32 for a lone 0f.
struct Constant {
    enum class Kind : std::uint8_t { signedInteger, unsignedInteger, real };
    Kind kind = Kind::signedInteger;
    Type type = Type::none;  ///< of a real
    std::uint64_t bits = 0;  ///< the integer, or the real's bit pattern (32 bits for f32, which keeps a NaN's payload)
    double real = 0;

    static Constant ofInteger(std::uint64_t bits, bool isUnsigned);
    static Constant ofReal(double);

    bool isReal() const { return kind == Kind::real; }
    bool isUnsigned() const { return kind == Kind::unsignedInteger; }
    bool isTrue() const { return isReal() ? real != 0 : bits != 0; }
    double asReal() const;
};

/// How tightly a binary operator binds: 1 (||) to 10 (* / %), 0 if the text is not one.
int precedenceOf(std::string_view binaryOperator);

/// Nothing if the operator does not apply: ~ or % of a real, division by zero.
std::optional<Constant> applyUnary(char op, const Constant&);
std::optional<Constant> applyBinary(std::string_view op, const Constant&, const Constant&);

}  // namespace bulkhead::ptx
