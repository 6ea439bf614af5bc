#include "ptx/parse/parser.h"

#include "ptx/parse/words.h"

namespace bulkhead::ptx {

namespace {

// Fat binaries pad PTX with zero bytes, and C strings end in one.
std::string_view trimmed(std::string_view source) {
    while (source.ends_with('\0')) source.remove_suffix(1);
    return source;
}

}  // namespace

Parser::Parser(std::shared_ptr<const std::string> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), lexer_(trimmed(*source_), name_) {
    module_.name = name_;
    module_.source = source_;
}

Module Parser::run() {
    advance();
    header();
    while (token_.kind != Token::Kind::end) moduleStatement();
    applyAliases();
    checkRelocations();
    return std::move(module_);
}

void Parser::header() {
    if (!token_.isDotWord("version")) failExpected("'.version' at the beginning of a PTX module");
    advance();
    // The lexer reads 7.0 as a real; its digits are what counts.
    std::string_view text = token_.text;
    auto dot = text.find('.');
    if (token_.kind != Token::Kind::real || dot == std::string_view::npos || !allDigits(text.substr(0, dot)) ||
        !allDigits(text.substr(dot + 1)) || text.size() > 6) {
        failExpected("a version such as 7.0");
    }
    module_.versionMajor = std::stoi(std::string(text.substr(0, dot)));
    module_.versionMinor = std::stoi(std::string(text.substr(dot + 1)));
    advance();
    if (!token_.isDotWord("target")) failExpected("'.target' after '.version'");
    advance();
    module_.target = expectWord("a target such as sm_75");
    while (accept(',')) expectWord("a target option");
}

void Parser::moduleStatement() {
    if (token_.is(';')) {
        advance();
        return;
    }
    if (token_.kind != Token::Kind::dotWord) failUnexpected("a directive");
    if (commonDirective()) return;
    std::string_view word = token_.text;
    Position position = token_.position();
    if (word == "version" || word == "target") fail(fmt::format("a second '.{}'", word));
    if (word == "address_size") {
        advance();
        std::uint64_t bits = integerConstant("the address size");
        if (bits != 32 && bits != 64) fail(position, "the address size is 32 or 64");
        module_.addressBits = static_cast<unsigned>(bits);
        return;
    }
    if (word == "section") {
        section();
        return;
    }
    if (word == "alias") {
        alias();
        return;
    }
    Linkage linkage;
    while (token_.kind == Token::Kind::dotWord) {
        word = token_.text;
        if (word == "visible" || word == "weak" || word == "common") {
            linkage.isVisible = true;
            linkage.isWeak = linkage.isWeak || word != "visible";
        } else if (word == "extern") {
            linkage.isExtern = true;
        } else {
            break;
        }
        advance();
    }
    if (token_.kind != Token::Kind::dotWord) failExpected("'.entry', '.func' or a state space");
    word = token_.text;
    if (word == "entry" || word == "func") {
        advance();
        function(word == "entry", linkage);
        return;
    }
    if (isTextureWord(word))
        fail("references to textures and surfaces are not supported: use texture and surface objects");
    auto space = variableSpaceNamed(word);
    if (!space || *space == Space::reg || *space == Space::param) {
        fail(fmt::format("unknown directive '.{}' at module scope", word));
    }
    if (*space == Space::local) fail(".local variables belong inside a function");
    variableStatement(*space, linkage);
}

bool Parser::commonDirective() {
    std::string_view word = token_.text;
    if (word == "loc") {
        advance();
        for (int i = 0; i < 3; ++i) lineNumber();
        while (token_.is(',')) {
            advance();
            std::string_view attribute = expectWord("'function_name' or 'inlined_at'");
            if (attribute == "function_name") {
                expectWord("a label");
                displacement();
            } else if (attribute == "inlined_at") {
                for (int i = 0; i < 3; ++i) lineNumber();
            } else {
                fail("expected 'function_name' or 'inlined_at'");
            }
        }
        return true;
    }
    if (word == "file") {
        advance();
        lineNumber();
        if (token_.kind != Token::Kind::string) failExpected("a file name");
        advance();
        while (accept(',')) lineNumber();
        return true;
    }
    if (word == "pragma") {
        pragma();
        expect(';');
        return true;
    }
    return false;
}

void Parser::lineNumber() {
    if (token_.kind != Token::Kind::integer) failExpected("a number");
    advance();
}

void Parser::pragma() {
    advance();
    do {
        if (token_.kind != Token::Kind::string) failExpected("a string");
        advance();
    } while (accept(','));
}

void Parser::section() {
    Position position = token_.position();
    advance();
    if (token_.kind != Token::Kind::dotWord && !token_.isWord()) failExpected("a section name");
    advance();
    expect('{');
    while (!token_.is('}')) {
        bool isData = token_.kind == Token::Kind::dotWord || token_.kind == Token::Kind::word ||
                      token_.kind == Token::Kind::integer || token_.kind == Token::Kind::real ||
                      token_.kind == Token::Kind::string || token_.is(',') || token_.is('+') || token_.is('-') ||
                      token_.is(':') || token_.is(';') || token_.is('(') || token_.is(')');
        if (token_.kind == Token::Kind::end) fail(position, "section without an end");
        if (!isData) fail(fmt::format("unexpected {} in a section", described(token_)));
        advance();
    }
    advance();
}

void Parser::alias() {
    advance();
    Position position = token_.position();
    std::string_view name = expectWord("a function name");
    expect(',');
    Position targetPosition = token_.position();
    std::string_view target = expectWord("a function name");
    expect(';');
    auto isFunction = [&](std::string_view word) {
        const Symbol* symbol = find(word);
        return symbol && symbol->kind == Symbol::Kind::function && !module_.functions[symbol->index].isKernel;
    };
    if (!isFunction(name)) fail(position, fmt::format("'{}' is not a declared function", name));
    if (!isFunction(target)) fail(targetPosition, fmt::format("'{}' is not a declared function", target));
    if (!module_.functions[find(name)->index].isExtern) {
        fail(position, fmt::format("'{}' has a body and cannot be an alias", name));
    }
    aliases_.emplace_back(name, target);
}

void Parser::applyAliases() {
    if (aliases_.empty()) return;
    std::unordered_map<std::string, std::string> targets;
    for (auto& [name, target] : aliases_) targets[name] = target;
    auto rename = [&](std::string& name) {
        // An alias of an alias is followed, but not round and round.
        for (std::size_t steps = 0; steps < aliases_.size(); ++steps) {
            auto found = targets.find(name);
            if (found == targets.end()) break;
            name = found->second;
        }
    };
    auto renameOperand = [&](auto&& self, Operand& operand) -> void {
        if (operand.kind == Operand::Kind::symbol) rename(operand.name);
        for (Operand& part : operand.parts) self(self, part);
    };
    for (Function& function : module_.functions) {
        for (Instruction& instruction : function.body) {
            for (Operand& operand : instruction.operands) renameOperand(renameOperand, operand);
        }
        for (BranchTargets& table : function.callTargets) {
            for (std::string& target : table.labels) rename(target);
        }
    }
    for (Variable& variable : module_.variables) {
        for (Relocation& relocation : variable.relocations) rename(relocation.symbol);
    }
}

void Parser::checkRelocations() {
    for (auto& [name, position] : relocationUses_) {
        const Symbol* symbol = find(name);
        if (!symbol) fail(position, fmt::format("undefined symbol '{}'", name));
    }
}

Module parse(std::string source, std::string name) {
    return Parser(std::make_shared<const std::string>(std::move(source)), std::move(name)).run();
}

}  // namespace bulkhead::ptx
