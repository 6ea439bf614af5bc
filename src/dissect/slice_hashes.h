#pragma once

#include "dissect/local_address.h"
#include "dissect/sets.h"

namespace bulkhead::dissect {

/// Sets and banks behind one slice of a residue hash, as far as timing tells.
struct SliceHashes {
    XorHash set, bank;                               ///< of local addresses
    std::vector<arch::Digit> setDigits, bankDigits;  ///< empty: undecided, or digits cannot express them
};

/// Which bits decide the set and the bank of lines of a slice whose physical addresses and form are known. The order of
/// the index's bits, which slices leave open in part, is the one in which lines of a set have the most in common.
SliceHashes findSliceHashes(Probe&, const MemoryView&, const ResidueHash&, const ProbedCache&, const EvictionSet&,
                            Listener&, std::uint64_t seed);

}  // namespace bulkhead::dissect
