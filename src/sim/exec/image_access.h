#pragma once

#include "sim/exec/places.h"
#include "sim/exec/warp.h"
#include "sim/mem/image.h"

namespace bulkhead::sim {

// Handlers of texture and surface instructions; Instr::extra names the ImageSite.

void runTexture(const Instr&, Warp&, LaneMask);
void runTextureGather(const Instr&, Warp&, LaneMask);
void runImageQuery(const Instr&, Warp&, LaneMask);
/// Instr::addressIs32 says that the data are in registers of 32 bits or fewer.
void runSurfaceLoad(const Instr&, Warp&, LaneMask);
void runSurfaceStore(const Instr&, Warp&, LaneMask);

/// Notes a surface access of the lanes that are not outside of it, and where their bytes are; there may be none.
Access& locateSurface(const Instr&, Warp&, LaneMask, AccessKind, Places&);
/// What the texels are that a lane accesses.
const TexelFormat& surfaceFormat(const Instr&, Warp&, unsigned lane);

}  // namespace bulkhead::sim
