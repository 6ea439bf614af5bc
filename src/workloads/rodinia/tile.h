#pragma once

namespace bulkhead::workloads {

/// Edge of the square tiles in shared memory that Backprop, Hotspot, Lud and NW work on.
constexpr int kTile = 16;

}  // namespace bulkhead::workloads
