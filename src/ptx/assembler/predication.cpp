#include "ptx/assembler/predication.h"

#include <algorithm>

#include "ptx/assembler/dataflow.h"

namespace bulkhead::ptx {
namespace {

/// A side of a branch that is longer stays behind it.
constexpr std::size_t kLongestSide = 8;

/// Sequences on hardware: a branch around them is worth its cost.
bool takesLong(const Instruction& instruction) {
    const std::string& opcode = instruction.opcode;
    const bool approximates = instruction.has("approx");
    if (opcode == "div" || opcode == "sqrt" || opcode == "rcp") return !approximates;
    return opcode == "rem";
}

class Predication {
  public:
    Predication(Function& function, BlockGraph& graph) : function_(function), graph_(graph) {}

    void run() {
        for (bool changed = true; changed;) {
            changed = false;
            const BlockLiveness live(function_, graph_);
            const auto before = graph_.predecessors();
            touched_.assign(graph_.blocks.size(), false);
            for (std::size_t b = 0; b < graph_.blocks.size(); ++b)
                changed |= convert(static_cast<int>(b), live, before);
            graph_.straighten();
        }
    }

  private:
    using Block = BlockGraph::Block;
    Block& at(int block) { return graph_.blocks[static_cast<std::size_t>(block)]; }

    /// A block that only this branch leads to and that goes on to one other; -1 if the way does not lead to such.
    int sideOf(int from, int to, const std::vector<std::vector<int>>& before) {
        const auto& leading = before[static_cast<std::size_t>(to)];
        const Block& side = at(to);
        const bool isSide = to != from && to != 0 && leading.size() == 1 && leading.front() == from && !side.branch &&
                            side.next != BlockGraph::kNone && side.next != to;
        return isSide ? to : BlockGraph::kNone;
    }

    bool canBeGuarded(const Block& side, int guard) const {
        if (side.code.size() > kLongestSide) return false;
        return std::all_of(side.code.begin(), side.code.end(), [&](const Instruction& i) {
            if (i.guard >= 0 || isConvergent(i) || usesCarry(i) || takesLong(i)) return false;
            const Motion motion = motionOf(function_, i);
            if (motion == Motion::ordered || motion == Motion::fixed) return false;
            const Effects effects = effectsOf(function_, i);
            return std::find(effects.writes.begin(), effects.writes.end(), guard) == effects.writes.end();
        });
    }

    bool convert(int from, const BlockLiveness& live, const std::vector<std::vector<int>>& before) {
        if (!at(from).isConditional()) return false;
        const int guard = at(from).branch->guard;
        const int taken = at(from).taken, next = at(from).next;
        if (next == BlockGraph::kNone || taken == next) return false;
        const int first = sideOf(from, next, before), second = sideOf(from, taken, before);
        int meet = BlockGraph::kNone;
        std::vector<int> sides;
        if (first >= 0 && second >= 0 && at(first).next == at(second).next) {
            meet = at(first).next;
            sides = {first, second};
        } else if (first >= 0 && at(first).next == taken) {
            meet = taken;
            sides = {first};
        } else if (second >= 0 && at(second).next == next) {
            meet = next;
            sides = {second};
        }
        if (sides.empty() || meet == first || meet == second) return false;
        for (const int block : {from, sides.front(), sides.back(), meet})
            if (touched_[static_cast<std::size_t>(block)]) return false;
        for (const int side : sides)
            if (!canBeGuarded(at(side), guard)) return false;
        for (const int side : sides) {
            const int other = sides.size() == 2 ? (side == first ? second : first) : meet;
            append(from, side, guard, at(from).branch->guardNegated != (side == first), live, other, meet);
        }
        at(from).branch.reset();
        at(from).taken = BlockGraph::kNone;
        at(from).next = meet;
        for (const int block : {from, sides.front(), sides.back(), meet})
            touched_[static_cast<std::size_t>(block)] = true;
        return true;
    }

    /// Results that nobody needs who has not been here may be computed by all.
    void append(int from, int side, int guard, bool negated, const BlockLiveness& live, int other, int meet) {
        for (Instruction& i : at(side).code) {
            const auto neededElsewhere = [&](int reg) {
                return live.in[static_cast<std::size_t>(meet)].has(reg) ||
                       live.in[static_cast<std::size_t>(other)].has(reg);
            };
            const Effects effects = effectsOf(function_, i);
            const bool forAll = motionOf(function_, i) == Motion::free &&
                                std::none_of(effects.writes.begin(), effects.writes.end(), neededElsewhere);
            if (!forAll) {
                i.guard = guard;
                i.guardNegated = negated;
            }
            at(from).code.push_back(std::move(i));
        }
        at(side).code.clear();
    }

    Function& function_;
    BlockGraph& graph_;
    std::vector<bool> touched_;  ///< by block: has changed in this round
};

}  // namespace

void guardShortBranches(Function& function, BlockGraph& graph) {
    Predication(function, graph).run();
}

}  // namespace bulkhead::ptx
