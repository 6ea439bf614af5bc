#pragma once

#include "base/result.h"
#include "dissect/banks.h"
#include "dissect/findings.h"
#include "dissect/labelled_pages.h"
#include "dissect/sets.h"

namespace bulkhead::dissect {

/// Lines of a slice that just evict another, and what hits and misses of that slice take.
struct SliceSet {
    EvictionSet lines;
    ProbedCache cache;
};

/// What a slice is like, from lines that are known to share it: ways, sets, replacement, capacity of a side, row
/// conflicts, and who disturbs whom. Tells the listener, and adds figures.
std::optional<SliceSet> findSliceShape(Probe&, const MemoryView&, const LabelledPages&, const ProbedCache&, Listener&,
                                       std::uint64_t seed, std::vector<Result>& figures);

}  // namespace bulkhead::dissect
