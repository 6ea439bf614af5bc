#pragma once

#include <vector>

#include "base/result.h"

namespace bulkhead::report {

/// One result for each kind of chart, with what real ones have: several series, a paper's figures, gaps, logarithms.
std::vector<Result> gallery();

/// Text that would run as a script, end an element, or break an attribute wherever it were not escaped.
extern const char* const kHostile;

}  // namespace bulkhead::report
