#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "corun/mapped_memory.h"

// Orders in which aggressors visit lines. A ring is a list of device addresses, one a line; the last leads to the
// first.

namespace bulkhead::corun {

using Ring = std::vector<std::uint64_t>;

/// Every line of a range, in order.
Ring sequentialRing(std::uint64_t base, Bytes bytes, Bytes lineBytes);
/// The same lines in an order made from the seed: neighbours lie in other DRAM rows.
Ring shuffled(Ring, std::uint64_t seed);

/// How lines that were chosen with a map follow each other (4.4.2).
enum class Order : std::uint8_t {
    setBySet,  ///< all lines of a set, then the next set
    rotating,  ///< one line of every set, then the next one of every set
};

/// The fewest lines of a range that fill the whole cache: exactly `ways` of every set (4.2.2). Sets that the range has
/// too few lines for get what there is; `missing` counts the lines that would still be needed.
struct Cover {
    Ring ring;
    std::size_t missing = 0;
};
Cover coverCache(const MappedMemory&, Bytes lineBytes, unsigned ways, Order);
/// The same several times over with other lines in each round, sets in an order made from the seed: every round evicts
/// one whole set after the other, and finds none of its lines in the cache.
Cover coverInRounds(const MappedMemory&, Bytes lineBytes, unsigned ways, unsigned rounds, std::uint64_t seed);

/// The lines of a range that fall on one slice, one bank of a channel, or one channel.
enum class Target : std::uint8_t { slice, bank, channel };
Ring targetRing(const MappedMemory&, Bytes lineBytes, Target, std::uint32_t number);

/// `ways` lines for each of the sets that most of the victim's lines fall on, until `share` of those lines are meant.
Cover coverHotSets(const MappedMemory&, Bytes lineBytes, unsigned ways, const Whereabouts& victimLines, double share);

}  // namespace bulkhead::corun
