#pragma once

#include "base/result.h"
#include "dissect/banks.h"
#include "dissect/findings.h"
#include "dissect/labelled_pages.h"

namespace bulkhead::dissect {

/// What a slice is like where physical addresses are unknown, from lines that are known to share it: ways, sets,
/// replacement, capacity of a side, row conflicts, and who disturbs whom. Tells the listener, and adds figures.
void findSliceShape(Probe&, const MemoryView&, const LabelledPages&, const CacheShape&, Listener&, std::uint64_t seed,
                    std::vector<Result>& figures);

}  // namespace bulkhead::dissect
