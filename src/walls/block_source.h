#pragma once

#include <array>
#include <vector>

#include "base/units.h"
#include "driver/driver_api.h"

namespace bulkhead::walls {

/// Memory that somebody else keeps for walls, in blocks of which the kind is known: see SideRow. Others may have the
/// same blocks, and other colors of them.
class BlockSource {
  public:
    struct Block {
        driver::CUmemGenericAllocationHandle handle = 0;  ///< whoever takes it releases it
        unsigned kind = 0;
    };

    virtual ~BlockSource() = default;
    /// Of both colors, all that tenants can have together.
    virtual Bytes bytes() const = 0;
    /// So many of each kind, in which nobody else has memory of this color, and nobody will have until the source is
    /// gone. Fewer where there are no more.
    virtual std::vector<Block> take(unsigned color, std::array<std::size_t, 2> ofKind) = 0;
};

}  // namespace bulkhead::walls
