#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/error.h"

namespace bulkhead::ptx {

enum class Type : std::uint8_t {
    none,
    pred,
    b8,
    b16,
    b32,
    b64,
    b128,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64,
};
unsigned bitsOf(Type);  ///< 1 for pred
bool isFloat(Type);
bool isSigned(Type);
std::string_view nameOf(Type);  ///< "u32"

enum class Space : std::uint8_t { none, reg, sreg, constant, global, local, param, shared };
std::string_view nameOf(Space);

struct Position {
    int line = 0, column = 0;  ///< from 1
};

/// Bad or unsupported PTX: names line and column and quotes the instruction.
class PtxError : public Error {
  public:
    PtxError(std::string_view file, Position, std::string_view message, std::string_view quoted = {});
    Position position;
};

/// An instruction's operand as written.
struct Operand {
    enum class Kind : std::uint8_t {
        reg,      ///< %r1, %p1, and any name declared .reg
        sreg,     ///< %tid.x, %laneid, ...: name without '%'
        integer,  ///< 42, 0x2aU, -1
        real,     ///< 0f3F800000, 0d..., 1.5
        symbol,   ///< a variable, function or .param name used as a value: mov.u64 %rd1, table+4; (addend in integer)
        address,  ///< [reg], [symbol], [reg+4], [symbol-4], [4096]
        vector,   ///< {%r1, %r2}
        label,    ///< a branch target, or the name of a .branchtargets, .calltargets or .callprototype
        sink,     ///< _
        list,     ///< (a, b): arguments and results of call
        pair,     ///< p|q: two predicate results, or shfl's d|p
    };
    Kind kind = Kind::sink;
    bool negated = false;      ///< !p as a source, or -x written before a register
    Type type = Type::none;    ///< of a reg: as declared; of a real: f32 (0f) or f64
    std::string name;          ///< reg, sreg, symbol, label; base of an address (empty if absolute)
    bool baseIsReg = false;    ///< address: base is a register, not a symbol
    int reg = -1;              ///< reg, or register base of an address: index into Function::registers
    std::int64_t integer = 0;  ///< integer value, or the address's displacement; two's complement for unsigned; of
                               ///< a real its bit pattern (32 bits for f32), which keeps a NaN's payload
    double real = 0;
    int element = -1;            ///< %v.x style component of a vector register: 0..3, else -1
    std::vector<Operand> parts;  ///< vector, list, pair; of an address what follows its base: [tex, {%r1, %r2}]
    Position position;
};

/// `@!p add.cc.s32 %r1, %r2, %r3;`
struct Instruction {
    int guard = -1;  ///< register index of the guard predicate, -1 if none
    bool guardNegated = false;
    std::string opcode;                  ///< "add"
    std::vector<std::string> modifiers;  ///< everything after dots, in order, without dots: {"cc", "s32"}; "::" kept
    std::vector<Operand> operands;
    Position position;
    std::string_view text;  ///< the instruction as written, a view into Module::source
    /// Machine instructions that it takes to issue it; 0 if it is a part of the one behind it. See ptx/assembler.
    std::uint8_t slots = 1;

    bool has(std::string_view modifier) const;
};

/// Where an address appears inside a variable's initialiser: 8 (or 4) bytes at `offset` become the address of
/// `symbol` + `addend`; `generic` when written generic(symbol). Written with masks, 0xFF00(symbol), a part of the
/// address is taken: the low `bytes` of address >> shift. Eight masks in a row are one relocation of 8 bytes.
struct Relocation {
    std::uint64_t offset;
    std::string symbol;
    std::int64_t addend;
    bool generic;
    unsigned bytes;
    unsigned shift = 0;
};

struct Variable {
    std::string name;
    Space space = Space::none;
    Type type = Type::none;
    unsigned vector = 1;  ///< .v2, .v4
    std::uint64_t align = 1;
    std::uint64_t bytes = 0;  ///< 0 for extern .shared x[]
    bool isExtern = false;
    bool isVisible = false;
    bool isWeak = false;  ///< gives way to another module's of that name
    bool isArray = false;
    std::vector<std::uint8_t> initial;  ///< empty = zero; else exactly `bytes`
    std::vector<Relocation> relocations;
    bool isPointer = false;         ///< kernel parameter with .ptr
    bool isManaged = false;         ///< .attribute(.managed): the host has it at the same address
    std::uint64_t hostAddress = 0;  ///< not 0: it is the host's memory there, which nobody declared here
    Position position;
};

struct Register {
    std::string name;  ///< "%r1"
    Type type;
    unsigned vector = 1;
};

/// Tables declared inside a function: .branchtargets, .calltargets, .callprototype.
struct BranchTargets {
    std::string name;
    std::vector<std::string> labels;
};
struct Prototype {
    std::string name;
    std::vector<Variable> results, params;
    bool noReturn = false;
};

struct Function {
    std::string name;
    bool isKernel = false;
    bool isExtern = false;  ///< declared only: vprintf, __assertfail, malloc...
    bool isVisible = false;
    bool isWeak = false;
    bool noReturn = false;
    std::vector<Variable> results, params;
    std::vector<Variable> variables;  ///< .local, .shared, .param declared in the body; names made unique by scope
    std::vector<Register> registers;  ///< every register, scopes flattened and made unique
    std::vector<Instruction> body;
    std::unordered_map<std::string, int> labels;  ///< label -> index into body (may equal body.size())
    std::vector<BranchTargets> branchTargets;
    std::vector<BranchTargets> callTargets;  ///< .calltargets: names of functions
    std::vector<Prototype> prototypes;
    unsigned maxThreads[3] = {0, 0, 0};       ///< .maxntid, 0 = not given
    unsigned requiredThreads[3] = {0, 0, 0};  ///< .reqntid
    unsigned minBlocksPerSm = 0, maxRegisters = 0;
    unsigned requiredCluster[3] = {0, 0, 0};  ///< .reqnctapercluster, 0 = not given
    unsigned maxClusterRank = 0;
    bool explicitCluster = false;
    unsigned liveRegisters =
        0;  ///< the most 32-bit registers that a thread needs at once, by ptx/assembler; 0: unknown
    Position position;
};

struct Module {
    std::string name;  ///< file name or "<ptx>", for messages
    std::shared_ptr<const std::string> source;
    int versionMajor = 0, versionMinor = 0;
    std::string target;  ///< "sm_75"
    unsigned addressBits = 64;
    std::vector<Variable> variables;  ///< .global, .const, .shared at module scope
    std::vector<Function> functions;

    const Function* find(std::string_view name) const;
};

/// Throws PtxError. Knows the grammar, resolves every name, folds constant expressions and initialisers; what an
/// instruction means, and whether it is supported, is decided by the simulator's lowering.
Module parse(std::string source, std::string name);

}  // namespace bulkhead::ptx
