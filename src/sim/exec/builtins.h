#pragma once

#include "sim/exec/program.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// int vprintf(const char* format, const void* arguments): formats what each lane passed, prints it whole through
/// LaunchContext::print, lanes in ascending order. Returns the number of conversions, as CUDA's does.
void runVprintf(const Instr&, Warp&, const CallSite&, LaneMask);

/// void __assertfail(message, file, line, function, charSize)
[[noreturn]] void runAssertFail(const Instr&, Warp&, const CallSite&, unsigned lane);

}  // namespace bulkhead::sim
