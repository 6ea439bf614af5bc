#pragma once

#include <optional>
#include <string>

#include "dissect/interference.h"

namespace bulkhead::dissect {

/// How many misses a memory module can have under way.
struct Mshrs {
    std::optional<std::uint32_t> ofModule;  ///< empty: undecided
    std::string evidence;
};

/// Fills one bank of a module with misses of different rows, which it serves one after the other, and times one more
/// miss behind them: of the same bank, of another bank of the module, of another module. The first waits for all of
/// them from the beginning on. The second has nothing to wait for until the module's MSHRs are used up: that is DCDB's
/// knee without the banks' part in it. The third never waits for the module; where it does, something before it is
/// full. What a GPU has not, another bank or module, is left out.
Mshrs findMshrs(Probe&, const MemoryView&, const MemoryHashes&, std::uint64_t seed, Result& figure);

}  // namespace bulkhead::dissect
