#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bulkhead::dissect {

/// The upper one of two in the middle. There must be some.
std::uint32_t median(std::vector<std::uint32_t> times);

/// Where slow timings part from the bulk: the middle between the median and a cluster of slow ones that stands out from
/// scattered outliers. Empty if there is none.
struct TimeSplit {
    double usual = 0, slow = 0, threshold = 0;
    double slowShare = 0;
};
std::optional<TimeSplit> splitSlow(std::span<const std::uint32_t> times);

/// Parts timings into two clusters of any sizes. Empty if they are one.
std::optional<TimeSplit> splitTwo(std::span<const std::uint32_t> times);

}  // namespace bulkhead::dissect
