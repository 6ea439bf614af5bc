#include <algorithm>
#include <bit>
#include <charconv>
#include <deque>
#include <optional>

#include "ptx/constant.h"
#include "ptx/lexer.h"
#include "ptx/module.h"

namespace bulkhead::ptx {

namespace {

constexpr int kDeepest = 200;                        // of scopes, expressions and braces
constexpr std::uint64_t kMostRegisters = 1'000'000;  // per function
constexpr std::uint64_t kLargestVariable = std::uint64_t{1} << 40;
constexpr std::uint64_t kLargestInitialised = std::uint64_t{1} << 28;

std::optional<Type> typeNamed(std::string_view name) {
    if (name.size() < 2 || name.size() > 6) return std::nullopt;
    for (auto type = static_cast<int>(Type::pred); type <= static_cast<int>(Type::f64); ++type) {
        if (nameOf(static_cast<Type>(type)) == name) return static_cast<Type>(type);
    }
    return std::nullopt;
}

std::optional<Space> variableSpaceNamed(std::string_view name) {
    if (name == "global") return Space::global;
    if (name == "const") return Space::constant;
    if (name == "shared" || name == "shared::cta") return Space::shared;
    if (name == "local") return Space::local;
    if (name == "param") return Space::param;
    if (name == "reg") return Space::reg;
    return std::nullopt;
}

bool isTextureWord(std::string_view name) {
    return name == "tex" || name == "surf" || name == "sampler" || name == "texref" || name == "surfref" ||
           name == "samplerref";
}

bool allDigits(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A real such as .5, which the lexer takes for a modifier.
bool isFraction(const Token& token) {
    return token.kind == Token::Kind::dotWord && allDigits(token.text);
}

/// Special registers: `name` without '%'. Those that are vectors may be followed by .x, .y, .z or .w.
enum class SpecialRegister { no, scalar, vector };
SpecialRegister specialRegister(std::string_view name) {
    constexpr std::string_view kVectors[] = {"tid",       "ntid",       "ctaid",         "nctaid",
                                             "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"};
    constexpr std::string_view kScalars[] = {"laneid",
                                             "warpid",
                                             "nwarpid",
                                             "smid",
                                             "nsmid",
                                             "gridid",
                                             "lanemask_eq",
                                             "lanemask_le",
                                             "lanemask_lt",
                                             "lanemask_ge",
                                             "lanemask_gt",
                                             "clock",
                                             "clock_hi",
                                             "clock64",
                                             "globaltimer",
                                             "globaltimer_lo",
                                             "globaltimer_hi",
                                             "total_smem_size",
                                             "aggr_smem_size",
                                             "dynamic_smem_size",
                                             "is_explicit_cluster",
                                             "cluster_ctarank",
                                             "cluster_nctarank",
                                             "current_graph_exec",
                                             "reserved_smem_offset_begin",
                                             "reserved_smem_offset_end",
                                             "reserved_smem_offset_cap"};
    for (auto vector : kVectors) {
        if (name == vector) return SpecialRegister::vector;
    }
    for (auto scalar : kScalars) {
        if (name == scalar) return SpecialRegister::scalar;
    }
    auto numbered = [&](std::string_view prefix, int count, std::string_view suffix = {}) {
        if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
        if (name.size() <= prefix.size() + suffix.size()) return false;
        auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
        return allDigits(digits) && digits.size() <= 2 && std::stoi(std::string(digits)) < count;
    };
    bool known =
        numbered("envreg", 32) || numbered("pm", 8) || numbered("pm", 8, "_64") || numbered("reserved_smem_offset_", 2);
    return known ? SpecialRegister::scalar : SpecialRegister::no;
}

struct Symbol {
    enum class Kind : std::uint8_t {
        none,
        reg,
        localVariable,
        moduleVariable,
        function,
        label,
        branchTargets,
        callTargets,
        prototype,
    };
    Kind kind = Kind::none;
    int index = -1;  ///< into the vector that holds what it names; for a label, into labelNames_
    int depth = 0;   ///< of the scope that declares it, 0 = module
};

class Parser {
  public:
    Parser(std::shared_ptr<const std::string> source, std::string name)
        : source_(std::move(source)), name_(std::move(name)), lexer_(trimmed(*source_), name_) {
        module_.name = name_;
        module_.source = source_;
    }

    Module run() {
        advance();
        header();
        while (token_.kind != Token::Kind::end) moduleStatement();
        applyAliases();
        checkRelocations();
        return std::move(module_);
    }

  private:
    // Fat binaries pad PTX with zero bytes, and C strings end in one.
    static std::string_view trimmed(std::string_view source) {
        while (source.ends_with('\0')) source.remove_suffix(1);
        return source;
    }

    // ---------------------------------------------------------------- tokens

    void advance() {
        previousEnd_ = token_.text.data() ? token_.text.data() + token_.text.size() : nullptr;
        previousLine_ = token_.line;
        previousLineStart_ = token_.lineStart;
        lexer_.next(token_);
    }

    [[noreturn]] void fail(Position position, std::string_view message) const { lexer_.fail(position, message); }
    [[noreturn]] void fail(std::string_view message) const { lexer_.fail(token_.position(), message); }

    std::string described(const Token& token) const {
        switch (token.kind) {
            case Token::Kind::end:
                return "the end of the file";
            case Token::Kind::dotWord:
                return fmt::format("'.{}'", token.text);
            case Token::Kind::string:
                return "a string";
            default:
                return fmt::format("'{}'", token.text);
        }
    }

    /// What is missing is missing where the last token ended, when the next is on another line.
    [[noreturn]] void failExpected(std::string_view what) const {
        Position position = token_.position();
        if (previousEnd_ && previousLine_ != token_.line) {
            position = {previousLine_, static_cast<int>(previousEnd_ - previousLineStart_) + 1};
        }
        fail(position, fmt::format("expected {}, found {}", what, described(token_)));
    }

    /// At the start of a statement it is the token found that is wrong.
    [[noreturn]] void failUnexpected(std::string_view wanted) const {
        fail(fmt::format("expected {}, found {}", wanted, described(token_)));
    }

    bool accept(char c) {
        if (!token_.is(c)) return false;
        advance();
        return true;
    }
    void expect(char c) {
        if (!accept(c)) failExpected(fmt::format("'{}'", c));
    }
    bool acceptDotWord(std::string_view word) {
        if (!token_.isDotWord(word)) return false;
        advance();
        return true;
    }
    std::string_view expectWord(std::string_view what) {
        if (!token_.isWord()) failExpected(what);
        std::string_view text = token_.text;
        advance();
        return text;
    }

    /// Counts how deep braces and parentheses nest, so that hostile input cannot exhaust the stack.
    struct Nesting {
        explicit Nesting(Parser& parser) : parser(parser) {
            if (++parser.nesting_ > kDeepest) parser.fail(fmt::format("nested more than {} deep", kDeepest));
        }
        ~Nesting() { --parser.nesting_; }
        Parser& parser;
    };

    // ---------------------------------------------------------------- names

    struct Entry {
        Symbol symbol;
        int function = 0;  ///< the function `declared` counts for
        int declared = 0;  ///< how often that function has declared the name
    };
    struct Undo {
        Entry* entry;
        Symbol previous;
    };

    Entry& entryOf(std::string_view name) { return names_[name]; }  // names are views of source_ or generatedNames_

    const Symbol* find(std::string_view name) const {
        auto found = names_.find(name);
        return found == names_.end() || found->second.symbol.kind == Symbol::Kind::none ? nullptr
                                                                                        : &found->second.symbol;
    }

    /// Declares a name in the current scope. Returns the name to use in the flattened function: the same, or with a
    /// number when the function has used it before in another scope.
    std::string declare(std::string_view name, Symbol::Kind kind, int index, Position position) {
        Entry& entry = entryOf(name);
        if (entry.symbol.kind != Symbol::Kind::none && entry.symbol.depth == depth_) {
            fail(position, fmt::format("'{}' is already declared in this scope", name));
        }
        undo_.push_back({&entry, entry.symbol});
        if (depth_ == 0) {
            entry.symbol = {kind, index, depth_};
            return std::string(name);
        }
        bool shadowsModule =
            kind == Symbol::Kind::localVariable && entry.symbol.kind != Symbol::Kind::none && entry.symbol.depth == 0;
        if (entry.function != functionNumber_) {
            entry.function = functionNumber_;
            entry.declared = 0;
        }
        entry.symbol = {kind, index, depth_};
        bool isFirst = ++entry.declared == 1;
        return isFirst && !shadowsModule ? std::string(name) : fmt::format("{}#{}", name, entry.declared);
    }

    struct Scope {
        std::size_t undo, fixups;
    };

    Scope openScope() {
        ++depth_;
        return {undo_.size(), fixups_.size()};
    }

    void closeScope(const Scope& scope) {
        resolveLabels(scope);
        while (undo_.size() > scope.undo) {
            undo_.back().entry->symbol = undo_.back().previous;
            undo_.pop_back();
        }
        --depth_;
    }

    /// A use of a name that may be a label declared further on: settled when the scope that declares it closes.
    struct Fixup {
        enum class Want : std::uint8_t { label, branchTargets, callee, any };
        Operand* operand;  ///< or null: an entry of a .branchtargets
        int table, element;
        std::string_view name;
        Want want;
        Position position;
    };

    void resolveLabels(const Scope& scope) {
        std::size_t kept = scope.fixups;
        for (std::size_t i = scope.fixups; i < fixups_.size(); ++i) {
            const Fixup& fixup = fixups_[i];
            const Symbol* symbol = find(fixup.name);
            if (!symbol || symbol->depth != depth_) {
                fixups_[kept++] = fixup;
                continue;
            }
            using Kind = Symbol::Kind;
            std::string name;
            switch (symbol->kind) {
                case Kind::label:
                    name = labelNames_[symbol->index];
                    break;
                case Kind::branchTargets:
                    name = function_.branchTargets[symbol->index].name;
                    break;
                case Kind::callTargets:
                    name = function_.callTargets[symbol->index].name;
                    break;
                case Kind::prototype:
                    name = function_.prototypes[symbol->index].name;
                    break;
                default:
                    fail(fixup.position, fmt::format("'{}' is declared after its use", fixup.name));
            }
            if (fixup.want == Fixup::Want::label && symbol->kind != Kind::label) {
                fail(fixup.position, fmt::format("'{}' is not a label to branch to", fixup.name));
            }
            if (fixup.want == Fixup::Want::branchTargets && symbol->kind != Kind::branchTargets) {
                fail(fixup.position, fmt::format("'{}' is not a .branchtargets table", fixup.name));
            }
            if (fixup.want == Fixup::Want::callee && symbol->kind != Kind::prototype &&
                symbol->kind != Kind::callTargets) {
                fail(fixup.position, fmt::format("'{}' is neither a .callprototype nor a .calltargets", fixup.name));
            }
            if (fixup.operand) {
                fixup.operand->reg = -1;
                fixup.operand->name = std::move(name);
            } else {
                function_.branchTargets[fixup.table].labels[fixup.element] = std::move(name);
            }
        }
        fixups_.resize(kept);
        if (depth_ > 1) return;
        for (const Fixup& fixup : fixups_) {
            bool isLabel = fixup.want == Fixup::Want::label || fixup.want == Fixup::Want::branchTargets;
            fail(fixup.position, fmt::format("undefined {} '{}'", isLabel ? "label" : "name", fixup.name));
        }
    }

    // ---------------------------------------------------------------- constant expressions

    Constant constantExpression() {
        Nesting nesting(*this);
        return conditional(unary());
    }

    Constant conditional(Constant left) {
        Constant condition = binary(1, left);
        if (!token_.is('?')) return condition;
        advance();
        Constant yes = constantExpression();
        expect(':');
        Constant no = constantExpression();
        return condition.isTrue() ? yes : no;
    }

    Constant binary(int lowest, Constant left) {
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
                fail(position, isDivision ? std::string("division by zero")
                                          : fmt::format("'{}' does not apply to real numbers", op));
            }
            left = *result;
        }
        return left;
    }

    Constant unary() {
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

    Constant cast(Position position) {
        bool isSigned = token_.isDotWord("s64"), isUnsigned = token_.isDotWord("u64");
        if (!isSigned && !isUnsigned) fail("a constant is cast to .s64 or .u64");
        advance();
        expect(')');
        Constant value = unary();
        if (value.isReal()) fail(position, "a real number cannot be cast to an integer");
        return Constant::ofInteger(value.bits, isUnsigned);
    }

    Constant literal() {
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

    std::uint64_t integerConstant(std::string_view what) {
        Position position = token_.position();
        Constant value = constantExpression();
        if (value.isReal()) fail(position, fmt::format("{} is an integer", what));
        return value.bits;
    }

    /// A non-negative count: sizes of arrays, .maxntid, ...
    std::uint64_t count(std::string_view what, std::uint64_t most) {
        Position position = token_.position();
        Constant value = constantExpression();
        if (value.isReal()) fail(position, fmt::format("{} is an integer", what));
        if ((!value.isUnsigned() && value.bits >> 63) || value.bits > most) {
            fail(position, fmt::format("{} is out of range (0 to {})", what, most));
        }
        return value.bits;
    }

    /// (+|-) constant, any number of them: what follows the base of an address or a symbol.
    std::int64_t displacement() {
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

    // ---------------------------------------------------------------- module

    void header() {
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

    struct Linkage {
        bool isVisible = false, isExtern = false;
    };

    void moduleStatement() {
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
        if (isTextureWord(word)) fail("textures are not supported yet");
        auto space = variableSpaceNamed(word);
        if (!space || *space == Space::reg || *space == Space::param) {
            fail(fmt::format("unknown directive '.{}' at module scope", word));
        }
        if (*space == Space::local) fail(".local variables belong inside a function");
        variableStatement(*space, linkage);
    }

    /// Directives that may stand anywhere and leave nothing behind.
    bool commonDirective() {
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

    void lineNumber() {
        if (token_.kind != Token::Kind::integer) failExpected("a number");
        advance();
    }

    void pragma() {
        advance();
        do {
            if (token_.kind != Token::Kind::string) failExpected("a string");
            advance();
        } while (accept(','));
    }

    /// Debug data. Nothing in it changes what the code does.
    void section() {
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

    void alias() {
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

    void applyAliases() {
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

    // A symbol in an initialiser may be declared further on: compilers order by need, people do not.
    void checkRelocations() {
        for (auto& [name, position] : relocationUses_) {
            const Symbol* symbol = find(name);
            if (!symbol) fail(position, fmt::format("undefined symbol '{}'", name));
        }
    }

    // ---------------------------------------------------------------- variables

    struct Declarator {
        Space space = Space::none;
        Type type = Type::none;
        unsigned vector = 1;
        std::uint64_t align = 0;
        bool isPointer = false;
        bool isManaged = false;
    };

    /// Skips .attribute(...); true if .managed is among them.
    bool attribute() {
        bool isManaged = false;
        advance();
        expect('(');
        int depth = 1;
        while (depth > 0) {
            if (token_.kind == Token::Kind::end || token_.is(';') || token_.is('{')) failExpected("')'");
            depth += token_.is('(') ? 1 : token_.is(')') ? -1 : 0;
            isManaged |= token_.isDotWord("managed");
            advance();
        }
        return isManaged;
    }

    std::uint64_t alignment() {
        advance();
        Position position = token_.position();
        std::uint64_t align = count("an alignment", std::uint64_t{1} << 32);
        if (!std::has_single_bit(align)) fail(position, "an alignment is a power of two");
        return align;
    }

    /// What stands between the state space and the name: .align 8 .v2 .f32, in any order.
    Declarator declarator(Space space) {
        Declarator result;
        result.space = space;
        Position position = token_.position();
        while (token_.kind == Token::Kind::dotWord) {
            std::string_view word = token_.text;
            if (word == "align") {
                result.align = alignment();
            } else if (word == "attribute") {
                result.isManaged |= attribute();
            } else if (word == "v2" || word == "v4" || word == "v8") {
                result.vector = static_cast<unsigned>(word[1] - '0');
                advance();
            } else if (word == "ptr" && space == Space::param) {
                advance();
                result.isPointer = true;
                // The space and alignment of what it points to, not of the parameter.
                while (token_.kind == Token::Kind::dotWord) {
                    if (token_.text == "align") {
                        alignment();
                    } else if (variableSpaceNamed(token_.text)) {
                        advance();
                    } else {
                        break;
                    }
                }
            } else if (isTextureWord(word)) {
                fail("textures are not supported yet");
            } else if (auto type = typeNamed(word)) {
                if (result.type != Type::none) fail("a second type");
                result.type = *type;
                advance();
            } else {
                fail(fmt::format("unknown type or attribute '.{}'", word));
            }
        }
        if (result.type == Type::none) fail(position, "a declaration without a type");
        if (result.type == Type::pred && space != Space::reg) fail(position, "predicates live only in .reg");
        if (result.type == Type::pred && result.vector > 1) fail(position, "there are no vectors of predicates");
        return result;
    }

    /// [4][2]: the extents. A first one left open is 0 and `isOpen`.
    struct Extents {
        std::vector<std::uint64_t> counts;
        bool isOpen = false;
    };
    Extents extents() {
        Extents result;
        while (token_.is('[')) {
            Position position = token_.position();
            advance();
            if (accept(']')) {
                if (!result.counts.empty()) fail(position, "only the first extent may be left open");
                result.isOpen = true;
                result.counts.push_back(0);
                continue;
            }
            if (result.counts.size() >= 16) fail(position, "more than 16 dimensions");
            result.counts.push_back(count("an array's extent", kLargestVariable));
            expect(']');
        }
        return result;
    }

    /// Elements times size, refused beyond what any device could hold.
    std::uint64_t sizeOf(const Extents& extents, std::size_t from, std::uint64_t elementBytes,
                         Position position) const {
        std::uint64_t bytes = elementBytes;
        for (std::size_t i = from; i < extents.counts.size(); ++i) {
            if (extents.counts[i] != 0 && bytes > kLargestVariable / extents.counts[i]) {
                fail(position, "variable too large");
            }
            bytes *= extents.counts[i];
        }
        return bytes;
    }

    Variable variable(const Declarator& declarator, std::string_view name, const Extents& extents, Position position) {
        Variable result;
        result.name = name;
        result.space = declarator.space;
        result.type = declarator.type;
        result.vector = declarator.vector;
        result.isPointer = declarator.isPointer;
        result.isManaged = declarator.isManaged;
        result.isArray = !extents.counts.empty();
        result.position = position;
        std::uint64_t elementBytes = (bitsOf(declarator.type) + 7) / 8 * declarator.vector;
        result.align = declarator.align ? declarator.align : elementBytes;
        result.bytes = extents.isOpen ? 0 : sizeOf(extents, 0, elementBytes, position);
        return result;
    }

    /// .global .u32 a, b[4] = {1, 2};
    void variableStatement(Space space, Linkage linkage) {
        advance();
        if (space == Space::constant && token_.is('[')) fail("banks of .const are not supported");
        Declarator common = declarator(space);
        bool isModuleScope = space == Space::global || space == Space::constant || depth_ == 0;
        do {
            Position position = token_.position();
            std::string_view name = expectWord("a variable's name");
            if (name == "_") fail(position, "a variable needs a name");
            if (token_.is('<')) fail("only registers are declared in ranges");
            Extents dimensions = extents();
            Variable result = variable(common, name, dimensions, position);
            result.isExtern = linkage.isExtern;
            result.isVisible = linkage.isVisible;
            if (token_.is('=')) {
                if (space != Space::global && space != Space::constant) {
                    fail(fmt::format(".{} variables cannot be initialised", nameOf(space)));
                }
                if (linkage.isExtern) fail("an .extern variable cannot be initialised");
                advance();
                initialise(result, dimensions);
            } else if (dimensions.isOpen && !linkage.isExtern) {
                fail(position, "an array of open size is .extern or initialised");
            }
            if (isModuleScope) {
                declareModuleVariable(std::move(result), name);
            } else {
                int index = static_cast<int>(function_.variables.size());
                result.name = declare(name, Symbol::Kind::localVariable, index, position);
                function_.variables.push_back(std::move(result));
            }
        } while (accept(','));
        expect(';');
    }

    void declareModuleVariable(Variable result, std::string_view name) {
        const Symbol* known = find(name);
        if (depth_ == 0 && known && known->kind == Symbol::Kind::moduleVariable) {
            // A declaration may come before the definition, or repeat another.
            Variable& earlier = module_.variables[known->index];
            if (earlier.space == result.space && (earlier.isExtern || result.isExtern)) {
                if (earlier.isExtern) earlier = std::move(result);
                return;
            }
        }
        int index = static_cast<int>(module_.variables.size());
        Position position = result.position;
        std::string unique = declare(name, Symbol::Kind::moduleVariable, index, position);
        result.name = depth_ == 0 ? unique : fmt::format("{}#{}", function_.name, unique);
        module_.variables.push_back(std::move(result));
    }

    // ---------------------------------------------------------------- initialisers

    void initialise(Variable& target, Extents& dimensions) {
        Position position = token_.position();
        const std::uint64_t scalarBytes = bitsOf(target.type) / 8;
        // A vector is one more, innermost, dimension.
        Extents shape = dimensions;
        if (target.vector > 1) shape.counts.push_back(target.vector);
        if (target.bytes > kLargestInitialised) fail(position, "initialised variable too large");
        target.initial.assign(target.bytes, 0);
        if (token_.kind == Token::Kind::string) {
            if (scalarBytes != 1 || shape.counts.size() != 1) fail("a string initialises an array of bytes");
            std::string text = unescape(token_.text);
            advance();
            if (dimensions.isOpen) text += '\0';
            if (dimensions.isOpen) target.initial.assign(text.size(), 0);
            if (text.size() > target.initial.size()) fail(position, "more initialisers than elements");
            std::copy(text.begin(), text.end(), target.initial.begin());
        } else if (shape.counts.empty()) {
            // Braces round a single value are allowed, as in C.
            bool braced = accept('{');
            initialiseScalar(target, 0, scalarBytes);
            if (braced) expect('}');
        } else {
            if (!token_.is('{')) failExpected("'{'");
            std::uint64_t written = initialiseLevel(target, shape, 0, 0, scalarBytes);
            if (dimensions.isOpen) {
                std::uint64_t row = sizeOf(shape, 1, scalarBytes, position);
                std::uint64_t rows = row == 0 ? 0 : (written + row - 1) / row;
                target.initial.resize(rows * row, 0);
            }
        }
        if (dimensions.isOpen) target.bytes = target.initial.size();
        mergeMasks(target);
    }

    /// One pair of braces. Values fill it in order; braces inside fill one row of the next dimension. Returns where
    /// it stopped, in bytes from the variable's start.
    std::uint64_t initialiseLevel(Variable& target, const Extents& shape, std::size_t level, std::uint64_t offset,
                                  std::uint64_t scalarBytes) {
        Nesting nesting(*this);
        const bool isOpen = level == 0 && shape.isOpen;
        const std::uint64_t limit =
            isOpen ? kLargestInitialised : offset + sizeOf(shape, level, scalarBytes, token_.position());
        const std::uint64_t row = sizeOf(shape, level + 1, scalarBytes, token_.position());
        expect('{');
        const std::uint64_t start = offset;
        while (!token_.is('}')) {
            const bool isRow = token_.is('{');
            if (isRow && level + 1 >= shape.counts.size()) fail("more braces than dimensions");
            if (isRow && row != 0) offset = start + (offset - start + row - 1) / row * row;
            const std::uint64_t bytes = isRow ? row : scalarBytes;
            if (offset + bytes > limit) fail("more initialisers than elements");
            if (isOpen && target.initial.size() < offset + bytes) {
                target.initial.resize(std::min(limit, std::max(offset + bytes, 2 * target.initial.size())), 0);
            }
            if (isRow) {
                initialiseLevel(target, shape, level + 1, offset, scalarBytes);
            } else {
                initialiseScalar(target, offset, scalarBytes);
            }
            offset += bytes;
            if (!accept(',')) break;
        }
        expect('}');
        return offset;
    }

    void initialiseScalar(Variable& target, std::uint64_t offset, std::uint64_t bytes) {
        Position position = token_.position();
        if (token_.isWord() && token_.text != "WARP_SZ") {
            relocation(target, offset, static_cast<unsigned>(bytes), std::nullopt, position);
            return;
        }
        Constant value;
        if (token_.kind == Token::Kind::integer) {
            value = Constant::ofInteger(token_.integer, token_.isUnsigned);
            advance();
            if (token_.is('(')) {
                // The mask operator: 0xFF00(symbol) is that byte of the address.
                advance();
                unsigned shift = value.bits == 0 ? 64 : static_cast<unsigned>(std::countr_zero(value.bits));
                if (shift % 8 != 0 || shift > 56 || value.bits >> shift != 0xff) {
                    fail(position, "a mask selects one byte: 0xFF, 0xFF00, ...");
                }
                if (bytes != 1) fail(position, "masks initialise bytes");
                relocation(target, offset, 1, shift, position);
                expect(')');
                return;
            }
            if (token_.is(',') || token_.is('}')) {
                writeScalar(target, offset, bytes, value, position);
                return;
            }
            value = conditional(value);
        } else {
            value = constantExpression();
        }
        writeScalar(target, offset, bytes, value, position);
    }

    void writeScalar(Variable& target, std::uint64_t offset, std::uint64_t bytes, const Constant& value,
                     Position position) {
        std::uint64_t bits = value.bits;
        if (target.type == Type::f32 || target.type == Type::f64) {
            if (value.isReal() && value.type == target.type) {
                bits = value.bits;
            } else if (target.type == Type::f32) {
                bits = std::bit_cast<std::uint32_t>(static_cast<float>(value.asReal()));
            } else {
                bits = std::bit_cast<std::uint64_t>(value.asReal());
            }
        } else if (value.isReal()) {
            bool isBits = target.type == Type::b32 || target.type == Type::b64;
            if (!isBits || bitsOf(target.type) != bitsOf(value.type)) {
                fail(position, fmt::format("a real number cannot initialise .{}", nameOf(target.type)));
            }
        }
        // Little-endian, on any host.
        for (std::uint64_t i = 0; i < bytes; ++i) {
            target.initial[offset + i] = i < 8 ? static_cast<std::uint8_t>(bits >> (8 * i)) : 0;
        }
        // The upper half of a negative .b128.
        if (bytes > 8 && !value.isUnsigned() && !value.isReal() && bits >> 63) {
            std::fill_n(target.initial.begin() + static_cast<std::ptrdiff_t>(offset) + 8, bytes - 8, 0xff);
        }
    }

    /// `mask`: which byte of the address is taken, or nothing for all of it.
    void relocation(Variable& target, std::uint64_t offset, unsigned bytes, std::optional<unsigned> mask,
                    Position position) {
        Relocation result{offset, {}, 0, false, bytes, mask.value_or(0)};
        std::string_view name = expectWord("a symbol");
        Position namePosition = position;
        if (name == "generic" && token_.is('(')) {
            advance();
            result.generic = true;
            namePosition = token_.position();
            name = expectWord("a symbol");
            result.addend = displacement();
            expect(')');
        }
        result.symbol = name;
        result.addend += displacement();
        if (isFloat(target.type) || (!mask && bytes != 4 && bytes != 8)) {
            fail(position, fmt::format("the address of '{}' does not fit in .{}", name, nameOf(target.type)));
        }
        relocationUses_.emplace_back(name, namePosition);
        target.relocations.push_back(std::move(result));
    }

    /// 0xFF(x), 0xFF00(x), ... for consecutive bytes is one address.
    static void mergeMasks(Variable& target) {
        std::vector<Relocation> merged;
        for (Relocation& relocation : target.relocations) {
            if (relocation.bytes == 1 && !merged.empty()) {
                Relocation& last = merged.back();
                if (last.symbol == relocation.symbol && last.addend == relocation.addend &&
                    last.generic == relocation.generic && last.offset + last.bytes == relocation.offset &&
                    last.shift + 8 * last.bytes == relocation.shift) {
                    ++last.bytes;
                    continue;
                }
            }
            merged.push_back(std::move(relocation));
        }
        target.relocations = std::move(merged);
    }

    // ---------------------------------------------------------------- functions

    /// (.param .b32 a, .reg .u32 %b)
    std::vector<Variable> parameters() {
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

    /// One to three numbers: .maxntid 16, 16, 1
    void triple(unsigned (&values)[3], std::string_view what) {
        advance();
        values[0] = static_cast<unsigned>(count(what, 0xffffffffu));
        values[1] = values[2] = 1;
        for (int i = 1; i < 3 && accept(','); ++i) values[i] = static_cast<unsigned>(count(what, 0xffffffffu));
    }

    void performanceDirectives(Function& target) {
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
            } else if (word == "maxnctapersm" || word == "maxclusterrank" || word == "abi_preserve" ||
                       word == "abi_preserve_control") {
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
                unsigned shape[3];
                triple(shape, ".reqnctapercluster");
                if (shape[0] > 1 || shape[1] > 1 || shape[2] > 1) {
                    fail(position, "clusters of thread blocks are not supported yet");
                }
            } else if (word == "explicitcluster" || word == "blocksareclusters") {
                fail("clusters of thread blocks are not supported yet");
            } else {
                fail(fmt::format("unknown directive '.{}' of a function", word));
            }
        }
    }

    void function(bool isKernel, Linkage linkage) {
        if (token_.isDotWord("attribute")) attribute();
        function_ = Function{};
        ++functionNumber_;
        labelNames_.clear();
        function_.isKernel = isKernel;
        function_.isVisible = linkage.isVisible;
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

    void declareFormals(const std::vector<Variable>& formals) {
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

    void declareRegister(std::string_view name, Type type, unsigned vector, Position position) {
        if (function_.registers.size() >= kMostRegisters) {
            fail(position, fmt::format("more than {} registers", kMostRegisters));
        }
        int index = static_cast<int>(function_.registers.size());
        function_.registers.push_back({declare(name, Symbol::Kind::reg, index, position), type, vector});
    }

    void registers() {
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

    /// Everything up to the closing brace, which it takes.
    void statements(int openingLine) {
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

    void bodyDirective() {
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
        if (isTextureWord(word)) fail("textures are not supported yet");
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

    void instructionOrLabel() {
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

    void branchTargets(std::string_view name, Position position) {
        int index = static_cast<int>(function_.branchTargets.size());
        function_.branchTargets.push_back({declare(name, Symbol::Kind::branchTargets, index, position), {}});
        advance();
        do {
            Position labelPosition = token_.position();
            std::string_view label = expectWord("a label");
            auto& labels = function_.branchTargets[index].labels;
            fixups_.push_back(
                {nullptr, index, static_cast<int>(labels.size()), label, Fixup::Want::label, labelPosition});
            labels.emplace_back(label);
            if (token_.is('<')) fail("ranges of labels are not supported");
        } while (accept(','));
        expect(';');
    }

    void callTargets(std::string_view name, Position position) {
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

    /// name: .callprototype (.param .b32 _) _ (.param .b64 _, ...) .noreturn;
    void prototype(std::string_view name, Position position) {
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

    // ---------------------------------------------------------------- instructions

    void guardedInstruction() {
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

    void instruction(const Token& first, const char* begin, int guard, bool guardNegated) {
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

    /// A guard may stand on an earlier line than its instruction.
    Position positionOf(const char* begin, const Token& first) const {
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

    /// Labels and callees: what names they must have is a matter of grammar, and so checked here.
    void checkControl(Instruction& result, bool isCall) {
        auto defer = [&](Operand& operand, Fixup::Want want) {
            fixups_.push_back({&operand, -1, -1, operand.name, want, operand.position});
        };
        auto& operands = result.operands;
        const bool isBranch = result.opcode == "bra", isIndexed = result.opcode == "brx";
        if (isBranch || isIndexed) {
            std::size_t wanted = isBranch ? 1 : 2;
            if (operands.size() != wanted) {
                fail(result.position, fmt::format("{} takes {}", result.opcode,
                                                  isBranch ? "one label" : "an index and a table of labels"));
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

    void checkCall(Instruction& call) {
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

    static bool isUnresolved(const Operand& operand) {
        return operand.kind == Operand::Kind::label && operand.reg == kUnresolved;
    }

    void list(Operand& result) {
        result.kind = Operand::Kind::list;
        result.position = token_.position();
        advance();
        if (accept(')')) return;
        do {
            operand(result.parts.emplace_back());
        } while (accept(','));
        expect(')');
    }

    void operandOrPair(Operand& result) {
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

    void operand(Operand& result) {
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

    /// As constantExpression, but a lone number, by far the most common, is taken at once. A '|' after it would be an
    /// operator: pairs have no constants.
    Constant constantOperand() {
        if (token_.kind != Token::Kind::punctuation) {
            Constant value = literal();
            if (token_.is(',') || token_.is(';')) return value;
            return conditional(value);
        }
        return constantExpression();
    }

    static void constant(Operand& result, const Constant& value) {
        result.integer = static_cast<std::int64_t>(value.bits);
        if (value.isReal()) {
            result.kind = Operand::Kind::real;
            result.type = value.type;
            result.real = value.real;
        } else {
            result.kind = Operand::Kind::integer;
        }
    }

    int component(std::string_view suffix) const {
        constexpr std::string_view kPositions = "xyzw", kColors = "rgba";
        if (suffix.size() != 1) return -1;
        auto position = kPositions.find(suffix[0]), color = kColors.find(suffix[0]);
        if (position != std::string_view::npos) return static_cast<int>(position);
        return color != std::string_view::npos ? static_cast<int>(color) : -1;
    }

    /// Takes a register's name, which is the current token, and its component if it has one.
    void registerOperand(Operand& result, const Symbol& symbol) {
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
        if (static_cast<unsigned>(element) >= reg.vector)
            fail(fmt::format("'{}' has {} components", reg.name, reg.vector));
        result.element = element;
        advance();
    }

    void named(Operand& result) {
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

    void specialRegisterOperand(Operand& result, std::string_view name) {
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

    /// The flattened name of a variable or function.
    std::string nameOfSymbol(std::string_view name, const Symbol& symbol) const {
        if (symbol.kind == Symbol::Kind::localVariable && symbol.index >= 0) {
            return function_.variables[symbol.index].name;
        }
        if (symbol.kind == Symbol::Kind::moduleVariable) return module_.variables[symbol.index].name;
        return std::string(name);
    }

    /// table[3]: an element's address as a value in mov, its contents elsewhere.
    void subscript(Operand& result, const Symbol& symbol) {
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

    void address(Operand& result) {
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
            } else if (symbol &&
                       (symbol->kind == Symbol::Kind::localVariable || symbol->kind == Symbol::Kind::moduleVariable ||
                        symbol->kind == Symbol::Kind::function)) {
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

    static constexpr int kUnresolved = -2;

    std::shared_ptr<const std::string> source_;
    std::string name_;
    Lexer lexer_;
    Token token_;
    const char* previousEnd_ = nullptr;
    const char* previousLineStart_ = nullptr;
    int previousLine_ = 0;
    int nesting_ = 0;

    Module module_;
    std::vector<std::pair<std::string, std::string>> aliases_;
    std::vector<std::pair<std::string_view, Position>> relocationUses_;

    std::unordered_map<std::string_view, Entry> names_;
    std::deque<std::string> generatedNames_;
    std::vector<Undo> undo_;
    std::vector<Fixup> fixups_;
    int depth_ = 0;

    Function function_;
    int functionNumber_ = 0;
    std::vector<std::string> labelNames_;
    int unresolved_ = 0;
    std::string_view unresolvedName_;
    Position unresolvedPosition_;
};

}  // namespace

Module parse(std::string source, std::string name) {
    return Parser(std::make_shared<const std::string>(std::move(source)), std::move(name)).run();
}

}  // namespace bulkhead::ptx
