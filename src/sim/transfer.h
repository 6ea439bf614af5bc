#pragma once

#include <optional>

#include "base/units.h"
#include "sim/mem/address_space.h"

namespace bulkhead::sim {

/// Device memory that a copy reads or writes: rows of a width.
struct CopiedBox {
    const AddressSpace* memory = nullptr;
    VirtualAddress address = 0;
    Bytes width = 0, height = 1, depth = 1;
    Bytes pitch = 0, slice = 0;  ///< from row to row, and from plane to plane
};

/// What a copy or a fill moves, and how long it takes by itself.
struct Transfer {
    Cycles duration = 0;
    std::optional<CopiedBox> from, to;  ///< in device memory
};

}  // namespace bulkhead::sim
