#pragma once

namespace bulkhead::workloads {

/// Side of a tile and of a block of threads; the matrices' sides are multiples of it.
constexpr int kMultiplyTile = 32;

}  // namespace bulkhead::workloads
