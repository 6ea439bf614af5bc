#pragma once

#include <vector>

#include "ptx/control_flow.h"

namespace bulkhead::ptx {

/// Which registers hold the same value in every thread of a block wherever they are read. Errs on the side of "not":
/// what comes from memory that threads write, from a call or from another lane counts as different, and so does what is
/// written where threads have parted.
std::vector<bool> uniformRegisters(const Function&, const ControlFlow&);

}  // namespace bulkhead::ptx
