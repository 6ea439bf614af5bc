#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dissect/findings.h"
#include "dissect/map_file.h"

namespace bulkhead::dissect {

/// "216 cycles", or "undecided".
std::string valueAndUnit(const Finding&);

/// A table of what was found on that GPU, which says how much was.
Result summaryOf(const std::string& gpu, const std::vector<Finding>&);

/// What a map tells a reader: its findings, and the GPU as a floor plan where the map has latencies.
std::vector<Result> resultsOf(const MapFile&);

}  // namespace bulkhead::dissect
