#include "ptx/control_flow.h"

#include <algorithm>

namespace bulkhead::ptx {

namespace {

void addUnique(std::vector<int>& set, int value) {
    if (value >= 0 && std::find(set.begin(), set.end(), value) == set.end()) set.push_back(value);
}

void readAll(const Operand& operand, Effects& effects) {
    if (operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::address) {
        addUnique(effects.reads, operand.reg);
    }
    for (const Operand& part : operand.parts) readAll(part, effects);
}

/// `keepsOld`: some lanes or parts of the register keep their old value, so it is read as well.
void write(const Operand& operand, bool keepsOld, Effects& effects) {
    if (operand.kind == Operand::Kind::reg) {
        addUnique(effects.writes, operand.reg);
        if (keepsOld || operand.element >= 0) addUnique(effects.reads, operand.reg);
    } else if (operand.kind == Operand::Kind::address) {
        readAll(operand, effects);
    }
    for (const Operand& part : operand.parts) write(part, keepsOld, effects);
}

/// Whether the first operand is a result, given that it is not an address: that first operand of st, red, prefetch,
/// cp.async and the like is where they write to memory.
bool writesFirstOperand(const Instruction& instruction) {
    const std::string& opcode = instruction.opcode;
    if (opcode == "bar" || opcode == "barrier") return instruction.has("red");
    for (std::string_view none : {"bra", "brx", "call", "nanosleep", "pmevent", "setmaxnreg", "stackrestore", "st",
                                  "red", "cp", "membar", "fence", "prefetch", "prefetchu", "ret", "exit", "trap"}) {
        if (opcode == none) return false;
    }
    return true;
}

/// Whether an instruction ends its block because threads may end there.
bool isEnd(const Instruction& instruction, WaysOut ways) {
    const bool leaves = instruction.opcode == "ret" || instruction.opcode == "exit";
    if (instruction.guard >= 0) return leaves && ways == WaysOut::all;
    return leaves || instruction.opcode == "trap";
}

int labelIndex(const Function& function, const Instruction& instruction, const std::string& label) {
    auto found = function.labels.find(label);
    if (found == function.labels.end()) {
        throw Error("{}: line {}: undefined label '{}'", function.name, instruction.position.line, label);
    }
    return found->second;
}

/// Where a branch may go, apart from the next instruction.
std::vector<int> targetsOf(const Function& function, const Instruction& instruction) {
    std::vector<int> targets;
    if (instruction.opcode == "bra") {
        targets.push_back(labelIndex(function, instruction, instruction.operands.at(0).name));
    } else if (instruction.opcode == "brx") {
        const std::string& name = instruction.operands.at(1).name;
        auto table = std::find_if(function.branchTargets.begin(), function.branchTargets.end(),
                                  [&](const BranchTargets& t) { return t.name == name; });
        if (table == function.branchTargets.end()) {
            throw Error("{}: line {}: undefined table '{}'", function.name, instruction.position.line, name);
        }
        for (const std::string& label : table->labels) {
            addUnique(targets, labelIndex(function, instruction, label));
        }
    }
    return targets;
}

bool isBranch(const Instruction& instruction) {
    return instruction.opcode == "bra" || instruction.opcode == "brx";
}

/// The graph against the flow, with one node more than there are blocks: the function's exit.
class PostDominators {
  public:
    explicit PostDominators(std::vector<ControlFlow::Block>& blocks)
        : blocks_(blocks), exit_(static_cast<int>(blocks.size())), predecessors_(blocks.size() + 1) {
        findGivingUp();
        for (int b = 0; b < exit_; ++b) {
            for (int successor : blocks_[b].successors)
                if (counts(b, successor)) predecessors_[successor].push_back(b);
            if (blocks_[b].leaves) predecessors_[exit_].push_back(b);
        }
    }

    /// "A Simple, Fast Dominance Algorithm" (Cooper, Harvey, Kennedy), run from the exit.
    void compute() {
        order();
        if (std::find(number_.begin(), number_.end(), -1) != number_.end()) {
            openEndlessLoops();
            order();
        }
        parent_.assign(blocks_.size() + 1, -1);
        parent_[exit_] = exit_;
        for (bool changed = true; changed;) {
            changed = false;
            for (auto it = postOrder_.rbegin(); it != postOrder_.rend(); ++it) {
                int b = *it;
                if (b == exit_) continue;
                int meet = -1;
                auto join = [&](int successor) {
                    if (parent_[successor] < 0 || !counts(b, successor)) return;
                    meet = meet < 0 ? successor : intersect(meet, successor);
                };
                for (int successor : blocks_[b].successors) join(successor);
                if (leaves(b)) join(exit_);
                if (parent_[b] != meet) {
                    parent_[b] = meet;
                    changed = true;
                }
            }
        }
        for (int b = 0; b < exit_; ++b) blocks_[b].postDominator = parent_[b] == exit_ ? -1 : parent_[b];
    }

  private:
    /// Blocks all of whose ways end where lanes give up.
    void findGivingUp() {
        givesUp_.assign(blocks_.size() + 1, false);
        for (bool changed = true; changed;) {
            changed = false;
            for (int b = exit_ - 1; b >= 0; --b) {
                if (givesUp_[b]) continue;
                const auto& successors = blocks_[b].successors;
                const bool all = !blocks_[b].leaves && !successors.empty() &&
                                 std::all_of(successors.begin(), successors.end(), [&](int s) { return givesUp_[s]; });
                if (blocks_[b].givesUp || all) givesUp_[b] = changed = true;
            }
        }
    }
    /// Lanes that give up behind this edge have nobody to meet, where others go on.
    bool counts(int from, int to) const { return givesUp_[from] || !givesUp_[to]; }

    bool leaves(int b) const { return blocks_[b].leaves || (!leavesEndlessLoop_.empty() && leavesEndlessLoop_[b]); }

    void order() {
        postOrder_.clear();
        number_.assign(blocks_.size() + 1, -1);
        struct Frame {
            int node;
            std::size_t next;
        };
        std::vector<Frame> stack{{exit_, 0}};
        std::vector<bool> seen(blocks_.size() + 1);
        seen[exit_] = true;
        while (!stack.empty()) {
            Frame& frame = stack.back();
            if (frame.next == predecessors_[frame.node].size()) {
                number_[frame.node] = static_cast<int>(postOrder_.size());
                postOrder_.push_back(frame.node);
                stack.pop_back();
                continue;
            }
            int predecessor = predecessors_[frame.node][frame.next++];
            if (!seen[predecessor]) {
                seen[predecessor] = true;
                stack.push_back({predecessor, 0});
            }
        }
    }

    int intersect(int a, int b) const {
        while (a != b) {
            while (number_[a] < number_[b]) a = parent_[a];
            while (number_[b] < number_[a]) b = parent_[b];
        }
        return a;
    }

    /// Blocks that never reach the exit end up in loops nothing leads out of. The last block of each such loop (a
    /// strongly connected component without successors, found by Tarjan's algorithm) is joined to the exit.
    void openEndlessLoops() {
        leavesEndlessLoop_.assign(blocks_.size(), false);
        std::vector<int> index(blocks_.size(), -1), low(blocks_.size(), 0), component(blocks_.size(), -1), open;
        struct Frame {
            int node;
            std::size_t next;
        };
        int counter = 0, components = 0;
        for (int root = 0; root < exit_; ++root) {
            if (number_[root] >= 0 || index[root] >= 0) continue;
            std::vector<Frame> stack{{root, 0}};
            index[root] = low[root] = counter++;
            open.push_back(root);
            while (!stack.empty()) {
                Frame& frame = stack.back();
                int b = frame.node;
                if (frame.next < blocks_[b].successors.size()) {
                    int successor = blocks_[b].successors[frame.next++];
                    if (index[successor] < 0) {
                        index[successor] = low[successor] = counter++;
                        open.push_back(successor);
                        stack.push_back({successor, 0});
                    } else if (component[successor] < 0) {
                        low[b] = std::min(low[b], index[successor]);
                    }
                    continue;
                }
                stack.pop_back();
                if (!stack.empty()) low[stack.back().node] = std::min(low[stack.back().node], low[b]);
                if (low[b] != index[b]) continue;
                auto first = std::find(open.rbegin(), open.rend(), b).base() - 1;
                for (auto it = first; it != open.end(); ++it) component[*it] = components;
                bool isClosed = std::all_of(first, open.end(), [&](int member) {
                    const auto& successors = blocks_[member].successors;
                    return std::all_of(successors.begin(), successors.end(),
                                       [&](int s) { return component[s] == components; });
                });
                const bool isLoop = !blocks_[b].successors.empty();  // else a trap that is no way out
                if (isClosed && isLoop) {
                    int last = *std::max_element(first, open.end());
                    leavesEndlessLoop_[last] = true;
                    predecessors_[exit_].push_back(last);
                }
                open.erase(first, open.end());
                ++components;
            }
        }
    }

    std::vector<ControlFlow::Block>& blocks_;
    int exit_;
    std::vector<std::vector<int>> predecessors_;
    std::vector<bool> givesUp_, leavesEndlessLoop_;
    std::vector<int> postOrder_, number_, parent_;
};

}  // namespace

Effects effectsOf(const Function& function, const Instruction& instruction) {
    Effects effects;
    const bool guarded = instruction.guard >= 0;
    if (guarded) addUnique(effects.reads, instruction.guard);
    const auto& operands = instruction.operands;
    if (instruction.opcode == "call") {
        // (results), callee, (arguments), prototype: results come first, and only then.
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (i == 0 && operands[i].kind == Operand::Kind::list) {
                write(operands[i], guarded, effects);
            } else {
                readAll(operands[i], effects);
            }
        }
        return effects;
    }
    if (instruction.opcode == "ret") {
        // Results in registers, as PTX without an ABI has them, come before all other registers.
        for (std::size_t i = 0; i < function.results.size(); ++i) {
            if (function.results[i].space != Space::reg) continue;
            for (std::size_t r = 0; r < function.registers.size(); ++r) {
                if (function.registers[r].name != function.results[i].name) continue;
                addUnique(effects.reads, static_cast<int>(r));
                break;
            }
        }
    }
    const bool writesFirst =
        !operands.empty() && operands[0].kind != Operand::Kind::address && writesFirstOperand(instruction);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i == 0 && writesFirst) {
            // The accumulators of wgmma are both source and result.
            write(operands[i], guarded || instruction.opcode == "wgmma", effects);
        } else {
            readAll(operands[i], effects);
        }
    }
    return effects;
}

std::vector<int> ControlFlow::reachableFrom(int block, int meet) const {
    std::vector<bool> seen(blocks.size(), false);
    std::vector<int> open = blocks[block].successors, reached;
    while (!open.empty()) {
        const int next = open.back();
        open.pop_back();
        if (seen[next] || blocks[next].first == meet) continue;
        seen[next] = true;
        reached.push_back(next);
        for (int successor : blocks[next].successors) open.push_back(successor);
    }
    return reached;
}

int ControlFlow::reconvergenceOf(int instruction) const {
    int meeting = blocks[blockOf[instruction]].postDominator;
    return meeting < 0 ? bodySize : blocks[meeting].first;
}

ControlFlow analyseControlFlow(const Function& function, WaysOut ways) {
    ControlFlow flow;
    const int size = static_cast<int>(function.body.size());
    flow.bodySize = size;
    std::vector<bool> begins(static_cast<std::size_t>(size) + 1, false);
    if (size > 0) begins[0] = true;
    for (int i = 0; i < size; ++i) {
        const Instruction& instruction = function.body[i];
        if (isBranch(instruction) || isEnd(instruction, ways)) begins[i + 1] = true;
        if (isBranch(instruction)) {
            for (int target : targetsOf(function, instruction)) begins[target] = true;
        }
    }
    flow.blockOf.resize(size);
    for (int i = 0; i < size; ++i) {
        if (begins[i]) {
            if (!flow.blocks.empty()) flow.blocks.back().last = i;
            flow.blocks.push_back({i, size, {}, false, false, -1});
        }
        flow.blockOf[i] = static_cast<int>(flow.blocks.size()) - 1;
    }
    for (ControlFlow::Block& block : flow.blocks) {
        const Instruction& last = function.body[block.last - 1];
        auto goTo = [&](int instruction) {
            if (instruction == size) {
                block.leaves = true;
            } else {
                addUnique(block.successors, flow.blockOf[instruction]);
            }
        };
        if (isEnd(last, ways)) {
            block.leaves = last.opcode != "trap" || ways == WaysOut::unguarded;
            block.givesUp = last.opcode != "ret" && ways == WaysOut::unguarded;
            if (last.guard < 0) continue;
        }
        bool fallsThrough = !isBranch(last) || last.guard >= 0;
        if (fallsThrough) goTo(block.last);
        if (isBranch(last)) {
            for (int target : targetsOf(function, last)) goTo(target);
        }
    }
    // Where nobody returns, an exit is the end.
    const bool returns = std::any_of(flow.blocks.begin(), flow.blocks.end(),
                                     [](const ControlFlow::Block& b) { return b.leaves && !b.givesUp; });
    if (!returns)
        for (ControlFlow::Block& block : flow.blocks) block.givesUp = false;
    PostDominators(flow.blocks).compute();
    return flow;
}

}  // namespace bulkhead::ptx
