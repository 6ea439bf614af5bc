#pragma once

#include <optional>
#include <vector>

#include "dissect/probe.h"
#include "dissect/time_split.h"

namespace bulkhead::dissect {

/// The two halves of an L2, as atomics see them: they execute at the home slice, and take longer from the other half's
/// multiprocessors.
struct Sides {
    std::vector<std::uint8_t> ofMultiprocessor;
    std::vector<double> threshold;  ///< of each multiprocessor: above it, an address is on the other side
    double nearCycles = 0, farCycles = 0;
    double leastCorrelation = 1;   ///< of a multiprocessor's latencies with the first one's, without the sign
    std::vector<Times> latencies;  ///< [multiprocessor][chunk], as measured

    /// Which multiprocessors are on a side.
    std::vector<std::uint8_t> members(unsigned side) const;
    unsigned count(unsigned side) const;
};

/// How many dependent atomics make a latency, and how many chunks a multiprocessor's latency vector.
struct SideEffort {
    std::uint32_t repeats = 25, chunks = 64;
};

/// Empty if the latencies of the first multiprocessor are not of two kinds: then there is one side.
std::optional<Sides> findSides(Probe&, std::uint64_t base, std::uint64_t stride, const SideEffort&);

/// The side of addresses at equal distances, all multiprocessors sharing the work.
std::vector<std::uint8_t> sidesOf(Probe&, const Sides&, std::uint64_t base, std::uint64_t stride, std::uint32_t count,
                                  std::uint32_t repeats);

}  // namespace bulkhead::dissect
