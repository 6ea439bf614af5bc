#pragma once

#include "corun/access_pattern.h"

// What the rows of the table of aggressors are made by, each in the file of its kernel.

namespace bulkhead::corun {

using Pattern = std::unique_ptr<AccessPattern>;

Pattern computing(const PatternSite&);
Pattern fillingL1(const PatternSite&);

Pattern reading(const PatternSite&);
Pattern writing(const PatternSite&);
Pattern readingAndWriting(const PatternSite&);
Pattern addingAtomically(const PatternSite&);

Pattern chasingInOrder(const PatternSite&);
Pattern chasingAtRandom(const PatternSite&);

Pattern visitingSetBySet(const PatternSite&);
Pattern visitingSetsInTurn(const PatternSite&);
Pattern visitingFewest(const PatternSite&);
Pattern visitingASlice(const PatternSite&);
Pattern visitingABank(const PatternSite&);
Pattern visitingAChannel(const PatternSite&);
Pattern visitingHotSets(const PatternSite&);

/// Lines of a memory that a map knows, in the order in which they are to be visited.
using ChooseLines = Ring (*)(const MappedMemory&, const PatternSite&);
/// All warps together visit them again and again, in this order (kernel visitLines). Throws Error where there is no
/// map, and where no line was chosen. `farOnly`: on a GPU with two sides, only lines at home on the other side from
/// most of its SMs.
Pattern visiting(const PatternSite&, ChooseLines, bool farOnly = false);

/// Memory of a pattern that needs no map: with something for every thread, and filled.
gpu::Buffer plainMemory(const PatternSite&);

/// Copies between host and GPU, one after the other, by the engine for that direction.
std::unique_ptr<Actor> copyingIn(const Stage&, const AggressorSpec&);
std::unique_ptr<Actor> copyingOut(const Stage&, const AggressorSpec&);

}  // namespace bulkhead::corun
