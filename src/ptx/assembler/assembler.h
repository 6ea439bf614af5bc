#pragma once

#include "ptx/module.h"

namespace bulkhead::ptx {

/// What a GPU executes is not PTX but what NVIDIA's assembler makes of it. This does to a module, as PTX, what that
/// does most visibly: it unrolls counted loops, turns short branches into guards, folds numbers into addresses and
/// sums, fuses products with sums, and orders instructions so that loads are under way together. Each instruction is
/// told how many machine instructions it takes (Instruction::slots). What the module computes stays the same.
/// docs/simulator.md says what is modelled and what is not.
Module assemble(const Module&);

}  // namespace bulkhead::ptx
