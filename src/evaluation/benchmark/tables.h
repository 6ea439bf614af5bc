#pragma once

#include "evaluation/benchmark/bench.h"

namespace bulkhead::evaluation::benchmark {

/// What was found of one way.
struct WayFindings {
    std::string title;
    std::vector<Finding> findings;
    std::vector<std::string> unavailable;  ///< measurements that this GPU has no processes for
};

/// A row for each figure and a column for each way; and one for each pair of a victim and a neighbour.
std::vector<Result> tablesOf(const BenchmarkSpec&, const std::vector<WayFindings>&);

}  // namespace bulkhead::evaluation::benchmark
