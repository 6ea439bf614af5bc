#pragma once

#include <optional>
#include <vector>

#include "dissect/l2_region.h"
#include "dissect/sides.h"
#include "dissect/slice_latencies.h"

namespace bulkhead::dissect {

/// The halves of each side of an L2: SMs of one half are nearer to the same slices of their side. On an
/// H200 a slice in the other half is some 30 cycles further away.
struct L2Regions {
    std::vector<L2Region> ofSm;   ///< the first SM of a side is in half 0
    double leastCorrelation = 1;  ///< of an SM's latencies with those of its side's first, without the sign
};

/// From the latencies that the sides were found with. Empty if SMs of a side are not of two kinds.
std::optional<L2Regions> findRegions(const Sides&);

/// The region of an SM with these latencies to the addresses that the sides were found with; half 0 where sides have
/// no halves.
L2Region regionOf(const Sides&, const std::optional<L2Regions>&, const Times& latencies);

/// The region of each slice, by latencies from all SMs. Sides take turns, with so many slices in a group.
std::vector<L2Region> regionsOfSlices(const L2Regions&, const SliceLatencies&, std::uint32_t modulus);

}  // namespace bulkhead::dissect
