#pragma once

#include "ptx/assembler/block_graph.h"

namespace bulkhead::ptx {

/// Loads of neighbouring words of shared memory become one of two or four words, where the address is known to be
/// aligned for it.
void joinSharedLoads(const Function&, BlockGraph&, const Module&);

}  // namespace bulkhead::ptx
