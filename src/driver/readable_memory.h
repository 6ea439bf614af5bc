#pragma once

#include "base/units.h"

namespace bulkhead::driver {

/// How many bytes of this process can be read from an address on, `most` at most. A program's pointer has no length of
/// its own, and what a damaged image says of its size may lead anywhere.
Bytes readableFrom(const void* address, Bytes most);

}  // namespace bulkhead::driver
