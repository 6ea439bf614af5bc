#pragma once

#include "ptx/assembler/block_graph.h"

namespace bulkhead::ptx {

/// Finds how many machine instructions each instruction takes (Instruction::slots), by what NVIDIA's assembler makes of
/// it for compute capability 9.0: none if another one takes it in, more where there is no such machine instruction.
/// Instructions that are taken in are moved before the one that does.
void countIssueSlots(const Function&, BlockGraph&);

}  // namespace bulkhead::ptx
