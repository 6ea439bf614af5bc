#include "ptx/assembler/high_halves.h"

#include <algorithm>

namespace bulkhead::ptx {
namespace {

bool truncates(const Instruction& i) {
    const Type to = modifierType(i.modifiers[i.modifiers.size() - 2]);
    return to != Type::none && !isFloat(to) && bitsOf(to) <= 32;
}

}  // namespace

HighHalves::HighHalves(const Function& function, const BlockGraph& graph) : needed_(function.registers.size(), false) {
    for (bool changed = true; changed;) {
        changed = false;
        // What is needed is known from behind.
        for (auto block = graph.blocks.rbegin(); block != graph.blocks.rend(); ++block)
            for (auto i = block->code.rbegin(); i != block->code.rend(); ++i) changed |= note(function, *i);
    }
}

bool HighHalves::note(const Function& function, const Instruction& i) {
    const Effects effects = effectsOf(function, i);
    bool changed = false;
    for (const int reg : effects.reads) {
        if (needed_[static_cast<std::size_t>(reg)]) continue;
        if (bitsOf(function.registers[static_cast<std::size_t>(reg)].type) < 64 || !readsHigh(i, reg, effects))
            continue;
        needed_[static_cast<std::size_t>(reg)] = changed = true;
    }
    return changed;
}

bool HighHalves::readsHigh(const Instruction& i, int reg, const Effects& effects) const {
    if (i.opcode == "cvt") return bitsOf(typeOf(i)) == 64 && i.modifiers.size() >= 2 && !truncates(i);
    if (isOpcode(i, {"ld", "st"})) {
        const bool isNear = i.has("shared") || i.has("local") || i.has("shared::cta");
        const bool isData = std::any_of(i.operands.begin(), i.operands.end(), [&](const Operand& o) {
            return o.kind != Operand::Kind::address && o.reg == reg;
        });
        return !isNear || isData;
    }
    const bool passes = isOpcode(i, {"add", "sub", "mov", "shl", "and", "or", "xor", "not", "selp", "mad"}) ||
                        (i.opcode == "mul" && i.has("lo"));
    if (!passes || effects.writes.size() != 1 || usesCarry(i)) return true;
    return needed_[static_cast<std::size_t>(effects.writes.front())];
}

}  // namespace bulkhead::ptx
