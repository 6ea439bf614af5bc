#pragma once

#include <vector>

#include "base/result.h"

namespace bulkhead::reproduce {

/// Every number that a paper has too, over many results: the paper's, ours on simulated GPUs and on hardware, the
/// ratio, and what to think of it. Columns "paper's X" stand beside "X", and "paper" beside "ours". Within 10 % ours
/// "agrees", within 30 % it is "near", otherwise it "differs". Before that table, how many do so in each figure. None
/// where no result has a paper's number; results that are verdicts themselves are passed over.
std::vector<Result> verdicts(const std::vector<Result>&);

/// Whether a result came from verdicts().
bool isVerdict(const Result&);

}  // namespace bulkhead::reproduce
