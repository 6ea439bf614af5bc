#pragma once

#include <optional>
#include <vector>

#include "dissect/map_file.h"
#include "dissect/slice_probe.h"

namespace bulkhead::dissect {

/// Which slice an address is on.
struct SliceMap {
    ResidueHash hash;
    ResidueDigits digits;  ///< of physical addresses where those are known, of labels of pages otherwise
    std::optional<SliceLatencies> latencies;  ///< how far slices are, where a map was adopted and there are two sides
    bool named = false;  ///< slices have the adopted map's numbers, as in every process that adopted it
};

/// Finds slices by contention, and the form behind them. Empty if it stays undecided; the listener has heard why.
std::optional<SliceMap> findSliceMap(SliceProbe&);

/// For a map that is known already: the home page stands for it. Its slices get the map's numbers where that knows how
/// far they are from the SMs, and any otherwise. Empty if timing does not tell slices apart. Throws Error:
/// a map without a form, or of another GPU.
std::optional<SliceMap> adoptSliceMap(SliceProbe&, const MapFile&);

/// Share of fresh random addresses that a form puts on the right side, and on the right slice.
struct SliceAccuracy {
    double side = 0, slice = 0;
    std::size_t addresses = 0;
    std::size_t pages = 0;
};
/// Of the first pages of the allocation, which have these labels.
SliceAccuracy checkPages(SliceProbe&, const ResidueHash&, const std::vector<std::optional<PageLabel>>&,
                         std::size_t addresses);
SliceAccuracy checkPhysical(SliceProbe&, const ResidueHash&, std::size_t addresses);

}  // namespace bulkhead::dissect
