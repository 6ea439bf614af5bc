#include "ptx/parse/constant.h"

#include <bit>

namespace bulkhead::ptx {

Constant Constant::ofInteger(std::uint64_t bits, bool isUnsigned) {
    Constant value;
    value.kind = isUnsigned ? Kind::unsignedInteger : Kind::signedInteger;
    value.bits = bits;
    return value;
}

Constant Constant::ofReal(double real) {
    Constant value;
    value.kind = Kind::real;
    value.type = Type::f64;
    value.real = real;
    value.bits = std::bit_cast<std::uint64_t>(real);
    return value;
}

double Constant::asReal() const {
    if (isReal()) return real;
    return isUnsigned() ? static_cast<double>(bits) : static_cast<double>(static_cast<std::int64_t>(bits));
}

int precedenceOf(std::string_view op) {
    if (op.size() == 2) {
        if (op == "||") return 1;
        if (op == "&&") return 2;
        if (op == "==" || op == "!=") return 6;
        if (op == "<=" || op == ">=") return 7;
        return op == "<<" || op == ">>" ? 8 : 0;
    }
    if (op.size() != 1) return 0;
    switch (op[0]) {
        case '|':
            return 3;
        case '^':
            return 4;
        case '&':
            return 5;
        case '<':
        case '>':
            return 7;
        case '+':
        case '-':
            return 9;
        case '*':
        case '/':
        case '%':
            return 10;
        default:
            return 0;
    }
}

std::optional<Constant> applyUnary(char op, const Constant& x) {
    if (op == '!') return Constant::ofInteger(!x.isTrue(), false);
    if (x.isReal()) {
        if (op == '+') return x;
        if (op != '-') return std::nullopt;
        Constant negative = x;
        negative.real = -x.real;
        negative.bits ^= x.type == Type::f32 ? std::uint64_t{1} << 31 : std::uint64_t{1} << 63;
        return negative;
    }
    switch (op) {
        case '+':
            return x;
        case '-':
            return Constant::ofInteger(-x.bits, x.isUnsigned());
        case '~':
            return Constant::ofInteger(~x.bits, x.isUnsigned());
        default:
            return std::nullopt;
    }
}

namespace {

template <class T>
std::optional<bool> compare(std::string_view op, T a, T b) {
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    return std::nullopt;
}

}  // namespace

std::optional<Constant> applyBinary(std::string_view op, const Constant& a, const Constant& b) {
    if (op == "&&") return Constant::ofInteger(a.isTrue() && b.isTrue(), false);
    if (op == "||") return Constant::ofInteger(a.isTrue() || b.isTrue(), false);
    if (a.isReal() || b.isReal()) {
        double x = a.asReal(), y = b.asReal();
        if (auto result = compare(op, x, y)) return Constant::ofInteger(*result, false);
        if (op == "+") return Constant::ofReal(x + y);
        if (op == "-") return Constant::ofReal(x - y);
        if (op == "*") return Constant::ofReal(x * y);
        if (op == "/" && y != 0) return Constant::ofReal(x / y);
        return std::nullopt;
    }
    const bool isUnsigned = a.isUnsigned() || b.isUnsigned();
    const auto x = static_cast<std::int64_t>(a.bits), y = static_cast<std::int64_t>(b.bits);
    // Distances count modulo 64, as ptxas has it.
    const auto distance = b.bits % 64;
    if (op == "<<") return Constant::ofInteger(a.bits << distance, a.isUnsigned());
    if (op == ">>") {
        if (a.isUnsigned()) return Constant::ofInteger(a.bits >> distance, true);
        return Constant::ofInteger(static_cast<std::uint64_t>(x >> distance), false);
    }
    if (auto result = isUnsigned ? compare(op, a.bits, b.bits) : compare(op, x, y)) {
        return Constant::ofInteger(*result, false);
    }
    switch (op[0]) {
        case '+':
            return Constant::ofInteger(a.bits + b.bits, isUnsigned);
        case '-':
            return Constant::ofInteger(a.bits - b.bits, isUnsigned);
        case '*':
            return Constant::ofInteger(a.bits * b.bits, isUnsigned);
        case '&':
            return Constant::ofInteger(a.bits & b.bits, isUnsigned);
        case '|':
            return Constant::ofInteger(a.bits | b.bits, isUnsigned);
        case '^':
            return Constant::ofInteger(a.bits ^ b.bits, isUnsigned);
        case '/':
        case '%': {
            if (b.bits == 0) return std::nullopt;
            bool divide = op[0] == '/';
            if (isUnsigned) return Constant::ofInteger(divide ? a.bits / b.bits : a.bits % b.bits, true);
            // The one signed quotient that overflows: the smallest integer by minus one.
            if (y == -1) return Constant::ofInteger(divide ? -a.bits : 0, false);
            return Constant::ofInteger(static_cast<std::uint64_t>(divide ? x / y : x % y), false);
        }
        default:
            return std::nullopt;
    }
}

}  // namespace bulkhead::ptx
