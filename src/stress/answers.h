#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "stress/extreme_value.h"
#include "stress/stress.h"

namespace bulkhead::stress {

// What the tables of stress say in words: question, answer, how to read it, caveats.

void answerMatrix(Result&, const std::vector<Cell>&, const Options&);
void answerCauses(Result&, const std::vector<Cell>&);
void answerBounds(Result&, const std::vector<Cell>&, std::span<const WorstCase>, double exceedance);
void answerTimes(Result&, const std::vector<Cell>&);
/// Of one victim and way of sharing.
void answerSamples(Result&, std::span<const Cell* const>);

}  // namespace bulkhead::stress
