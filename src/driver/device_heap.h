#pragma once

#include "driver/state.h"

// malloc and free of device code: code of ours that is linked to modules which call them, and a heap in the memory of
// the context. Like any code it takes its time, and its atomics go through L2.

namespace bulkhead::driver {

/// The module with malloc and free in it; none if it declares neither.
std::optional<ptx::Module> withDeviceHeap(const ptx::Module&);
/// Kernels of such a module that may come to call them.
std::set<std::string> heapUsers(const ptx::Module&);
/// Before a launch of one of them: the heap of the module's context, made by the first one.
void giveHeap(CUmodule);

}  // namespace bulkhead::driver
