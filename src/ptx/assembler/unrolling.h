#pragma once

#include "ptx/assembler/block_graph.h"

namespace bulkhead::ptx {

/// Repeats the bodies of innermost counted loops: as long as four iterations are left four are done at once, then two
/// if two are left; what remains goes through the loop as it was. A loop counts if it is one block, a register steps
/// by a constant, and a comparison of that register with something that does not change decides at its end. Like
/// NVIDIA's assembler it leaves loops alone whose addresses are all computed anew in each iteration.
void unrollCountedLoops(Function&, BlockGraph&);

}  // namespace bulkhead::ptx
