#pragma once

#include <optional>
#include <vector>

#include "base/units.h"
#include "dissect/probe.h"
#include "dissect/time_split.h"

namespace bulkhead::dissect {

/// The two halves of an L2, as atomics see them: they execute at the home slice, and take longer from the other half's
/// SMs.
struct Sides {
    std::vector<std::uint8_t> ofSm;
    std::vector<double> threshold;  ///< of each SM: above it, an address is on the other side
    double nearCycles = 0, farCycles = 0;
    double leastCorrelation = 1;           ///< of an SM's latencies with the first one's, without the sign
    std::vector<std::uint64_t> addresses;  ///< that were timed
    std::vector<Times> latencies;          ///< [SM][address], as measured

    /// Which SMs are on a side.
    std::vector<std::uint8_t> members(unsigned side) const;
    unsigned count(unsigned side) const;
};

/// How many dependent atomics make a latency, and how many chunks an SM's latency vector.
struct SideEffort {
    std::uint32_t repeats = 25, chunks = 64;
};

/// From the latencies of some addresses, which are on both sides if there are two. Empty if those of the first
/// SM are not of two kinds: then there is one side.
std::optional<Sides> findSides(Probe&, std::span<const std::uint64_t> addresses, std::uint32_t repeats);
/// From addresses at equal distances.
std::optional<Sides> findSides(Probe&, std::uint64_t base, std::uint64_t stride, const SideEffort&);

/// The side of each address, all SMs sharing the work.
std::vector<std::uint8_t> sidesOf(Probe&, const Sides&, std::span<const std::uint64_t> addresses,
                                  std::uint32_t repeats);

constexpr unsigned kPageShift = 21;  ///< pages of 2 MB: physically contiguous and aligned on every driver
constexpr Bytes kPageBytes = Bytes{1} << kPageShift;

}  // namespace bulkhead::dissect
