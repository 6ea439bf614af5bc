#pragma once

#include "corun/corun.h"

namespace bulkhead::corun {

/// In ever smaller pieces, until even a small one is refused. All of it is free again afterwards.
TakenMemory takeAllMemory(gpu::Context);

}  // namespace bulkhead::corun
