#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dissect/slice_probe.h"

namespace bulkhead::dissect {

/// Labels of pages of 2 MB anywhere in the GPU's context, by the address where they begin; not for physical addresses.
/// Empty entries could not be decided. A thousand take about a second on an H200.
std::vector<std::optional<PageLabel>> labelPages(SliceProbe&, const ResidueHash&, std::span<const std::uint64_t> pages);
/// Of so many pages of the allocation, the first ones.
std::vector<std::optional<PageLabel>> labelFirstPages(SliceProbe&, const ResidueHash&, std::size_t count);
/// Of pages, or pages with some offset bits inverted, from slices at sums of `offsetBits`.
std::vector<std::optional<PageLabel>> labelAt(SliceProbe&, const ResidueHash&, const std::vector<std::uint64_t>& pages,
                                              Mask offsetBits);

}  // namespace bulkhead::dissect
