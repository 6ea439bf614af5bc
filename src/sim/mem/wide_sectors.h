#pragma once

#include <array>
#include <cstdint>

namespace bulkhead::sim {

/// What is fetched for each set of sectors of a line, where no less than a group of them is fetched at a time.
using WideSectors = std::array<std::uint8_t, 256>;

inline WideSectors wideSectors(std::uint64_t sectorsOfLine, unsigned group) {
    WideSectors wide{};
    for (unsigned sectors = 0; sectors < wide.size(); ++sectors)
        for (unsigned sector = 0; sector < sectorsOfLine; ++sector) {
            const unsigned others = ((1u << group) - 1) << sector / group * group;
            if (sectors & others) wide[sectors] |= static_cast<std::uint8_t>(1u << sector);
        }
    return wide;
}

}  // namespace bulkhead::sim
