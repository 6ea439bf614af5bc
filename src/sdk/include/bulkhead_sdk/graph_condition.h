#pragma once

#include "../host_defines.h"
#include "graph_types.h"

// Conditions of graphs, set by kernels. A simulated GPU's handle is the address of a word, marked in its topmost byte;
// another driver's means nothing here, and ends the kernel.

__device__ inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value) {
#ifdef __CUDA_ARCH__
    if (handle >> 56 != 0xb0) __builtin_trap();
    *(volatile unsigned int*)(handle & 0x00ffffffffffffffull) = value;
#endif
}
