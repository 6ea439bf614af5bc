#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

/// How many timings there are of each length.
/// Of a table whose first column counts threads or requests, and others are cycles: which of these is most in the last
/// row, and which least.
std::string slowestOfLastRow(const Result&);

Result timeHistogram(const std::string& title, Times);

/// The slice of the first line of each KB, page by page; `sliceAt` takes an offset from the first page.
Result slicesByAddress(Bytes pageBytes, Bytes bytes,
                       const std::function<std::optional<std::uint32_t>(std::uint64_t offset)>& sliceAt);

}  // namespace bulkhead::dissect
