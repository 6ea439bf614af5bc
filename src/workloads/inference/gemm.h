#pragma once

// What both matrix products have in common with their host code.

namespace bulkhead::workloads {

constexpr int kGemmTile = 128;  ///< rows and columns of C that a block computes

constexpr int kMmaDepth = 32;  ///< of the tiles of A and W that a block multiplies at a time, by mma
constexpr int kMmaThreads = 256;

constexpr int kWgmmaDepth = 64;  ///< ... and by wgmma: rows of 128 bytes, as the widest swizzle has them
constexpr int kWgmmaThreads = 384;
constexpr int kWgmmaMostStages = 4;
constexpr int kWgmmaStageBytes = 2 * kGemmTile * kWgmmaDepth * 2;
constexpr int kWgmmaAlignment = 1024;  ///< of a swizzled tile in shared memory

}  // namespace bulkhead::workloads
