#include <charconv>

#include "ptx/parse/parser.h"
#include "ptx/parse/words.h"

namespace bulkhead::ptx {

Constant Parser::constantExpression() {
    Nesting nesting(*this);
    return conditional(unary());
}

Constant Parser::conditional(Constant left) {
    Constant condition = binary(1, left);
    if (!token_.is('?')) return condition;
    advance();
    Constant yes = constantExpression();
    expect(':');
    Constant no = constantExpression();
    return condition.isTrue() ? yes : no;
}

Constant Parser::binary(int lowest, Constant left) {
    while (token_.kind == Token::Kind::punctuation) {
        int precedence = precedenceOf(token_.text);
        if (precedence == 0 || precedence < lowest) break;
        Position position = token_.position();
        std::string_view op = token_.text;
        advance();
        Constant right = binary(precedence + 1, unary());
        auto result = applyBinary(op, left, right);
        if (!result) {
            bool isDivision = (op == "/" || op == "%") && !right.isTrue();
            fail(position,
                 isDivision ? std::string("division by zero") : fmt::format("'{}' does not apply to real numbers", op));
        }
        left = *result;
    }
    return left;
}

Constant Parser::unary() {
    Nesting nesting(*this);
    if (token_.kind == Token::Kind::punctuation) {
        Position position = token_.position();
        char op = token_.punctuation;
        if (op == '-' || op == '+' || op == '~' || op == '!') {
            advance();
            auto result = applyUnary(op, unary());
            if (!result) fail(position, fmt::format("'{}' does not apply to a real number", op));
            return *result;
        }
        if (op == '(') {
            advance();
            if (token_.kind == Token::Kind::dotWord) return cast(position);
            Constant value = constantExpression();
            expect(')');
            return value;
        }
    }
    return literal();
}

Constant Parser::cast(Position position) {
    bool isSigned = token_.isDotWord("s64"), isUnsigned = token_.isDotWord("u64");
    if (!isSigned && !isUnsigned) fail("a constant is cast to .s64 or .u64");
    advance();
    expect(')');
    Constant value = unary();
    if (value.isReal()) fail(position, "a real number cannot be cast to an integer");
    return Constant::ofInteger(value.bits, isUnsigned);
}

Constant Parser::literal() {
    Constant value;
    if (token_.kind == Token::Kind::integer) {
        value = Constant::ofInteger(token_.integer, token_.isUnsigned);
    } else if (token_.kind == Token::Kind::real) {
        value.kind = Constant::Kind::real;
        value.type = token_.type;
        value.bits = token_.integer;
        value.real = token_.real;
    } else if (token_.isWord() && token_.text == "WARP_SZ") {
        value = Constant::ofInteger(32, false);
    } else if (isFraction(token_)) {
        double real = 0;
        std::from_chars(token_.start, token_.text.data() + token_.text.size(), real);
        value = Constant::ofReal(real);
    } else {
        failExpected("a constant");
    }
    advance();
    return value;
}

std::uint64_t Parser::integerConstant(std::string_view what) {
    Position position = token_.position();
    Constant value = constantExpression();
    if (value.isReal()) fail(position, fmt::format("{} is an integer", what));
    return value.bits;
}

std::uint64_t Parser::count(std::string_view what, std::uint64_t most) {
    Position position = token_.position();
    Constant value = constantExpression();
    if (value.isReal()) fail(position, fmt::format("{} is an integer", what));
    if ((!value.isUnsigned() && value.bits >> 63) || value.bits > most) {
        fail(position, fmt::format("{} is out of range (0 to {})", what, most));
    }
    return value.bits;
}

std::int64_t Parser::displacement() {
    std::uint64_t sum = 0;
    while (token_.is('+') || token_.is('-')) {
        bool minus = token_.is('-');
        advance();
        Position position = token_.position();
        if (token_.isWord() && token_.text != "WARP_SZ") fail("a displacement is a constant");
        Constant value = binary(10, unary());
        if (value.isReal()) fail(position, "a displacement is an integer");
        sum += minus ? -value.bits : value.bits;
    }
    return static_cast<std::int64_t>(sum);
}

}  // namespace bulkhead::ptx
