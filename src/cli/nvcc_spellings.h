#pragma once

#include <string>
#include <string_view>

namespace bulkhead::cli {

/// A CUDA source as clang reads it, line for line. nvcc also takes
///  - launches with a space in their brackets: `kernel<< <grid, block> >>(...)`,
///  - registers of PTX in assembly with operands whose % is not doubled: `asm("mov.u32 %0, %smid;" : "=r"(sm))`,
///  - an alignment behind the memory space: `__shared__ alignas(16) float tile[16]`,
///  - barriers and states of pipelines in shared memory, whose destructors are not empty:
///    `__shared__ cuda::barrier<cuda::thread_scope_block> ready[2];`
std::string withClangSpellings(std::string_view source);

}  // namespace bulkhead::cli
