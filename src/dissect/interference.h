#pragma once

#include "base/result.h"
#include "dissect/banks.h"
#include "dissect/findings.h"

namespace bulkhead::dissect {

/// What bank and set hashes make of physical addresses.
struct MemoryHashes {
    Subspace bank, set;
    Mask bits = 0;  ///< from the line up
    std::size_t ways = 0;

    Subspace module() const { return intersection(bank, set); }
};

/// Figure 8 of Fractional GPUs: cycles per access of a primary thread while others use the same set and bank (SCSB),
/// another set (DCSB), another bank (SCDB), both (DCDB) or another module (DM), for each number of threads. The others
/// share one set and one bank, as in the paper's program. A case that a GPU cannot have is left out, and the listener
/// told why. Throws Error if there are too few lines for any.
Result interferenceByThreads(Probe&, const MemoryView&, const MemoryHashes&, const std::vector<unsigned>& threads,
                             Listener&, std::uint64_t seed);

}  // namespace bulkhead::dissect
