#pragma once

#include <string_view>

#include "sim/exec/program.h"

namespace bulkhead::sim {

/// mov of a special register ("tid.x") into one of 16, 32 or 64 bits. nullptr if there is no such register.
Handler specialRegisterHandler(std::string_view name, unsigned bits);
/// Those it has: 32 or 64.
unsigned specialRegisterBits(std::string_view name);
/// Whether what it says depends on when or on which SM a warp runs.
bool tellsTimeOrPlace(std::string_view name);

// Addresses as values. Results are 4 or 8 bytes wide as Instr::elementBytes says.

void runCopy32(const Instr&, Warp&, LaneMask);  ///< dst[0] = src[0]
void runCopy64(const Instr&, Warp&, LaneMask);
void runAddImmediate(const Instr&, Warp&, LaneMask);       ///< dst[0] = src[0] + immediate, 64 bits
void runLocalAddress(const Instr&, Warp&, LaneMask);       ///< immediate + where the function's local variables begin
void runDynamicShared(const Instr&, Warp&, LaneMask);      ///< immediate + where dynamic shared memory begins
void runIsExplicitCluster(const Instr&, Warp&, LaneMask);  ///< a predicate

/// isspacep: dst[0] = whether src[0] lies in the space; in shared memory of any block of the cluster, or of its own.
/// nullptr if it has no generic addresses.
Handler isSpaceHandler(ptx::Space, bool ofCluster);

}  // namespace bulkhead::sim
