#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

/// Latency of atomics, which execute at the home slice, from SMs to slices: how far each is from each. As a
/// whole it tells one slice from another, in every process alike.
struct SliceLatencies {
    std::vector<unsigned> sms;  ///< that were asked, in order
    std::vector<Times> cycles;  ///< [SM][slice]

    std::size_t slices() const { return cycles.empty() ? 0 : cycles.front().size(); }
    bool operator==(const SliceLatencies&) const = default;
};

/// `lines` has one of each slice. Of a simulated GPU with many SMs some are taken.
SliceLatencies timeSlices(Probe&, const std::vector<std::uint64_t>& lines);

/// How slices are numbered differently: slice r of one numbering is shift + r of the other, or shift - r, modulo the
/// number of slices in a group.
struct Renumbering {
    std::uint32_t shift = 0;
    bool backwards = false;

    std::uint32_t of(std::uint32_t slice, std::uint32_t modulus) const;
    bool operator==(const Renumbering&) const = default;
};

/// Which number of `known` each slice of `measured` has. SMs may be numbered otherwise too, as they are
/// under MPS, and the sides: each SM is compared with the one that it is most like.
struct RenumberingFit {
    Renumbering best;
    double left = 1, leftByNext = 1;  ///< how unlike latencies are with it, and with the next best: from 0 to 2

    /// Whether it fits clearly better than all others. It does not on a GPU where every slice is equally far.
    bool clear() const { return left < leftByNext / 2; }
};
RenumberingFit findRenumbering(const SliceLatencies& known, const SliceLatencies& measured, std::uint32_t modulus);
/// `measured` with the other numbers.
SliceLatencies renumbered(const SliceLatencies& measured, const Renumbering&, std::uint32_t modulus);

/// As a heat map.
Result latencyTable(const SliceLatencies&);
/// The SMs that were asked and the slices as a floor plan, colored by latency as it was measured. Where a gap parts
/// those near to the first slice, or to the first SM, from those far from it, they are groups. Nothing where all are
/// equally far.
std::optional<Result> latencyPlan(const SliceLatencies&);

}  // namespace bulkhead::dissect
