#pragma once

#include <vector>

#include "base/result.h"

namespace bulkhead::reproduce {

/// Every number that a paper has too, over many results: the paper's, ours on simulated GPUs and on hardware, the
/// ratio, and what to think of it. Columns "paper's X" stand beside "X", and "paper" beside "ours". Within 10 % ours
/// "agrees", within 30 % it is "near", otherwise it "differs". Factors (unit "x") are compared by what they are more
/// than 1, so that a gain of 30 % is not near one of 2 %, and no gain agrees with none that a paper has. A column
/// "paper: within" is a bound on changes, from "minimum" to "maximum": ours agrees if no change is greater and the
/// "gain" that could have changed is. Before that table, how many do so in each figure. None where no result has a
/// paper's number; results that are verdicts themselves are passed over.
std::vector<Result> verdicts(const std::vector<Result>&);

/// Says of a result with a paper's numbers how many of them agree; one that has its answer, or none of these, stays.
void answer(Result&);

/// Whether a result came from verdicts().
bool isVerdict(const Result&);

}  // namespace bulkhead::reproduce
