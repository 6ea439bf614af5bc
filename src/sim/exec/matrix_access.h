#pragma once

#include "sim/exec/program.h"

namespace bulkhead::sim {

/// Fails the launch unless all threads of the warp execute the instruction.
void expectWholeWarp(const Instr&, Warp&, LaneMask);

/// ldmatrix and stmatrix: Instr::dstCount or srcCount - 1 matrices of 8 x 8 elements of 16 bits. The first 8 lanes give
/// the addresses of the first one's rows, and so on. Transposed if Instr::target is not 0.
void runLoadMatrices(const Instr&, Warp&, LaneMask);
void runStoreMatrices(const Instr&, Warp&, LaneMask);

/// movmatrix: an 8 x 8 matrix in registers, transposed.
void runTransposeMatrix(const Instr&, Warp&, LaneMask);

/// A part of wmma.load: into dst[0], or elements of it. By Code::matrixSites[Instr::extra]: `d` is the type, and the
/// fragment's place for register Instr::target. Instr::elements is how many elements lie side by side in memory and
/// are moved at once; they are the register's from Instr::reconverge on.
void runLoadFragment(const Instr&, Warp&, LaneMask);
void runStoreFragment(const Instr&, Warp&, LaneMask);  ///< likewise, of src[1]

}  // namespace bulkhead::sim
