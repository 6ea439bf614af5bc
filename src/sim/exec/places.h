#pragma once

#include <cstdint>

#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// Where the bytes of an access's lanes are on the host.
struct Places {
    /// Not 0: lane i's bytes are at linear + Access::address[i]. True for inactive lanes too, which repeat the first
    /// active one's address, so loads need not look at the mask.
    std::uintptr_t linear = 0;
    std::uint8_t* lane[kLanes];  ///< else: here, for active lanes

    std::uint8_t* of(const Access& a, unsigned i) const {
        return linear ? reinterpret_cast<std::uint8_t*>(linear + a.address[i]) : lane[i];
    }
};

}  // namespace bulkhead::sim
