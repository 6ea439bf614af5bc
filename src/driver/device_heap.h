#pragma once

#include "driver/state.h"

// malloc and free of device code: code of ours that is linked to modules which call them, and a heap in the memory of
// the context. Like any code it takes its time, and its atomics go through L2.

namespace bulkhead::driver {

/// malloc and free, to be linked.
ptx::Module deviceHeapCode();
/// Kernels that may come to call them where they were linked.
std::set<std::string> heapUsers(const ptx::Module&);
/// Before a launch of one of them: the heap of the module's context, made by the first one.
void giveHeap(CUmodule);

}  // namespace bulkhead::driver
