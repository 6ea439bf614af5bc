#pragma once

#include "ptx/assembler/block_graph.h"

namespace bulkhead::ptx {

/// Turns branches around a few instructions into guards of these instructions. Loads under guards can then be under way
/// together, where each would wait behind its own branch. What computes only for the guarded instructions is executed
/// by all lanes.
void guardShortBranches(Function&, BlockGraph&);

}  // namespace bulkhead::ptx
