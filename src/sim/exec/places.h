#pragma once

#include <cstdint>

#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// Where the bytes of an access's lanes are on the host.
struct Places {
    /// Lane i's bytes are at distance + Access::address[i]. That is so for inactive lanes too, which repeat the first
    /// active one's address, so loads need not look at the mask.
    bool linear = false;
    std::uintptr_t distance;
    std::uint8_t* lane[kLanes];  ///< where it is not linear: of active lanes

    void layLinear(std::uintptr_t at) {
        linear = true;
        distance = at;
    }
    std::uint8_t* of(const Access& a, unsigned i) const {
        return linear ? reinterpret_cast<std::uint8_t*>(distance + a.address[i]) : lane[i];
    }
};

}  // namespace bulkhead::sim
