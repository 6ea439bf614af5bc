#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace bulkhead::dissect {

/// A half of a side of an L2: SMs and slices of one are near to each other. An L2 of one side has side 0 alone, sides
/// without halves have half 0 alone.
struct L2Region {
    std::uint8_t side = 0, half = 0;

    /// Among kL2Regions.
    constexpr unsigned number() const { return 2U * side + half; }
    auto operator<=>(const L2Region&) const = default;
};

/// All there can be: those of a side follow each other.
inline constexpr std::array<L2Region, 4> kL2Regions = {{{0, 0}, {0, 1}, {1, 0}, {1, 1}}};

}  // namespace bulkhead::dissect
