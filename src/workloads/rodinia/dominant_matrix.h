#pragma once

#include <vector>

#include "base/random.h"

namespace bulkhead::workloads {

/// A square matrix whose diagonal outweighs the rest of each row, so that elimination needs no pivots.
std::vector<float> dominantMatrix(Random&, std::size_t n);

}  // namespace bulkhead::workloads
