#pragma once

#include <string>

#include "base/result.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

/// How many timings there are of each length.
Result timeHistogram(const std::string& title, Times);

}  // namespace bulkhead::dissect
