#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// A function's body as basic blocks that can be changed, and made a body again. The first block is the entry.
class BlockGraph {
  public:
    static constexpr int kNone = -1;

    struct Block {
        std::vector<Instruction> code;      ///< all but the branch at its end
        std::optional<Instruction> branch;  ///< goes to `taken`, or by `table`, where its guard holds
        int taken = kNone;
        int next = kNone;        ///< where it goes without a branch; none if it leaves the function
        std::vector<int> table;  ///< of a branch by index

        bool isConditional() const { return branch && taken != kNone; }
        std::vector<int> successors() const;
    };

    explicit BlockGraph(const Function&);

    /// Replaces the function's body, its labels and its tables of branch targets.
    void putBack(Function&) const;

    std::vector<Block> blocks;

    /// Blocks that lead to each, of those that the entry leads to.
    std::vector<std::vector<int>> predecessors() const;
    /// How many loops each block is in, by back edges of a walk from the entry; -1 if nothing leads to it.
    std::vector<int> loopDepths() const;

    /// Joins blocks that always follow each other, leads jumps to where they end up, and takes branches away whose two
    /// ways are one.
    void straighten();

  private:
    std::vector<int> layout() const;
    void skipEmptyBlocks();
    bool joinFollowers();

    std::vector<BranchTargets> tables_;
    std::vector<std::vector<int>> tableBlocks_;  ///< by table: where each of its labels leads
};

/// Whether lanes never come behind this instruction: an unguarded ret, exit or trap.
bool endsThread(const Instruction&);

}  // namespace bulkhead::ptx
