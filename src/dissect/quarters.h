#pragma once

#include <optional>
#include <vector>

#include "dissect/sides.h"
#include "dissect/slice_latencies.h"

namespace bulkhead::dissect {

/// The halves of each side of an L2: multiprocessors of one half are nearer to the same slices of their side. On an
/// H200 a slice in the other half is some 30 cycles further away.
struct Quarters {
    std::vector<std::uint8_t> ofMultiprocessor;  ///< 2 x side + half; the first multiprocessor of a side is in half 0
    double leastCorrelation = 1;  ///< of a multiprocessor's latencies with those of its side's first, without the sign
};

/// From the latencies that the sides were found with. Empty if multiprocessors of a side are not of two kinds.
std::optional<Quarters> findQuarters(const Sides&);

/// The quarter of a multiprocessor with these latencies to the addresses that the sides were found with; where sides
/// have no halves, 2 x side.
unsigned quarterOf(const Sides&, const std::optional<Quarters>&, const Times& latencies);

/// The quarter of each slice, by latencies from all multiprocessors. Sides take turns, with so many slices in a group.
std::vector<std::uint8_t> quartersOfSlices(const Quarters&, const SliceLatencies&, std::uint32_t modulus);

}  // namespace bulkhead::dissect
