#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

/// How many timings there are of each length.
Result timeHistogram(const std::string& title, Times);

/// Latency of atomics, which execute at the home slice, from multiprocessors to slices: `lines` has one of each slice.
/// Of a simulated GPU with many multiprocessors some are taken.
Result sliceLatencies(Probe&, const std::vector<std::uint64_t>& lines);

/// The slice of the first line of each KB, page by page; `sliceAt` takes an offset from the first page.
Result slicesByAddress(Bytes pageBytes, Bytes bytes,
                       const std::function<std::optional<std::uint32_t>(std::uint64_t offset)>& sliceAt);

}  // namespace bulkhead::dissect
