#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

/// Latency of atomics, which execute at the home slice, from multiprocessors to slices: how far each is from each. As a
/// whole it tells one slice from another, in every process alike.
struct SliceLatencies {
    std::vector<unsigned> multiprocessors;  ///< that were asked, in order
    std::vector<Times> cycles;              ///< [multiprocessor][slice]

    std::size_t slices() const { return cycles.empty() ? 0 : cycles.front().size(); }
    bool operator==(const SliceLatencies&) const = default;
};

/// `lines` has one of each slice. Of a simulated GPU with many multiprocessors some are taken.
SliceLatencies timeSlices(Probe&, const std::vector<std::uint64_t>& lines);

/// By how much slices are numbered differently: slice r of `measured` is r + shift of `known`, modulo `modulus`, in
/// each group of so many slices. Empty if none fits clearly better than all others, as on a GPU where every slice is
/// equally far.
std::optional<std::uint32_t> findShift(const SliceLatencies& known, const SliceLatencies& measured,
                                       std::uint32_t modulus);

/// As a heat map.
Result latencyTable(const SliceLatencies&);

}  // namespace bulkhead::dissect
