#pragma once

#include "base/units.h"

namespace bulkhead {

/// Of this computer. What is larger can only be refused: a system that has promised more ends whoever asks for it.
Bytes hostMemory();

}  // namespace bulkhead
