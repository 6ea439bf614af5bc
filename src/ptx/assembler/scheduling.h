#pragma once

#include "ptx/assembler/block_graph.h"

namespace bulkhead::ptx {

/// Orders the instructions of each block so that what takes long begins early and what needs its result comes late: the
/// next instruction is the first, in the order written, whose operands are there. Only a stretch of the block is looked
/// at, since every result that waits takes a register. Accesses to memory keep their order where they may concern the
/// same place. An instruction that is a part of the one behind it stays before it. Notes how many registers that needs
/// (Function::liveRegisters).
void scheduleBlocks(Function&, BlockGraph&);

}  // namespace bulkhead::ptx
