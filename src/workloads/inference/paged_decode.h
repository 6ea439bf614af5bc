#pragma once

namespace bulkhead::workloads {

constexpr int kDecodeHeadSize = 128;  ///< numbers in a row of keys or values
constexpr int kPageTokens = 16;       ///< tokens whose keys and values of a head lie together
constexpr int kQueriesPerKey = 4;     ///< heads of queries that share one of keys and values
constexpr int kDecodeThreads = 128;
constexpr int kSplitTokens = 256;  ///< that one block looks at

}  // namespace bulkhead::workloads
