#pragma once

#include <vector>

#include "driver/cu_types.h"
#include "ptx/module.h"

namespace bulkhead::driver {

/// Marks a condition's handle in its topmost byte; the rest is the address of a word in device memory.
constexpr unsigned kConditionMarkBit = 56;
constexpr CUgraphConditionalHandle kConditionMark = CUgraphConditionalHandle{0xb0} << kConditionMarkBit;

/// One module of several, and of the functions that they call and CUDA provides on the device: malloc and free, and
/// what nvcc leaves to its libcudadevrt, which has machine code alone. Throws Error as ptx::link does.
ptx::Module linkWithDeviceRuntime(std::vector<ptx::Module>);

}  // namespace bulkhead::driver
