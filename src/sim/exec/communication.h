#pragma once

#include "ptx/module.h"

namespace bulkhead::sim {

/// Whether blocks can learn by this instruction what others of the grid have done: atomics, fences, and accesses that
/// are volatile or ordered, or pass by the caches, unless they are of the block or its cluster. Without any, nothing
/// orders what two blocks do to the same memory, and PTX's memory model does not say what one of them would read.
bool communicates(const ptx::Instruction&);

}  // namespace bulkhead::sim
