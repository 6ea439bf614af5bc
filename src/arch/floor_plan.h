#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "base/result.h"

namespace bulkhead::arch {

/// An SM, an L2 slice or a DRAM channel, and what it lies in.
struct PlacedUnit {
    enum class Kind : std::uint8_t { sm, slice, channel };
    Kind kind = Kind::sm;
    unsigned number = 0;
    std::string group;  ///< a GPC or a side of the L2, where there are several
};

/// All of a GPU: SMs by GPC where those are known and else by side, slices by side and channels by the side of theirs.
std::vector<PlacedUnit> unitsOf(const DeviceProfile&);

/// What colors of a floor plan can show; nothing of units that it does not concern.
struct FloorLayer {
    std::string name, unit;
    std::function<Value(const PlacedUnit&)> value;
};

/// A row for each unit, with a picture of the GPU.
Result floorPlan(const std::string& title, const std::vector<PlacedUnit>&, const std::vector<FloorLayer>&);

}  // namespace bulkhead::arch
