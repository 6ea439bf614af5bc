#pragma once

#include "base/result.h"
#include "dissect/interference.h"
#include "dissect/sets.h"

namespace bulkhead::dissect {

/// Fractional GPUs, IV-C: the hash of sets, checked with the GPU's own counters. Lines that it puts into one set miss
/// as soon as they are more than its ways; as many lines of different sets hit once they have come. A simulated GPU
/// counts by itself; of a real one a profiler counts the kernel countedChase (scripts/count-set-misses). Throws Error
/// where memory has too few lines of a set.
Result missesBySet(Probe&, const MemoryView&, const MemoryHashes&, std::uint64_t seed);
/// The same of lines that evict one another, where no hash is known.
Result missesBySet(Probe&, const MemoryView&, const EvictionSet&, std::uint64_t seed);

}  // namespace bulkhead::dissect
