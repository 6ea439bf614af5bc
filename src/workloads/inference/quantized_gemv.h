#pragma once

namespace bulkhead::workloads {

constexpr int kGemvStretch = 1024;    ///< numbers of a row that a warp looks at together, 32 in each lane
constexpr int kGemvScaleGroup = 128;  ///< weights with one scale
constexpr int kGemvRows = 2;          ///< of a warp
constexpr int kGemvWarps = 8;         ///< of a block
constexpr int kGemvMostColumns = 16 * kGemvStretch;

}  // namespace bulkhead::workloads
