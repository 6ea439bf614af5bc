#include "ptx/parse/parser.h"

namespace bulkhead::ptx {

void Parser::guardedInstruction() {
    const char* begin = token_.start;
    advance();
    bool negated = accept('!');
    Position position = token_.position();
    std::string_view name = expectWord("a predicate register");
    const Symbol* symbol = find(name);
    if (!symbol || symbol->kind != Symbol::Kind::reg) {
        fail(position, fmt::format("undefined predicate '{}'", name));
    }
    int guard = symbol->index;
    if (function_.registers[guard].type != Type::pred) {
        fail(position,
             fmt::format("the guard '{}' is .{}, not a predicate", name, nameOf(function_.registers[guard].type)));
    }
    if (!token_.isWord()) failExpected("an instruction after its guard");
    Token first = token_;
    advance();
    if (token_.is(':')) fail("a label cannot have a guard");
    instruction(first, begin, guard, negated);
}

void Parser::instruction(const Token& first, const char* begin, int guard, bool guardNegated) {
    // A register or variable at the start of a statement is a mistake worth its own words.
    if (first.text[0] == '%' || first.text[0] == '$' || first.text == "_") {
        fail(first.position(), fmt::format("expected an instruction, found '{}'", first.text));
    }
    Instruction& result = function_.body.emplace_back();
    result.guard = guard;
    result.guardNegated = guardNegated;
    result.opcode = first.text;
    result.position = begin == first.start ? first.position() : positionOf(begin, first);
    result.modifiers.reserve(4);
    while (token_.kind == Token::Kind::dotWord) {
        result.modifiers.emplace_back(token_.text);
        advance();
    }
    unresolved_ = 0;
    const bool isCall = result.opcode == "call";
    if (!token_.is(';')) {
        result.operands.reserve(4);
        do {
            Operand& operand = result.operands.emplace_back();
            if (isCall && token_.is('(')) {
                list(operand);
            } else {
                operandOrPair(operand);
            }
        } while (accept(','));
        if (!token_.is(';')) failExpected("',' or ';'");
    }
    result.text = {begin, static_cast<std::size_t>(token_.start + 1 - begin)};
    advance();
    checkControl(result, isCall);
}

Position Parser::positionOf(const char* begin, const Token& first) const {
    Position position{first.line, 0};
    const char* lineStart = first.lineStart;
    while (begin < lineStart) {
        --position.line;
        --lineStart;
        while (lineStart != source_->data() && lineStart[-1] != '\n') --lineStart;
    }
    position.column = static_cast<int>(begin - lineStart) + 1;
    return position;
}

void Parser::checkControl(Instruction& result, bool isCall) {
    auto defer = [&](Operand& operand, Fixup::Want want) {
        fixups_.push_back({&operand, -1, -1, operand.name, want, operand.position});
    };
    auto& operands = result.operands;
    const bool isBranch = result.opcode == "bra", isIndexed = result.opcode == "brx";
    if (isBranch || isIndexed) {
        std::size_t wanted = isBranch ? 1 : 2;
        if (operands.size() != wanted) {
            fail(result.position,
                 fmt::format("{} takes {}", result.opcode, isBranch ? "one label" : "an index and a table of labels"));
        }
        if (!isUnresolved(operands.back())) fail(operands.back().position, "not a label");
        if (isIndexed && operands[0].kind != Operand::Kind::reg) fail(operands[0].position, "not a register");
    }
    if (isCall) checkCall(result);
    if (unresolved_ == 0) return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        Operand& operand = operands[i];
        if (isUnresolved(operand)) {
            bool isTable = isCall && i > 0;
            defer(operand, isBranch    ? Fixup::Want::label
                           : isIndexed ? Fixup::Want::branchTargets
                           : isTable   ? Fixup::Want::callee
                                       : Fixup::Want::any);
            --unresolved_;
        }
    }
    // Inside vectors, lists and pairs no label makes sense.
    if (unresolved_ > 0) fail(unresolvedPosition_, fmt::format("undefined name '{}'", unresolvedName_));
}

void Parser::checkCall(Instruction& call) {
    auto& operands = call.operands;
    std::size_t at = !operands.empty() && operands[0].kind == Operand::Kind::list ? 1 : 0;
    // With a single list and nothing before it the list is the results', and the callee must follow.
    if (operands.size() <= at) fail(call.position, "call without a function");
    const Operand& callee = operands[at];
    const Operand* arguments =
        operands.size() > at + 1 && operands[at + 1].kind == Operand::Kind::list ? &operands[at + 1] : nullptr;
    std::size_t after = at + (arguments ? 2 : 1);
    if (isUnresolved(callee)) {
        fail(callee.position, fmt::format("call of undeclared function '{}'", callee.name));
    }
    std::size_t resultCount = at ? operands[0].parts.size() : 0;
    std::size_t argumentCount = arguments ? arguments->parts.size() : 0;
    if (callee.kind == Operand::Kind::symbol) {
        const Symbol* symbol = find(callee.name);
        if (!symbol || symbol->kind != Symbol::Kind::function || callee.integer != 0) {
            fail(callee.position, fmt::format("'{}' is not a function", callee.name));
        }
        if (operands.size() != after) fail(operands[after].position, "a direct call ends with its arguments");
        const Function& target = module_.functions[symbol->index];
        if (target.isKernel) fail(callee.position, fmt::format("'{}' is a kernel", callee.name));
        if (target.params.size() != argumentCount || target.results.size() != resultCount) {
            fail(callee.position,
                 fmt::format("'{}' takes {} arguments and gives {} results, not {} and {}", callee.name,
                             target.params.size(), target.results.size(), argumentCount, resultCount));
        }
    } else if (callee.kind == Operand::Kind::reg) {
        if (operands.size() != after + 1) {
            fail(call.position, "an indirect call names its .callprototype or .calltargets last");
        }
        if (!isUnresolved(operands[after])) fail(operands[after].position, "not a .callprototype or .calltargets");
    } else {
        fail(callee.position, "call needs a function or a register");
    }
}

}  // namespace bulkhead::ptx
