#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "stress/stress.h"

namespace bulkhead::stress {

/// Cells with the times, and the number of lost pairs, that a file of `stress --json` holds. What else was measured is
/// not in them. Throws Error where results have no samples.
std::vector<Cell> storedCells(std::span<const Result>);

}  // namespace bulkhead::stress
