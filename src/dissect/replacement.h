#pragma once

#include "dissect/sets.h"

namespace bulkhead::dissect {

/// How a set chooses whom to evict.
struct Replacement {
    std::string policy;                 ///< of those that the simulator knows, or that it is none of them
    std::string evidence;               ///< of that; empty where the numbers below are enough
    std::size_t readsToEvictRead = 0;   ///< lines read until a line that was read is gone
    std::size_t readsToEvictWrite = 0;  ///< until a line that was written is gone; 0: more than there were
    Bytes evictedTogether = 0;          ///< bytes around the primary that go with it: the line
};
/// `more`: further lines of the set, if they are known.
Replacement findReplacement(Probe&, const MemoryView&, const ProbedCache&, const EvictionSet&,
                            const std::vector<std::uint64_t>& more);
void describe(const Replacement&, Listener&);

}  // namespace bulkhead::dissect
