#pragma once

namespace bulkhead::workloads {

constexpr int kHeadSize = 128;      ///< numbers in a row of Q, K and V
constexpr int kAttentionTile = 64;  ///< queries of a block, and keys that it looks at together
constexpr int kAttentionThreads = 128;

}  // namespace bulkhead::workloads
