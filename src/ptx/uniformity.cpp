#include "ptx/uniformity.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace bulkhead::ptx {
namespace {

/// Special registers that are one value for all threads of a block.
bool isOfBlock(std::string_view name) {
    static constexpr std::string_view kOfBlock[] = {"ntid",   "ctaid",  "nctaid",     "smid",        "nsmid",
                                                    "gridid", "envreg", "total_smem", "dynamic_smem"};
    return std::any_of(std::begin(kOfBlock), std::end(kOfBlock),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool readsOwnValue(const Operand& operand) {
    if (operand.kind == Operand::Kind::sreg) return !isOfBlock(operand.name);
    return std::any_of(operand.parts.begin(), operand.parts.end(), readsOwnValue);
}

/// Whether an instruction gives all threads the same if its operands are. Not those with a carry, which is no operand.
bool isFunctionOfOperands(const Instruction& i) {
    static const std::unordered_set<std::string_view> kSuch = {
        "mov",  "add",  "sub",  "mul",   "mad",      "mul24", "mad24", "fma",     "div",  "rem",  "abs",
        "neg",  "min",  "max",  "and",   "or",       "xor",   "not",   "cnot",    "shl",  "shr",  "shf",
        "bfe",  "bfi",  "bmsk", "bfind", "brev",     "clz",   "popc",  "prmt",    "lop3", "sad",  "szext",
        "dp2a", "dp4a", "setp", "set",   "selp",     "slct",  "cvt",   "cvta",    "rcp",  "sqrt", "rsqrt",
        "sin",  "cos",  "lg2",  "ex2",   "copysign", "testp", "tanh",  "isspacep"};
    return kSuch.contains(i.opcode);
}

/// Where a load or a store of parameters goes; null where the instruction is none, or not well formed.
const Operand* parameterAddress(const Instruction& i, std::string_view opcode) {
    const std::size_t at = opcode == "ld" ? 1 : 0;
    return i.opcode == opcode && i.has("param") && at < i.operands.size() ? &i.operands[at] : nullptr;
}

bool isIn(const std::vector<Variable>& variables, const std::string& name) {
    return std::any_of(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == name; });
}

}  // namespace

Uniformity::State::State(const Function& function)
    : flow(analyseControlFlow(function, WaysOut::all)),
      parted(function.body.size()),
      differentGuard(function.body.size()),
      differentReads(function.body.size()),
      different(function.registers.size()) {
    for (const Instruction& i : function.body) {
        effects.push_back(effectsOf(function, i));
        const Operand* const stored = parameterAddress(i, "st");
        if (stored == nullptr || !stored->baseIsReg) continue;
        // It may store to any of them.
        for (const Variable& v : function.variables)
            if (v.space == Space::param) variables.insert(v.name);
        for (const Variable& v : function.results) variables.insert(v.name);
    }
}

Uniformity::Uniformity(const Function& kernel, const CallGraph& graph) : graph_(graph) {
    const std::vector<const Function*> functions = graph.reachable(kernel);
    for (const Function* function : functions) states_.emplace(function, *function);
    for (bool changed = true; changed;) {
        changed = false;
        for (const Function* function : functions) changed |= update(*function, states_.at(function));
    }
}

bool Uniformity::guardDiffers(const Function& function, std::size_t instruction) const {
    return states_.at(&function).differentGuard[instruction];
}
bool Uniformity::readsDiffer(const Function& function, std::size_t instruction) const {
    return states_.at(&function).differentReads[instruction];
}

bool Uniformity::parts(const Function& function, std::size_t instruction) const {
    const std::string& opcode = function.body[instruction].opcode;
    if (opcode == "brx") return readsDiffer(function, instruction);
    return (opcode == "bra" || opcode == "ret" || opcode == "exit") && guardDiffers(function, instruction);
}

/// Finds out more about a function. Everything is taken to be the same until something shows that it is not.
bool Uniformity::update(const Function& function, State& state) {
    bool changed = false;
    for (const ControlFlow::Block& block : state.flow.blocks) changed |= update(function, state, block);
    for (std::size_t i = 0; i < function.body.size(); ++i) {
        if (!parts(function, i)) continue;
        // Everything that can be reached before the threads meet again.
        const int meet = state.flow.reconvergenceOf(static_cast<int>(i));
        for (const int block : state.flow.reachableFrom(state.flow.blockOf[i], meet))
            for (int j = state.flow.blocks[block].first; j < state.flow.blocks[block].last; ++j) {
                changed = changed || !state.parted[j];
                state.parted[j] = true;
            }
    }
    return changed;
}

bool Uniformity::update(const Function& function, State& state, const ControlFlow::Block& block) {
    bool changed = false;
    std::map<int, bool> here;  // what registers have been given in this block, which is what is read from then on
    const auto differs = [&](int reg) {
        const auto found = here.find(reg);
        return found != here.end() ? found->second : state.different[reg];
    };
    for (int n = block.first; n < block.last; ++n) {
        const Instruction& i = function.body[n];
        const Effects& effects = state.effects[n];
        state.differentGuard[n] = i.guard >= 0 && differs(i.guard);
        state.differentReads[n] = std::any_of(effects.reads.begin(), effects.reads.end(), differs);
        if (i.opcode == "call") changed |= passArguments(function, state, i);
        const bool different = givesDifferent(function, state, static_cast<std::size_t>(n));
        for (const int reg : effects.writes) {
            here[reg] = different;
            changed = changed || (different && !state.different[reg]);
            state.different[reg] = state.different[reg] || different;
        }
        if (!different) continue;
        if (const Operand* const stored = parameterAddress(i, "st"))
            changed |= state.variables.insert(stored->name).second;
        if (i.opcode == "call" && CallOperands(i).results)
            for (const Operand& result : CallOperands(i).results->parts)
                changed |= state.variables.insert(result.name).second;
    }
    return changed;
}

bool Uniformity::givesDifferent(const Function& function, const State& state, std::size_t instruction) const {
    const Instruction& i = function.body[instruction];
    if (state.parted[instruction] || state.differentGuard[instruction]) return true;
    if (i.opcode == "bar" || i.opcode == "barrier") return false;  // a vote, whoever votes for what
    if (i.opcode == "call") return returnsDifferent(function, i);
    if (state.differentReads[instruction] || std::any_of(i.operands.begin(), i.operands.end(), readsOwnValue))
        return true;
    if (i.opcode == "st") return false;
    if (i.opcode == "ld" || i.opcode == "ldu") return loadsDifferent(function, state, i);
    return !isFunctionOfOperands(i);
}

/// From an address that is the same for all.
bool Uniformity::loadsDifferent(const Function& function, const State& state, const Instruction& i) const {
    if (i.has("const") || i.has("nc") || i.opcode == "ldu") return false;
    const Operand* const address = parameterAddress(i, "ld");
    if (address == nullptr) return true;
    if (address->baseIsReg) {
        const bool calls = std::any_of(function.body.begin(), function.body.end(),
                                       [](const Instruction& other) { return other.opcode == "call"; });
        return !function.isKernel || calls;  // else it can only be a parameter of the kernel
    }
    if (function.isKernel && isIn(function.params, address->name)) return false;
    return state.variables.contains(address->name);
}

bool Uniformity::returnsDifferent(const Function& caller, const Instruction& call) const {
    const CallOperands operands(call);
    const std::vector<const Function*> targets = graph_.targets(caller, call);
    // What the driver provides, and what threads choose by themselves.
    if (targets.empty() || operands.callee->kind != Operand::Kind::symbol) return true;
    return std::any_of(targets.begin(), targets.end(), [&](const Function* target) {
        return std::any_of(target->results.begin(), target->results.end(), [&](const Variable& result) {
            return result.space == Space::reg || states_.at(target).variables.contains(result.name);
        });
    });
}

bool Uniformity::passArguments(const Function& caller, const State& state, const Instruction& call) {
    const CallOperands operands(call);
    if (!operands.arguments) return false;
    bool changed = false;
    const std::vector<Operand>& arguments = operands.arguments->parts;
    for (const Function* target : graph_.targets(caller, call))
        for (std::size_t k = 0; k < std::min(arguments.size(), target->params.size()); ++k) {
            const Variable& parameter = target->params[k];
            const bool isKnown = parameter.space == Space::param && arguments[k].kind == Operand::Kind::symbol;
            if (isKnown && !state.variables.contains(arguments[k].name)) continue;
            State& of = states_.at(target);
            changed |= of.variables.insert(parameter.name).second;
            for (std::size_t reg = 0; reg < target->registers.size(); ++reg) {
                if (parameter.space != Space::reg || target->registers[reg].name != parameter.name) continue;
                changed |= !of.different[reg];
                of.different[reg] = true;
            }
        }
    return changed;
}

}  // namespace bulkhead::ptx
