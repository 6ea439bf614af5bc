#include "ptx/block_barriers.h"

#include <algorithm>

#include "ptx/control_flow.h"

namespace bulkhead::ptx {
namespace {

bool isOfBlock(const Instruction& i) {
    return (i.opcode == "bar" || i.opcode == "barrier") && !i.has("warp") && !i.has("cluster") && !i.operands.empty();
}

/// d, a, {b}, p of a vote; a, {b} of the others.
std::size_t positionOfId(const Instruction& i) {
    return i.has("red") ? 1 : 0;
}
bool isCounted(const Instruction& i) {
    return i.operands.size() >= (i.has("red") ? 4 : 2);
}

bool mentions(const Operand& operand, int reg) {
    return operand.reg == reg || std::any_of(operand.parts.begin(), operand.parts.end(),
                                             [&](const Operand& part) { return mentions(part, reg); });
}

/// A number as it is written, or the only one that a register is ever given.
std::optional<unsigned> valueOf(const Function& function, const Operand& operand) {
    if (operand.kind == Operand::Kind::integer) return static_cast<unsigned>(operand.integer);
    if (operand.kind != Operand::Kind::reg) return std::nullopt;
    std::optional<unsigned> value;
    for (const Instruction& i : function.body) {
        if (i.operands.empty() || !mentions(i.operands[0], operand.reg)) continue;  // where results are
        const std::vector<int> writes = effectsOf(function, i).writes;
        if (std::find(writes.begin(), writes.end(), operand.reg) == writes.end()) continue;
        if (i.opcode != "mov" || i.guard >= 0 || i.operands.size() != 2 || i.operands[1].kind != Operand::Kind::integer)
            return std::nullopt;
        const auto now = static_cast<unsigned>(i.operands[1].integer);
        if (value.value_or(now) != now) return std::nullopt;
        value = now;
    }
    return value;
}

}  // namespace

std::optional<BlockBarrier> blockBarrier(const Function& function, const Instruction& i) {
    if (!isOfBlock(i)) return std::nullopt;
    BlockBarrier barrier;
    if (i.has("arrive")) barrier.kind = BlockBarrier::Kind::arrive;
    if (i.has("red")) barrier.kind = BlockBarrier::Kind::vote;
    barrier.isCounted = isCounted(i);
    if (positionOfId(i) < i.operands.size()) barrier.id = valueOf(function, i.operands[positionOfId(i)]);
    return barrier;
}

bool isBarrierForAll(const Instruction& i) {
    return isOfBlock(i) && !isCounted(i);
}

}  // namespace bulkhead::ptx
