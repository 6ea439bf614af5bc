#include "stress/rings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace bulkhead::stress {
namespace {

/// A set of the whole cache: slice and set in one number.
std::uint64_t setOf(const MappedMemory& memory, std::uint64_t address) {
    const arch::AddressMap::Location at = memory.locate(address);
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
    for (Bytes o = 0; left > 0 && o + lineBytes <= memory.bytes(); o += lineBytes) {
        if (!memory.knows(memory.base() + o)) continue;
        const std::uint64_t set = setOf(memory, memory.base() + o);
        if (!wanted[set] || bySet[set].size() == ways) continue;
        bySet[set].push_back(memory.base() + o);
        --left;
    }
    return left;
}

Cover cover(const MappedMemory& memory, Bytes lineBytes, unsigned ways, const std::vector<std::uint8_t>& wanted,
            Order order) {
    std::vector<Ring> bySet;
    const std::size_t missing = collect(memory, lineBytes, ways, wanted, bySet);
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
        for (const std::uint64_t set : order)
            for (std::size_t i = first; i < std::min<std::size_t>(first + ways, bySet[set].size()); ++i)
                result.ring.push_back(bySet[set][i]);
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

Cover coverHotSets(const MappedMemory& memory, Bytes lineBytes, unsigned ways, const Ring& victimLines, double share) {
    if (victimLines.empty())
        throw Error("an aggressor aimed at a victim's hottest sets needs a victim with known lines");
    std::map<std::uint64_t, std::size_t> lines;
    for (const std::uint64_t address : victimLines) ++lines[setOf(memory, address)];
    std::vector<std::pair<std::size_t, std::uint64_t>> hottest;
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

}  // namespace bulkhead::stress
