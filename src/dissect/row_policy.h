#pragma once

#include "dissect/banks.h"
#include "dissect/findings.h"

namespace bulkhead::dissect {

/// How long a bank keeps a row open that nothing asks for: a second load is faster from the same row than from another
/// one of its bank for as long as it does. `conflictCycles`: what a row conflict costs, which is about what it takes to
/// close a row that was just opened, and to open another.
void findRowPolicy(RowConflicts&, const Rows&, double conflictCycles, std::uint64_t seed, Listener&);

}  // namespace bulkhead::dissect
