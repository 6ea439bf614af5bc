#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "stress/stress.h"

namespace bulkhead::stress {

/// How victims and aggressors met on a simulated GPU: requests to the L2 over time, whose lines were pushed out by
/// whom, and where on the GPU. Nothing of cells that were not explained.
std::vector<Result> encounters(const std::vector<Cell>&, const Options&);

}  // namespace bulkhead::stress
