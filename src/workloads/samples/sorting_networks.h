#pragma once

namespace bulkhead::workloads {

/// Elements that a block sorts or merges in shared memory, with half as many threads.
constexpr unsigned kSortTile = 1024;

}  // namespace bulkhead::workloads
