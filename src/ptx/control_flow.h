#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// Which registers an instruction reads and writes (indices into Function::registers). A guarded write is also a
/// read: lanes whose guard is false keep the old value. Operands of kind list name .param variables or registers.
struct Effects {
    std::vector<int> reads, writes;
};
Effects effectsOf(const Function&, const Instruction&);

/// What counts as a way out of a function.
enum class WaysOut : std::uint8_t {
    /// For where lanes of a warp meet again. A guarded ret, exit or trap ends no block and is no way out: the lanes
    /// that leave there have nobody to meet. Nor is an exit or a trap where others go on to a ret.
    unguarded,
    /// For what threads have in common. Every ret and exit is a way out; trap is none, since it ends the launch.
    all,
};

/// Basic blocks in program order; successors; immediate post-dominators. A loop without a way out counts as leaving at
/// its last block.
struct ControlFlow {
    struct Block {
        int first, last;  ///< instructions [first, last)
        std::vector<int> successors;
        bool leaves = false;   ///< may end the function: by a way out, or the end of the body
        bool givesUp = false;  ///< ... by an exit or a trap that all lanes take
        int postDominator;     ///< block index, or -1 = the function's exit
    };
    std::vector<Block> blocks;
    std::vector<int> blockOf;  ///< per instruction

    /// Where lanes that part at instruction i (a branch) meet again: an instruction index, or body.size() when only
    /// at the function's end.
    int reconvergenceOf(int instruction) const;
    /// Blocks that can be reached from the end of a block without passing the instruction `meet` (-1: any).
    std::vector<int> reachableFrom(int block, int meet) const;
    int bodySize = 0;
};
ControlFlow analyseControlFlow(const Function&, WaysOut = WaysOut::unguarded);

/// Per-thread liveness of registers.
struct Liveness {
    struct Interval {
        int first = -1, last = -1;  ///< instruction indices, inclusive, holes filled; -1 = never used
    };
    std::vector<Interval> intervals;  ///< per register
    int maxLive32 = 0;                ///< the most 32-bit registers live at once (b64 counts two, predicates none)
    int maxLivePredicates = 0;
};
Liveness analyseLiveness(const Function&, const ControlFlow&);

}  // namespace bulkhead::ptx
