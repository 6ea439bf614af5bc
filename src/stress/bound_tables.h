#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "stress/extreme_value.h"
#include "stress/stress.h"

namespace bulkhead::stress {

/// One for each cell.
std::vector<WorstCase> worstCasesOf(const std::vector<Cell>&, double exceedance);

/// The bound of each cell, or why there is none.
Result bounds(const std::vector<Cell>&, std::span<const WorstCase>, double exceedance);
/// How often runs take longer than a time, of cells that have a bound: as measured, as estimated, and at most. One for
/// each victim and way of sharing, with a drawing.
std::vector<Result> exceedances(const std::vector<Cell>&, std::span<const WorstCase>, double exceedance);
/// A row for each threshold and each size of block: how much a bound depends on them.
Result fits(const std::vector<Cell>&, std::span<const WorstCase>);
/// A row for each test of independence and of one distribution.
Result iidTests(const std::vector<Cell>&, std::span<const WorstCase>);

}  // namespace bulkhead::stress
