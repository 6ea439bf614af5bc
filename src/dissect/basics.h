#pragma once

#include "base/result.h"
#include "dissect/banks.h"
#include "dissect/findings.h"

namespace bulkhead::dissect {

/// Latencies, sector, capacity, prefetch and reach of the TLB, by pointer chases and timed accesses. Fills in the
/// cache's shape; throws Error if hits and misses cannot be told apart (a GPU too busy to time).
ProbedCache findBasics(Probe&, const MemoryView&, Listener&, std::uint64_t seed);

/// Share of hits by footprint, for a GPU whose sets follow no formula too. `hitsWhenFull` is told the share for a
/// footprint as large as L2, and `capacity` what L2 holds, if it keeps one copy of each line.
Result hitsByFootprint(Probe&, const MemoryView&, const ProbedCache&, Listener&, std::uint64_t seed,
                       double& hitsWhenFull, Finding& capacity);

}  // namespace bulkhead::dissect
