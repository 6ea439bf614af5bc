#include "ptx/parse/parser.h"
#include "ptx/parse/words.h"

namespace bulkhead::ptx {

namespace {

constexpr std::uint64_t kMostRegisters = 1'000'000;  // per function

}  // namespace

std::vector<Variable> Parser::parameters() {
    std::vector<Variable> result;
    expect('(');
    if (accept(')')) return result;
    do {
        if (token_.kind != Token::Kind::dotWord) failExpected("'.param' or '.reg'");
        if (token_.text != "param" && token_.text != "reg") failExpected("'.param' or '.reg'");
        Space space = token_.text == "param" ? Space::param : Space::reg;
        advance();
        Declarator type = declarator(space);
        Position position = token_.position();
        std::string_view name = expectWord("a parameter's name");
        result.push_back(variable(type, name, extents(), position));
    } while (accept(','));
    expect(')');
    return result;
}

void Parser::triple(unsigned (&values)[3], std::string_view what) {
    advance();
    values[0] = static_cast<unsigned>(count(what, 0xffffffffu));
    values[1] = values[2] = 1;
    for (int i = 1; i < 3 && accept(','); ++i) values[i] = static_cast<unsigned>(count(what, 0xffffffffu));
}

void Parser::performanceDirectives(Function& target) {
    while (token_.kind == Token::Kind::dotWord) {
        std::string_view word = token_.text;
        Position position = token_.position();
        auto one = [&] {
            advance();
            return static_cast<unsigned>(count(fmt::format(".{}", word), 0xffffffffu));
        };
        if (word == "maxntid") {
            triple(target.maxThreads, ".maxntid");
        } else if (word == "reqntid") {
            triple(target.requiredThreads, ".reqntid");
        } else if (word == "minnctapersm") {
            target.minBlocksPerSm = one();
        } else if (word == "maxnreg") {
            target.maxRegisters = one();
        } else if (word == "maxclusterrank") {
            target.maxClusterRank = one();
        } else if (word == "maxnctapersm" || word == "abi_preserve" || word == "abi_preserve_control") {
            one();
        } else if (word == "noreturn") {
            target.noReturn = true;
            advance();
        } else if (word == "unique") {
            advance();
        } else if (word == "attribute") {
            attribute();
        } else if (word == "pragma") {
            pragma();
            accept(';');
        } else if (word == "reqnctapercluster") {
            triple(target.requiredCluster, ".reqnctapercluster");
            for (const unsigned extent : target.requiredCluster)
                if (extent == 0) fail(position, ".reqnctapercluster needs numbers above 0");
        } else if (word == "explicitcluster") {
            target.explicitCluster = true;
            advance();
        } else if (word == "blocksareclusters") {
            fail("a grid that is given in clusters (.blocksareclusters) is not supported");
        } else {
            fail(fmt::format("unknown directive '.{}' of a function", word));
        }
    }
}

void Parser::function(bool isKernel, Linkage linkage) {
    if (token_.isDotWord("attribute")) attribute();
    function_ = Function{};
    ++functionNumber_;
    labelNames_.clear();
    function_.isKernel = isKernel;
    function_.isVisible = linkage.isVisible;
    function_.isWeak = linkage.isWeak;
    if (!isKernel && token_.is('(')) function_.results = parameters();
    function_.position = token_.position();
    Position position = token_.position();
    std::string_view name = expectWord("a function's name");
    function_.name = name;
    if (token_.is('(')) function_.params = parameters();
    performanceDirectives(function_);

    const Symbol* known = find(name);
    int index;
    if (known) {
        if (known->kind != Symbol::Kind::function) {
            fail(position, fmt::format("'{}' is already declared in this scope", name));
        }
        index = known->index;
        const Function& earlier = module_.functions[index];
        if (earlier.isKernel != isKernel || earlier.params.size() != function_.params.size() ||
            earlier.results.size() != function_.results.size()) {
            fail(position, fmt::format("'{}' was declared differently before", name));
        }
        function_.isVisible |= earlier.isVisible;
        function_.isWeak |= earlier.isWeak;
        function_.noReturn |= earlier.noReturn;
    } else {
        index = static_cast<int>(module_.functions.size());
        declare(name, Symbol::Kind::function, index, position);
        module_.functions.emplace_back();
    }
    if (accept(';')) {
        function_.isExtern = true;
        if (!known) module_.functions[index] = std::move(function_);
        return;
    }
    if (!token_.is('{')) failExpected("'{' or ';'");
    if (linkage.isExtern) fail("an .extern function has no body");
    if (known && !module_.functions[index].isExtern) {
        fail(position, fmt::format("'{}' is already defined", name));
    }
    // The signature is needed by calls of the function to itself.
    Function& placeholder = module_.functions[index];
    placeholder.name = function_.name;
    placeholder.isKernel = isKernel;
    placeholder.results = function_.results;
    placeholder.params = function_.params;

    Scope scope = openScope();
    fixups_.clear();
    scope.fixups = 0;
    declareFormals(function_.results);
    declareFormals(function_.params);
    int opening = token_.line;
    advance();
    statements(opening);
    closeScope(scope);
    module_.functions[index] = std::move(function_);
}

void Parser::declareFormals(const std::vector<Variable>& formals) {
    for (const Variable& formal : formals) {
        if (formal.name == "_") continue;
        std::string_view name = generatedNames_.emplace_back(formal.name);
        if (formal.space == Space::reg) {
            declareRegister(name, formal.type, formal.vector, formal.position);
        } else {
            // Negative: formals are found by name, not by index.
            declare(name, Symbol::Kind::localVariable, -1, formal.position);
        }
    }
}

void Parser::declareRegister(std::string_view name, Type type, unsigned vector, Position position) {
    if (function_.registers.size() >= kMostRegisters) {
        fail(position, fmt::format("more than {} registers", kMostRegisters));
    }
    int index = static_cast<int>(function_.registers.size());
    function_.registers.push_back({declare(name, Symbol::Kind::reg, index, position), type, vector});
}

void Parser::registers() {
    advance();
    Declarator type = declarator(Space::reg);
    do {
        Position position = token_.position();
        std::string_view name = expectWord("a register's name");
        if (name == "_") fail(position, "a register needs a name");
        if (token_.is('<')) {
            advance();
            if (token_.kind != Token::Kind::integer && !token_.is('(')) failExpected("a number of registers");
            Constant number = unary();
            if (number.isReal() || number.bits > kMostRegisters) {
                fail(position, fmt::format("more than {} registers", kMostRegisters));
            }
            expect('>');
            function_.registers.reserve(function_.registers.size() + number.bits);
            for (std::uint64_t i = 0; i < number.bits; ++i) {
                declareRegister(generatedNames_.emplace_back(fmt::format("{}{}", name, i)), type.type, type.vector,
                                position);
            }
        } else {
            declareRegister(name, type.type, type.vector, position);
        }
    } while (accept(','));
    expect(';');
}

void Parser::statements(int openingLine) {
    Nesting nesting(*this);
    while (!token_.is('}')) {
        switch (token_.kind) {
            case Token::Kind::word:
                instructionOrLabel();
                break;
            case Token::Kind::dotWord:
                bodyDirective();
                break;
            case Token::Kind::end:
                fail(fmt::format("the file ends inside the '{{' of line {}", openingLine));
            case Token::Kind::punctuation:
                if (token_.is('{')) {
                    int line = token_.line;
                    Scope scope = openScope();
                    advance();
                    statements(line);
                    closeScope(scope);
                    break;
                }
                if (token_.is('@')) {
                    guardedInstruction();
                    break;
                }
                if (accept(';')) break;
                [[fallthrough]];
            default:
                failExpected("an instruction, a label or a directive");
        }
    }
    advance();
}

void Parser::bodyDirective() {
    if (commonDirective()) return;
    std::string_view word = token_.text;
    if (word == "reg") {
        registers();
        return;
    }
    if (word == "section") {
        section();
        return;
    }
    if (isTextureWord(word))
        fail("references to textures and surfaces are not supported: use texture and surface objects");
    Linkage linkage;
    if (acceptDotWord("extern")) linkage.isExtern = true;
    if (token_.kind == Token::Kind::dotWord) {
        if (auto space = variableSpaceNamed(token_.text); space && *space != Space::reg) {
            variableStatement(*space, linkage);
            return;
        }
    }
    if (word == "branchtargets" || word == "calltargets" || word == "callprototype") {
        fail(fmt::format("'.{}' needs a label before it", word));
    }
    fail(fmt::format("unknown directive '.{}' in a function", word));
}

void Parser::instructionOrLabel() {
    Token first = token_;
    advance();
    if (!token_.is(':')) {
        instruction(first, first.start, -1, false);
        return;
    }
    advance();
    Position position = first.position();
    if (first.text == "_") fail(position, "a label needs a name");
    if (token_.isDotWord("branchtargets")) {
        branchTargets(first.text, position);
    } else if (token_.isDotWord("calltargets")) {
        callTargets(first.text, position);
    } else if (token_.isDotWord("callprototype")) {
        prototype(first.text, position);
    } else {
        int index = static_cast<int>(labelNames_.size());
        labelNames_.push_back(declare(first.text, Symbol::Kind::label, index, position));
        function_.labels.emplace(labelNames_.back(), static_cast<int>(function_.body.size()));
    }
}

void Parser::branchTargets(std::string_view name, Position position) {
    int index = static_cast<int>(function_.branchTargets.size());
    function_.branchTargets.push_back({declare(name, Symbol::Kind::branchTargets, index, position), {}});
    advance();
    do {
        Position labelPosition = token_.position();
        std::string_view label = expectWord("a label");
        auto& labels = function_.branchTargets[index].labels;
        fixups_.push_back({nullptr, index, static_cast<int>(labels.size()), label, Fixup::Want::label, labelPosition});
        labels.emplace_back(label);
        if (token_.is('<')) fail("ranges of labels are not supported");
    } while (accept(','));
    expect(';');
}

void Parser::callTargets(std::string_view name, Position position) {
    int index = static_cast<int>(function_.callTargets.size());
    function_.callTargets.push_back({declare(name, Symbol::Kind::callTargets, index, position), {}});
    advance();
    do {
        Position targetPosition = token_.position();
        std::string_view target = expectWord("a function's name");
        const Symbol* symbol = find(target);
        if (!symbol || symbol->kind != Symbol::Kind::function) {
            fail(targetPosition, fmt::format("'{}' is not a declared function", target));
        }
        function_.callTargets[index].labels.emplace_back(target);
    } while (accept(','));
    expect(';');
}

void Parser::prototype(std::string_view name, Position position) {
    int index = static_cast<int>(function_.prototypes.size());
    Prototype result;
    result.name = declare(name, Symbol::Kind::prototype, index, position);
    advance();
    if (token_.is('(')) result.results = parameters();
    expectWord("'_'");
    if (token_.is('(')) result.params = parameters();
    Function attributes;
    performanceDirectives(attributes);
    result.noReturn = attributes.noReturn;
    expect(';');
    function_.prototypes.push_back(std::move(result));
}

}  // namespace bulkhead::ptx
