#include "corun/rings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace bulkhead::corun {
namespace {

/// A set of the whole cache: slice and set in one number.
std::uint64_t setOf(const MappedMemory& memory, const arch::AddressMap::Location& at) {
    return std::uint64_t{at.slice} * memory.map().setsPerSlice() + at.set;
}

std::uint64_t sets(const MappedMemory& memory) {
    return std::uint64_t{memory.map().slices()} * memory.map().setsPerSlice();
}

Ring inOrder(const std::vector<Ring>& bySet, Order order) {
    Ring ring;
    if (order == Order::setBySet) {
        for (const Ring& lines : bySet) ring.insert(ring.end(), lines.begin(), lines.end());
        return ring;
    }
    std::size_t most = 0;
    for (const Ring& lines : bySet) most = std::max(most, lines.size());
    for (std::size_t way = 0; way < most; ++way)
        for (const Ring& lines : bySet)
            if (way < lines.size()) ring.push_back(lines[way]);
    return ring;
}

/// As many lines of each wanted set as there are, up to `ways`; returns how many are missing.
std::size_t collect(const MappedMemory& memory, Bytes lineBytes, unsigned ways, const std::vector<std::uint8_t>& wanted,
                    std::vector<Ring>& bySet) {
    bySet.resize(wanted.size());
    std::size_t left = static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), 1)) * ways;
    // Neighbouring lines: where a set of the map is a whole slice, these are spread evenly over the sets within.
    for (Bytes o = 0; left > 0 && o + lineBytes <= memory.bytes(); o += lineBytes) {
        const std::uint64_t address = memory.base() + o;
        if (!memory.knows(address)) continue;
        const std::uint64_t set = setOf(memory, memory.locate(address));
        if (!wanted[set] || bySet[set].size() == ways) continue;
        bySet[set].push_back(address);
        --left;
    }
    return left;
}

Cover cover(const MappedMemory& memory, Bytes lineBytes, unsigned ways, const std::vector<std::uint8_t>& wanted,
            Order order) {
    std::vector<Ring> bySet;
    const std::size_t missing = collect(memory, lineBytes, ways, wanted, bySet);
    for (std::size_t set = 0; set < bySet.size(); ++set) bySet[set] = shuffled(std::move(bySet[set]), set);
    return {inOrder(bySet, order), missing};
}

}  // namespace

Ring sequentialRing(std::uint64_t base, Bytes bytes, Bytes lineBytes) {
    Ring ring;
    for (Bytes o = 0; o + lineBytes <= bytes; o += lineBytes) ring.push_back(base + o);
    return ring;
}

Ring shuffled(Ring ring, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t i = ring.size(); i > 1; --i) std::swap(ring[i - 1], ring[random.below(i)]);
    return ring;
}

Cover coverCache(const MappedMemory& memory, Bytes lineBytes, unsigned ways, Order order) {
    return cover(memory, lineBytes, ways, std::vector<std::uint8_t>(sets(memory), 1), order);
}

Cover coverInRounds(const MappedMemory& memory, Bytes lineBytes, unsigned ways, unsigned rounds, std::uint64_t seed) {
    std::vector<Ring> bySet;
    Cover result;
    result.missing = collect(memory, lineBytes, ways * rounds, std::vector<std::uint8_t>(sets(memory), 1), bySet);
    Ring order(bySet.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    order = shuffled(std::move(order), seed);
    for (std::size_t first = 0; first < std::size_t{ways} * rounds; first += ways)
        for (const std::uint64_t set : order) {
            const Ring& lines = bySet[set];
            const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(std::min(first, lines.size()));
            const auto end = lines.begin() + static_cast<std::ptrdiff_t>(std::min(first + ways, lines.size()));
            const Ring round = shuffled(Ring(begin, end), seed + set);
            result.ring.insert(result.ring.end(), round.begin(), round.end());
        }
    return result;
}

Ring targetRing(const MappedMemory& memory, Bytes lineBytes, Target target, std::uint32_t number) {
    const auto meant = [&](const arch::AddressMap::Location& at) {
        if (target == Target::slice) return at.slice == number;
        if (target == Target::channel) return at.channel == number;
        return at.channel * memory.map().banksPerChannel() + at.bank == number;
    };
    Ring ring;
    for (Bytes o = 0; o + lineBytes <= memory.bytes(); o += lineBytes)
        if (memory.knows(memory.base() + o) && meant(memory.locate(memory.base() + o)))
            ring.push_back(memory.base() + o);
    return ring;
}

Cover coverHotSets(const MappedMemory& memory, Bytes lineBytes, unsigned ways, const Whereabouts& victimLines,
                   double share) {
    if (victimLines.empty())
        throw Error("the addresses of the victim's lines are unknown, and so are its hottest sets");
    std::map<std::uint64_t, std::size_t> lines;
    for (const arch::AddressMap::Location& at : victimLines) ++lines[setOf(memory, at)];
    std::vector<std::pair<std::size_t, std::uint64_t>> hottest;
    hottest.reserve(lines.size());
    for (const auto& [set, count] : lines) hottest.emplace_back(count, set);
    std::sort(hottest.rbegin(), hottest.rend());
    std::vector<std::uint8_t> wanted(sets(memory), 0);
    const double enough = share * static_cast<double>(victimLines.size());
    double meant = 0;
    for (const auto& [count, set] : hottest) {
        if (meant >= enough) break;
        wanted[set] = 1;
        meant += static_cast<double>(count);
    }
    return cover(memory, lineBytes, ways, wanted, Order::rotating);
}

}  // namespace bulkhead::corun
