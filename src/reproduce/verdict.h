#pragma once

#include <vector>

#include "base/result.h"

namespace bulkhead::reproduce {

/// Every number that a paper has too, over many results: ours, the paper's, the ratio, and what to think of it. Columns
/// "paper's X" stand beside "X", and "paper" beside "ours". Within 10 % ours "agrees", within 30 % it is "near",
/// otherwise it "differs".
Result verdicts(const std::vector<Result>&);

}  // namespace bulkhead::reproduce
