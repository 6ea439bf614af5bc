#include "ptx/parse/parser.h"
#include "ptx/parse/words.h"

namespace bulkhead::ptx {

void Parser::list(Operand& result) {
    result.kind = Operand::Kind::list;
    result.position = token_.position();
    advance();
    if (accept(')')) return;
    do {
        operand(result.parts.emplace_back());
    } while (accept(','));
    expect(')');
}

void Parser::operandOrPair(Operand& result) {
    operand(result);
    if (!token_.is('|')) return;
    if (result.kind != Operand::Kind::reg && result.kind != Operand::Kind::sink) {
        fail("'|' joins two registers");
    }
    advance();
    Operand first = std::move(result);
    result = Operand{};
    result.kind = Operand::Kind::pair;
    result.position = first.position;
    result.parts.reserve(2);
    result.parts.push_back(std::move(first));
    Operand& second = result.parts.emplace_back();
    operand(second);
    if (second.kind != Operand::Kind::reg && second.kind != Operand::Kind::sink) {
        fail(second.position, "'|' joins two registers");
    }
}

void Parser::operand(Operand& result) {
    result.position = token_.position();
    switch (token_.kind) {
        case Token::Kind::word:
            if (token_.text != "WARP_SZ") {
                named(result);
                return;
            }
            break;
        case Token::Kind::integer:
        case Token::Kind::real:
            break;
        case Token::Kind::dotWord:
            if (!isFraction(token_)) failExpected("an operand");
            break;
        case Token::Kind::punctuation:
            if (token_.is('[')) {
                address(result);
                return;
            }
            if (token_.is('{')) {
                Nesting nesting(*this);
                result.kind = Operand::Kind::vector;
                advance();
                result.parts.reserve(4);
                do {
                    operand(result.parts.emplace_back());
                } while (accept(','));
                expect('}');
                return;
            }
            if (token_.is('!') || token_.is('-')) {
                char op = token_.punctuation;
                advance();
                if (token_.isWord() && token_.text != "WARP_SZ") {
                    Position position = token_.position();
                    named(result);
                    if (result.kind != Operand::Kind::reg) {
                        fail(position, fmt::format("'{}' applies to registers and constants", op));
                    }
                    if (op == '!' && result.type != Type::pred) {
                        fail(position, fmt::format("'!' applies to predicates, and '{}' is .{}", result.name,
                                                   nameOf(result.type)));
                    }
                    result.negated = true;
                    return;
                }
                auto value = applyUnary(op, unary());
                constant(result, conditional(*value));
                return;
            }
            if (token_.is('(') || token_.is('~') || token_.is('+')) break;
            [[fallthrough]];
        default:
            failExpected("an operand");
    }
    constant(result, constantOperand());
}

Constant Parser::constantOperand() {
    if (token_.kind != Token::Kind::punctuation) {
        Constant value = literal();
        if (token_.is(',') || token_.is(';')) return value;
        return conditional(value);
    }
    return constantExpression();
}

void Parser::constant(Operand& result, const Constant& value) {
    result.integer = static_cast<std::int64_t>(value.bits);
    if (value.isReal()) {
        result.kind = Operand::Kind::real;
        result.type = value.type;
        result.real = value.real;
    } else {
        result.kind = Operand::Kind::integer;
    }
}

int Parser::component(std::string_view suffix) const {
    constexpr std::string_view kPositions = "xyzw", kColors = "rgba";
    if (suffix.size() != 1) return -1;
    auto position = kPositions.find(suffix[0]), color = kColors.find(suffix[0]);
    if (position != std::string_view::npos) return static_cast<int>(position);
    return color != std::string_view::npos ? static_cast<int>(color) : -1;
}

void Parser::registerOperand(Operand& result, const Symbol& symbol) {
    const Register& reg = function_.registers[symbol.index];
    result.kind = Operand::Kind::reg;
    result.name = reg.name;
    result.reg = symbol.index;
    result.type = reg.type;
    advance();
    if (token_.kind != Token::Kind::dotWord) return;
    int element = component(token_.text);
    if (element < 0) fail(fmt::format("'.{}' is not a component of a register (.x .y .z .w)", token_.text));
    if (reg.vector == 1) fail(fmt::format("'{}' is not a vector", reg.name));
    if (static_cast<unsigned>(element) >= reg.vector) fail(fmt::format("'{}' has {} components", reg.name, reg.vector));
    result.element = element;
    advance();
}

void Parser::named(Operand& result) {
    std::string_view name = token_.text;
    const Symbol* symbol = find(name);
    if (symbol && symbol->kind == Symbol::Kind::reg) {
        registerOperand(result, *symbol);
        return;
    }
    if (name == "_") {
        result.kind = Operand::Kind::sink;
        advance();
        return;
    }
    using Kind = Symbol::Kind;
    if (symbol && (symbol->kind == Kind::localVariable || symbol->kind == Kind::moduleVariable ||
                   symbol->kind == Kind::function)) {
        result.kind = Operand::Kind::symbol;
        result.name = nameOfSymbol(name, *symbol);
        advance();
        if (token_.is('[')) {
            subscript(result, *symbol);
        } else if (token_.is('+') || token_.is('-')) {
            result.integer = displacement();
        }
        return;
    }
    if (name[0] == '%') {
        specialRegisterOperand(result, name);
        return;
    }
    // A label, a table or a prototype: perhaps of a scope that hides this one, perhaps further on.
    result.kind = Operand::Kind::label;
    result.reg = kUnresolved;
    result.name = name;
    if (unresolved_++ == 0) {
        unresolvedName_ = name;
        unresolvedPosition_ = result.position;
    }
    advance();
}

void Parser::specialRegisterOperand(Operand& result, std::string_view name) {
    auto kind = specialRegister(name.substr(1));
    if (kind == SpecialRegister::no) fail(fmt::format("undefined register '{}'", name));
    result.kind = Operand::Kind::sreg;
    result.name = name.substr(1);
    advance();
    if (token_.kind != Token::Kind::dotWord) return;
    int element = component(token_.text);
    if (kind != SpecialRegister::vector || element < 0) {
        fail(fmt::format("'{}' has no component '.{}'", name, token_.text));
    }
    result.name += '.';
    result.name += "xyzw"[element];
    advance();
}

std::string Parser::nameOfSymbol(std::string_view name, const Symbol& symbol) const {
    if (symbol.kind == Symbol::Kind::localVariable && symbol.index >= 0) {
        return function_.variables[symbol.index].name;
    }
    if (symbol.kind == Symbol::Kind::moduleVariable) return module_.variables[symbol.index].name;
    return std::string(name);
}

void Parser::subscript(Operand& result, const Symbol& symbol) {
    const Variable* variable = nullptr;
    if (symbol.kind == Symbol::Kind::localVariable && symbol.index >= 0) {
        variable = &function_.variables[symbol.index];
    } else if (symbol.kind == Symbol::Kind::moduleVariable) {
        variable = &module_.variables[symbol.index];
    }
    if (!variable || !variable->isArray) fail(fmt::format("'{}' is not an array", result.name));
    std::uint64_t elementBytes = bitsOf(variable->type) / 8 * variable->vector;
    advance();
    std::uint64_t index = integerConstant("a subscript");
    expect(']');
    result.integer = static_cast<std::int64_t>(index * elementBytes);
    if (function_.body.back().opcode != "mov") result.kind = Operand::Kind::address;
}

void Parser::address(Operand& result) {
    Nesting nesting(*this);
    result.kind = Operand::Kind::address;
    advance();
    if (token_.isWord() && token_.text != "WARP_SZ") {
        std::string_view name = token_.text;
        const Symbol* symbol = find(name);
        if (symbol && symbol->kind == Symbol::Kind::reg) {
            Operand base;
            registerOperand(base, *symbol);
            if (base.type == Type::pred) fail(result.position, "a predicate is not an address");
            result.name = std::move(base.name);
            result.baseIsReg = true;
            result.reg = base.reg;
            result.type = base.type;
            result.element = base.element;
        } else if (symbol && (symbol->kind == Symbol::Kind::localVariable ||
                              symbol->kind == Symbol::Kind::moduleVariable || symbol->kind == Symbol::Kind::function)) {
            result.name = nameOfSymbol(name, *symbol);
            advance();
        } else {
            fail(fmt::format("undefined {} '{}'", name[0] == '%' ? "register" : "symbol", name));
        }
        if (token_.is('+') || token_.is('-')) result.integer = displacement();
    } else {
        result.integer = static_cast<std::int64_t>(integerConstant("an address"));
    }
    while (accept(',')) operand(result.parts.emplace_back());
    expect(']');
}

}  // namespace bulkhead::ptx
