#pragma once

#include <vector>

#include "base/units.h"
#include "dissect/residue_hash.h"
#include "driver/driver_api.h"

namespace bulkhead::walls {

/// Memory that somebody else keeps for walls, in blocks whose label is known: see Survey. Others may have the same
/// blocks, and other colors of them.
class BlockSource {
  public:
    struct Block {
        driver::CUmemGenericAllocationHandle handle = 0;  ///< whoever takes it releases it
        dissect::PageLabel label;                         ///< of its first page
    };

    virtual ~BlockSource() = default;
    /// Of all colors, all that tenants can have together.
    virtual Bytes bytes() const = 0;
    /// So many of each kind, in which nobody else has memory of this tenant's colors, and nobody will have until the
    /// source is gone. Fewer where there are no more.
    virtual std::vector<Block> take(const std::vector<std::size_t>& ofKind) = 0;
};

}  // namespace bulkhead::walls
