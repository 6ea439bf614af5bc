#include "ptx/assembler/dataflow.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ptx/parse/words.h"

namespace bulkhead::ptx {
namespace {

using Names = std::unordered_set<std::string_view>;

bool isOneOf(const Names& names, std::string_view name) {
    return names.contains(name);
}

/// Registers from registers, in each lane by itself.
const Names kComputes = {"add",   "sub",  "mul",  "mad",   "mul24",    "mad24",   "sad", "div",  "rem",  "abs",
                         "neg",   "min",  "max",  "popc",  "clz",      "bfind",   "fns", "brev", "bfe",  "bfi",
                         "szext", "bmsk", "dp4a", "dp2a",  "and",      "or",      "xor", "not",  "cnot", "lop3",
                         "shl",   "shr",  "shf",  "prmt",  "cvt",      "cvta",    "mov", "set",  "setp", "selp",
                         "slct",  "fma",  "rcp",  "sqrt",  "rsqrt",    "sin",     "cos", "lg2",  "ex2",  "tanh",
                         "addc",  "subc", "madc", "testp", "copysign", "isspacep"};
/// Registers from registers of all lanes.
const Names kExchanges = {"shfl", "vote", "match", "redux", "activemask", "elect"};

bool tellsTime(const Instruction& instruction) {
    return std::any_of(instruction.operands.begin(), instruction.operands.end(), [](const Operand& o) {
        return o.kind == Operand::Kind::sreg &&
               (o.name.starts_with("clock") || o.name.starts_with("globaltimer") || o.name.starts_with("pm"));
    });
}

bool isStrong(const Instruction& instruction) {
    for (const std::string_view order : {"volatile", "relaxed", "acquire", "release", "mmio", "async"})
        if (instruction.has(order)) return true;
    return false;
}

/// A kernel's parameters are constants; those of calls are places that instructions write.
bool readsKernelParameter(const Function& function, const Instruction& load) {
    if (!function.isKernel || load.operands.size() < 2) return false;
    const Operand& address = load.operands[1];
    if (address.baseIsReg) return true;
    return std::any_of(function.params.begin(), function.params.end(),
                       [&](const Variable& v) { return v.name == address.name; });
}

Motion motionOfLoad(const Function& function, const Instruction& load) {
    const bool ofParameters = std::any_of(load.modifiers.begin(), load.modifiers.end(),
                                          [](const std::string& m) { return m.starts_with("param"); });
    if (ofParameters) return readsKernelParameter(function, load) ? Motion::constantLoad : Motion::fixed;
    if (isStrong(load)) return Motion::ordered;
    return load.has("const") || load.has("nc") ? Motion::constantLoad : Motion::load;
}

void renameOperand(Operand& operand, const Function& function, int from, int to) {
    if ((operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::address) && operand.reg == from) {
        operand.reg = to;
        operand.name = function.registers[static_cast<std::size_t>(to)].name;
    }
    for (Operand& part : operand.parts) renameOperand(part, function, from, to);
}

/// Whether the first operand holds results alone.
bool writesFirst(const Instruction& instruction) {
    if (instruction.operands.empty() || instruction.operands[0].kind == Operand::Kind::address) return false;
    static const Names readsAll = {"st",  "red",  "bra",  "brx", "call",    "nanosleep",
                                   "ret", "exit", "trap", "bar", "barrier", "stackrestore"};
    return !isOneOf(readsAll, instruction.opcode) || instruction.has("red");
}

}  // namespace

bool RegisterSet::addAll(const RegisterSet& other) {
    bool added = false;
    for (std::size_t w = 0; w < words_.size(); ++w) {
        added |= (other.words_[w] & ~words_[w]) != 0;
        words_[w] |= other.words_[w];
    }
    return added;
}

void RegisterSet::removeAll(const RegisterSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= ~other.words_[w];
}

Effects withoutOwn(Effects effects, const RegisterCounts& counts) {
    for (const int reg : effects.writes)
        if (counts.writes[static_cast<std::size_t>(reg)] == 1) std::erase(effects.reads, reg);
    return effects;
}

BlockLiveness::BlockLiveness(const Function& function, const BlockGraph& graph, Guarded guarded) {
    const RegisterCounts counts(function, graph);
    const std::size_t registers = function.registers.size(), count = graph.blocks.size();
    in.assign(count, RegisterSet(registers));
    out = in;
    std::vector<RegisterSet> written = in;
    for (std::size_t b = 0; b < count; ++b) {
        const auto note = [&](const Instruction& instruction) {
            const Effects all = effectsOf(function, instruction);
            const Effects effects = guarded == Guarded::keeps ? all : withoutOwn(all, counts);
            for (const int reg : effects.reads)
                if (!written[b].has(reg)) in[b].add(reg);
            for (const int reg : effects.writes) written[b].add(reg);
        };
        for (const Instruction& instruction : graph.blocks[b].code) note(instruction);
        if (graph.blocks[b].branch) note(*graph.blocks[b].branch);
    }
    const std::vector<std::vector<int>> before = graph.predecessors();
    std::vector<int> work;
    std::vector<bool> waits(count, true);
    for (std::size_t b = 0; b < count; ++b) work.push_back(static_cast<int>(b));
    while (!work.empty()) {
        const auto b = static_cast<std::size_t>(work.back());
        work.pop_back();
        waits[b] = false;
        for (const int predecessor : before[b]) {
            const auto p = static_cast<std::size_t>(predecessor);
            if (!out[p].addAll(in[b])) continue;
            RegisterSet passing = out[p];
            passing.removeAll(written[p]);
            if (in[p].addAll(passing) && !waits[p]) {
                waits[p] = true;
                work.push_back(predecessor);
            }
        }
    }
}

RegisterCounts::RegisterCounts(const Function& function, const BlockGraph& graph)
    : writes(function.registers.size(), 0), reads(function.registers.size(), 0) {
    const auto count = [&](const Instruction& instruction) {
        const Effects effects = effectsOf(function, instruction);
        for (const int reg : effects.writes) ++writes[static_cast<std::size_t>(reg)];
        for (const int reg : effects.reads) ++reads[static_cast<std::size_t>(reg)];
    };
    for (const BlockGraph::Block& block : graph.blocks) {
        for (const Instruction& instruction : block.code) count(instruction);
        if (block.branch) count(*block.branch);
    }
    // Formals in registers are written before the first instruction and read after the last.
    for (const auto* formals : {&function.params, &function.results})
        for (const Variable& formal : *formals)
            for (std::size_t r = 0; formal.space == Space::reg && r < function.registers.size(); ++r)
                if (function.registers[r].name == formal.name) {
                    writes[r] += 2;
                    reads[r] += 2;
                }
}

Motion motionOf(const Function& function, const Instruction& instruction) {
    const std::string& opcode = instruction.opcode;
    if (tellsTime(instruction)) return Motion::fixed;
    if (isOneOf(kComputes, opcode) || isOneOf(kExchanges, opcode)) return Motion::free;
    if (opcode == "ld") return motionOfLoad(function, instruction);
    // Bulk copies and asynchronous stores touch several spaces, and end at an object that others look at.
    if (instruction.has("bulk") || (opcode != "cp" && instruction.has("async"))) return Motion::fixed;
    if (opcode == "st") {
        for (const std::string& m : instruction.modifiers)
            if (m.starts_with("param")) return Motion::fixed;
        return isStrong(instruction) ? Motion::ordered : Motion::store;
    }
    static const Names ordered = {"atom", "red", "bar", "barrier", "membar", "fence", "cp", "prefetch", "prefetchu"};
    return isOneOf(ordered, opcode) ? Motion::ordered : Motion::fixed;
}

UniformRegisters::UniformRegisters(const Function& function, const BlockGraph& graph)
    : varies_(function.registers.size(), false) {
    for (bool changed = true; changed;) {
        changed = false;
        for (const BlockGraph::Block& block : graph.blocks)
            for (const Instruction& i : block.code) {
                const Effects effects = effectsOf(function, i);
                if (!givesDifferent(function, i, effects)) continue;
                for (const int reg : effects.writes) {
                    if (varies(reg)) continue;
                    varies_[static_cast<std::size_t>(reg)] = changed = true;
                }
            }
    }
}

bool UniformRegisters::givesDifferent(const Function& function, const Instruction& i, const Effects& effects) const {
    for (const int reg : effects.reads)
        if (varies(reg)) return true;
    const Motion motion = motionOf(function, i);
    if (motion != Motion::free && motion != Motion::constantLoad) return true;
    if (isFloat(typeOf(i)) && i.opcode != "ld") return true;  // only integers are computed for all threads at once
    return std::any_of(i.operands.begin(), i.operands.end(), [](const Operand& o) {
        return o.kind == Operand::Kind::sreg && !o.name.starts_with("ctaid") && !o.name.starts_with("n");
    });
}

bool usesCarry(const Instruction& instruction) {
    return instruction.has("cc") || instruction.opcode == "addc" || instruction.opcode == "subc" ||
           instruction.opcode == "madc";
}

bool isConvergent(const Instruction& instruction) {
    return !isOneOf(kComputes, instruction.opcode) && instruction.opcode != "ld" && instruction.opcode != "st";
}

bool isOpcode(const Instruction& i, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), i.opcode) != names.end();
}

Type modifierType(std::string_view modifier) {
    return typeNamed(modifier).value_or(Type::none);
}

Type typeOf(const Instruction& instruction) {
    for (auto m = instruction.modifiers.rbegin(); m != instruction.modifiers.rend(); ++m)
        if (const Type type = modifierType(*m); type != Type::none) return type;
    return Type::none;
}

void renameReads(Instruction& instruction, const Function& function, int from, int to) {
    if (instruction.guard == from) instruction.guard = to;
    for (std::size_t i = writesFirst(instruction) ? 1 : 0; i < instruction.operands.size(); ++i)
        renameOperand(instruction.operands[i], function, from, to);
}

void renameWrites(Instruction& instruction, const Function& function, int from, int to) {
    if (writesFirst(instruction)) renameOperand(instruction.operands[0], function, from, to);
}

int addRegisterLike(Function& function, int reg) {
    Register copy = function.registers[static_cast<std::size_t>(reg)];
    copy.name += "'" + std::to_string(function.registers.size());
    function.registers.push_back(std::move(copy));
    return static_cast<int>(function.registers.size()) - 1;
}

}  // namespace bulkhead::ptx
