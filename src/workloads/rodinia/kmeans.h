#pragma once

// What Kmeans' host and device code share.

namespace bulkhead::workloads::kmeans {

constexpr int kFeatures = 34, kClusters = 5;  ///< of the original's KDD Cup input

/// Passed by value: kernel parameters lie in constant memory, as the original's centres do.
struct Centres {
    float at[kClusters * kFeatures];
};

}  // namespace bulkhead::workloads::kmeans
