#pragma once

#include "ptx/assembler/block_graph.h"

namespace bulkhead::ptx {

/// Reads the source of a copy in place of the copy; a cvta of global memory is one.
void propagateCopies(Function&, BlockGraph&);

/// Adds of numbers that follow each other become one, or part of the address of a load or store.
void foldNumbers(const Function&, BlockGraph&);

/// Products and shifts that are only added become one instruction with the sum.
void fuseProducts(const Function&, BlockGraph&);

/// Takes away what computes registers that nobody reads.
void removeUnused(const Function&, BlockGraph&);

}  // namespace bulkhead::ptx
