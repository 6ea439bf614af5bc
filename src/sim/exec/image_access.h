#pragma once

#include "sim/exec/warp.h"

namespace bulkhead::sim {

// Handlers of texture and surface instructions; Instr::extra names the ImageSite.

void runTexture(const Instr&, Warp&, LaneMask);
void runTextureGather(const Instr&, Warp&, LaneMask);
void runImageQuery(const Instr&, Warp&, LaneMask);
/// Instr::addressIs32 says that the data are in registers of 32 bits or fewer.
void runSurfaceLoad(const Instr&, Warp&, LaneMask);
void runSurfaceStore(const Instr&, Warp&, LaneMask);

}  // namespace bulkhead::sim
