#pragma once

#include <cstdint>

namespace bulkhead {

/// Whether an odd number of bits is set. Not by std::popcount: g++ 12 makes wrong code of `popcount(x) % 2 !=
/// condition` for x86-64 at -O1, where it knows the processor's parity flag.
constexpr bool parity(std::uint64_t word) {
    for (unsigned half = 32; half >= 4; half /= 2) word ^= word >> half;
    return (0x6996u >> (word & 15) & 1) != 0;
}

}  // namespace bulkhead
