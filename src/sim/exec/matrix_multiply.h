#pragma once

#include "sim/exec/program.h"

namespace bulkhead::sim {

/// mma, wmma.mma and wgmma.mma_async, by Code::matrixSites[Instr::extra]. A warp of a warpgroup computes its 16 rows
/// when it issues the instruction: until the group is waited for, no program may look at them or change the operands.
void runMatrixMultiply(const Instr&, Warp&, LaneMask);

}  // namespace bulkhead::sim
