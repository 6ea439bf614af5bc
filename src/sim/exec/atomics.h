#pragma once

#include <string_view>

#include "sim/exec/program.h"

namespace bulkhead::sim {

/// atom and red: src[0] the address, src[1..] the operands (of a vector: one per element), dst the old values if
/// dstCount. Lanes act in ascending order. nullptr if PTX has no such operation on the type.
Handler atomicHandler(std::string_view operation, ptx::Type);

/// sured, likewise: the address is that of Instr::extra's ImageSite. `formatted`: .p, whose integers have the sign that
/// the surface's format says.
Handler surfaceReduction(std::string_view operation, ptx::Type, bool formatted);

/// The same of many elements, as bulk copies do it to global memory: `to` becomes what it is with `from`. nullptr if
/// there is none.
BulkReduction bulkReduction(std::string_view operation, ptx::Type);

}  // namespace bulkhead::sim
