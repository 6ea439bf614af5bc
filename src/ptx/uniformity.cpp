#include "ptx/uniformity.h"

#include <algorithm>

namespace bulkhead::ptx {
namespace {

/// Special registers that are one value for all threads of a block.
bool isUniform(const std::string& name) {
    return !(name.starts_with("tid") || name.starts_with("lane") || name.starts_with("warpid") ||
             name.starts_with("clock") || name.starts_with("globaltimer") || name.starts_with("pm"));
}

bool readsOwnValue(const Operand& operand) {
    if (operand.kind == Operand::Kind::sreg) return !isUniform(operand.name);
    return std::any_of(operand.parts.begin(), operand.parts.end(), readsOwnValue);
}

/// Whether an instruction may give threads different results though its registers are the same in all.
bool parts(const Instruction& i) {
    static const char* const kOwn[] = {"atom", "shfl", "vote", "match", "activemask", "call", "redux", "elect", "tex"};
    for (const char* opcode : kOwn)
        if (i.opcode == opcode) return true;
    if (i.opcode == "ld" || i.opcode == "ldu") return !(i.has("param") || i.has("const"));
    return std::any_of(i.operands.begin(), i.operands.end(), readsOwnValue);
}

}  // namespace

std::vector<bool> uniformRegisters(const Function& function, const ControlFlow& flow) {
    const std::size_t count = function.body.size();
    std::vector<Effects> effects;
    effects.reserve(count);
    for (const Instruction& i : function.body) effects.push_back(effectsOf(function, i));

    std::vector<bool> uniform(function.registers.size(), true);
    std::vector<bool> parted(count, false);  // instructions that only some of the threads may come to
    const auto same = [&](const std::vector<int>& registers) {
        return std::all_of(registers.begin(), registers.end(), [&](int r) { return uniform[r]; });
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < count; ++i) {
            const Instruction& instruction = function.body[i];
            const bool guarded = instruction.guard >= 0 && !uniform[instruction.guard];
            if ((instruction.opcode == "bra" || instruction.opcode == "brx") && (guarded || !same(effects[i].reads))) {
                // Everything that can be reached before the threads meet again.
                const auto index = static_cast<int>(i);
                for (int block : flow.reachableFrom(flow.blockOf[i], flow.reconvergenceOf(index)))
                    for (int j = flow.blocks[block].first; j < flow.blocks[block].last; ++j) {
                        changed = changed || !parted[j];
                        parted[j] = true;
                    }
            }
            if (!parted[i] && !guarded && !parts(instruction) && same(effects[i].reads)) continue;
            for (int r : effects[i].writes) {
                changed = changed || uniform[r];
                uniform[r] = false;
            }
        }
    }
    return uniform;
}

}  // namespace bulkhead::ptx
