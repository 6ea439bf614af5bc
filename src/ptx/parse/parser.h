#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/module.h"
#include "ptx/parse/constant.h"
#include "ptx/parse/lexer.h"

namespace bulkhead::ptx {

/// What a name stands for.
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

/// A recursive-descent parser of PTX: one pass, one token ahead. Each part of the grammar has a file of its own beside
/// this one.
class Parser {
  public:
    Parser(std::shared_ptr<const std::string> source, std::string name);

    Module run();

  private:
    static constexpr int kDeepest = 200;  // of scopes, expressions and braces

    // tokens.cpp

    void advance() {
        previousEnd_ = token_.text.data() ? token_.text.data() + token_.text.size() : nullptr;
        previousLine_ = token_.line;
        previousLineStart_ = token_.lineStart;
        lexer_.next(token_);
    }

    [[noreturn]] void fail(Position position, std::string_view message) const { lexer_.fail(position, message); }
    [[noreturn]] void fail(std::string_view message) const { lexer_.fail(token_.position(), message); }
    std::string described(const Token& token) const;

    /// What is missing is missing where the last token ended, when the next is on another line.
    [[noreturn]] void failExpected(std::string_view what) const;

    /// At the start of a statement it is the token found that is wrong.
    [[noreturn]] void failUnexpected(std::string_view wanted) const;

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

    // names.cpp

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
    std::string declare(std::string_view name, Symbol::Kind kind, int index, Position position);

    struct Scope {
        std::size_t undo, fixups;
    };

    Scope openScope() {
        ++depth_;
        return {undo_.size(), fixups_.size()};
    }

    void closeScope(const Scope& scope);

    /// A use of a name that may be a label declared further on: settled when the scope that declares it closes.
    struct Fixup {
        enum class Want : std::uint8_t { label, branchTargets, callee, any };
        Operand* operand;  ///< or null: an entry of a .branchtargets
        int table, element;
        std::string_view name;
        Want want;
        Position position;
    };

    void resolveLabels(const Scope& scope);

    // expressions.cpp

    Constant constantExpression();
    Constant conditional(Constant left);
    Constant binary(int lowest, Constant left);
    Constant unary();
    Constant cast(Position position);
    Constant literal();
    std::uint64_t integerConstant(std::string_view what);

    /// A non-negative count: sizes of arrays, .maxntid, ...
    std::uint64_t count(std::string_view what, std::uint64_t most);

    /// (+|-) constant, any number of them: what follows the base of an address or a symbol.
    std::int64_t displacement();

    // parser.cpp

    void header();

    struct Linkage {
        bool isVisible = false, isExtern = false, isWeak = false;
    };

    void moduleStatement();

    /// Directives that may stand anywhere and leave nothing behind.
    bool commonDirective();

    void lineNumber();
    void pragma();

    /// Debug data. Nothing in it changes what the code does.
    void section();

    void alias();
    void applyAliases();

    // A symbol in an initialiser may be declared further on: compilers order by need, people do not.
    void checkRelocations();

    // variables.cpp

    struct Declarator {
        Space space = Space::none;
        Type type = Type::none;
        unsigned vector = 1;
        std::uint64_t align = 0;
        bool isPointer = false;
        bool isManaged = false;
    };

    /// Skips .attribute(...); true if .managed is among them.
    bool attribute();

    std::uint64_t alignment();

    /// What stands between the state space and the name: .align 8 .v2 .f32, in any order.
    Declarator declarator(Space space);

    /// [4][2]: the extents. A first one left open is 0 and `isOpen`.
    struct Extents {
        std::vector<std::uint64_t> counts;
        bool isOpen = false;
    };

    Extents extents();

    /// Elements times size, refused beyond what any device could hold.
    std::uint64_t sizeOf(const Extents& extents, std::size_t from, std::uint64_t elementBytes, Position position) const;

    Variable variable(const Declarator& declarator, std::string_view name, const Extents& extents, Position position);

    /// .global .u32 a, b[4] = {1, 2};
    void variableStatement(Space space, Linkage linkage);

    void declareModuleVariable(Variable result, std::string_view name);

    // initialisers.cpp

    void initialise(Variable& target, Extents& dimensions);

    /// One pair of braces. Values fill it in order; braces inside fill one row of the next dimension. Returns where
    /// it stopped, in bytes from the variable's start.
    std::uint64_t initialiseLevel(Variable& target, const Extents& shape, std::size_t level, std::uint64_t offset,
                                  std::uint64_t scalarBytes);

    void initialiseScalar(Variable& target, std::uint64_t offset, std::uint64_t bytes);
    void writeScalar(Variable& target, std::uint64_t offset, std::uint64_t bytes, const Constant& value,
                     Position position);

    /// `mask`: which byte of the address is taken, or nothing for all of it.
    void relocation(Variable& target, std::uint64_t offset, unsigned bytes, std::optional<unsigned> mask,
                    Position position);

    /// 0xFF(x), 0xFF00(x), ... for consecutive bytes is one address.
    static void mergeMasks(Variable& target);

    // functions.cpp

    /// (.param .b32 a, .reg .u32 %b)
    std::vector<Variable> parameters();

    /// One to three numbers: .maxntid 16, 16, 1
    void triple(unsigned (&values)[3], std::string_view what);

    void performanceDirectives(Function& target);
    void function(bool isKernel, Linkage linkage);
    void declareFormals(const std::vector<Variable>& formals);
    void declareRegister(std::string_view name, Type type, unsigned vector, Position position);
    void registers();

    /// Everything up to the closing brace, which it takes.
    void statements(int openingLine);

    void bodyDirective();
    void instructionOrLabel();
    void branchTargets(std::string_view name, Position position);
    void callTargets(std::string_view name, Position position);

    /// name: .callprototype (.param .b32 _) _ (.param .b64 _, ...) .noreturn;
    void prototype(std::string_view name, Position position);

    // instructions.cpp

    void guardedInstruction();
    void instruction(const Token& first, const char* begin, int guard, bool guardNegated);

    /// A guard may stand on an earlier line than its instruction.
    Position positionOf(const char* begin, const Token& first) const;

    /// Labels and callees: what names they must have is a matter of grammar, and so checked here.
    void checkControl(Instruction& result, bool isCall);

    void checkCall(Instruction& call);

    static bool isUnresolved(const Operand& operand) {
        return operand.kind == Operand::Kind::label && operand.reg == kUnresolved;
    }

    // operands.cpp

    void list(Operand& result);
    void operandOrPair(Operand& result);
    void operand(Operand& result);

    /// As constantExpression, but a lone number, by far the most common, is taken at once. A '|' after it would be an
    /// operator: pairs have no constants.
    Constant constantOperand();

    static void constant(Operand& result, const Constant& value);
    int component(std::string_view suffix) const;

    /// Takes a register's name, which is the current token, and its component if it has one.
    void registerOperand(Operand& result, const Symbol& symbol);

    void named(Operand& result);
    void specialRegisterOperand(Operand& result, std::string_view name);

    /// The flattened name of a variable or function.
    std::string nameOfSymbol(std::string_view name, const Symbol& symbol) const;

    /// table[3]: an element's address as a value in mov, its contents elsewhere.
    void subscript(Operand& result, const Symbol& symbol);

    void address(Operand& result);

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

}  // namespace bulkhead::ptx
