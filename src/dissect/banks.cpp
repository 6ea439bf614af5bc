#include "dissect/banks.h"

#include <algorithm>

namespace bulkhead::dissect {

void clearCache(Probe& probe, const MemoryView& memory, const ProbedCache& cache) {
    // Lines at an odd distance fall like random ones: with 2.5 times as many as L2 holds, hardly a set gets too few.
    const Bytes lines = cache.bytes / cache.lineBytes * 5 / 2;
    const Bytes step = std::max<Bytes>(1, memory.bytes() / lines / cache.lineBytes) | 1;
    probe.touch(memory.base(), memory.bytes(), static_cast<std::uint32_t>(step * cache.lineBytes));
}

RowConflicts::RowConflicts(Probe& probe, const MemoryView& memory, const ProbedCache& cache)
    : probe_(probe), memory_(memory), cache_(cache) {}

Times RowConflicts::time(std::span<const AddressPair> pairs) {
    return probe_.timePairs(uncached(pairs));
}

Times RowConflicts::timeDelayed(std::span<const AddressPair> pairs, std::uint32_t delay) {
    return probe_.timeDelayed(uncached(pairs), delay);
}

/// Where the pairs can be reached, once none of them is in the cache.
std::vector<std::pair<std::uint64_t, std::uint64_t>> RowConflicts::uncached(std::span<const AddressPair> pairs) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
    bool fresh = true;
    for (const AddressPair& p : pairs) {
        list.emplace_back(*memory_.reach(p.first), *memory_.reach(p.second));
        for (const arch::PhysicalAddress a : {p.first, p.second})
            fresh = cached_.insert(a / cache_.sectorBytes).second && fresh;
    }
    if (!fresh) {
        clearCache(probe_, memory_, cache_);
        cached_.clear();
        for (const AddressPair& p : pairs) {
            cached_.insert(p.first / cache_.sectorBytes);
            cached_.insert(p.second / cache_.sectorBytes);
        }
    }
    return list;
}

bool RowConflicts::calibrate(std::size_t pairs, std::uint64_t seed) {
    Random random(seed);
    std::vector<AddressPair> list(pairs);
    for (AddressPair& p : list) p = randomPair(random);
    const Times times = time(list);
    samples_.clear();
    for (std::size_t i = 0; i < pairs; ++i) samples_.push_back({list[i], times[i]});
    split_ = splitSlow(times);
    return split_.has_value();
}

std::vector<RowConflicts::Sample> RowConflicts::trend(std::size_t pairs, std::uint64_t seed) {
    // The primary stays the same line and row, but each pair needs a sector of it that is not cached: the row has few,
    // so the cache is cleared whenever they are used up.
    Random random(seed);
    const arch::PhysicalAddress primary = memory_.random(random, cache_.lineBytes);
    const std::uint32_t sectors = cache_.sectorsPerLine();
    std::vector<Sample> samples;
    for (std::size_t done = 0; done < pairs; done += sectors) {
        std::vector<AddressPair> few;
        for (std::uint32_t s = 0; s < sectors && done + s < pairs; ++s)
            few.push_back({primary + s * cache_.sectorBytes, memory_.random(random, cache_.sectorBytes)});
        const Times times = time(few);
        for (std::size_t i = 0; i < few.size(); ++i) samples.push_back({few[i], times[i]});
    }
    return samples;
}

AddressPair RowConflicts::randomPair(Random& random) {
    return {memory_.random(random, cache_.sectorBytes), memory_.random(random, cache_.sectorBytes)};
}

bool RowConflicts::pairWithDifference(Mask difference, Random& random, AddressPair& pair) {
    pair.first = memory_.random(random, cache_.sectorBytes);
    pair.second = pair.first ^ difference;
    return memory_.reach(pair.second).has_value();
}

std::vector<bool> RowConflicts::collide(std::span<const AddressPair> pairs) {
    std::vector<bool> answers;
    for (std::uint32_t t : time(pairs)) answers.push_back(t > split_->threshold);
    return answers;
}

Rows findRows(RowConflicts& oracle, const Subspace& bankFunctions, Mask bits, Bytes granularity, std::uint64_t seed) {
    constexpr int kVotes = 7;
    Random random(seed);
    const Subspace sameBank = bankFunctions.orthogonal(bits);
    std::vector<AddressPair> pairs;
    std::vector<int> tried;
    for (Mask difference : sameBank.basis()) {
        tried.push_back(0);
        for (int v = 0; v < 20 * kVotes && tried.back() < kVotes; ++v) {
            AddressPair pair;
            if (!oracle.pairWithDifference(difference, random, pair)) continue;
            pairs.push_back(pair);
            ++tried.back();
        }
    }
    const std::vector<bool> conflicts = oracle.collide(pairs);
    Rows rows;
    rows.bytes = granularity;
    std::size_t at = 0;
    for (std::size_t i = 0; i < sameBank.basis().size(); ++i) {
        int yes = 0;
        for (int v = 0; v < tried[i]; ++v) yes += conflicts[at++] ? 1 : 0;
        if (2 * yes > tried[i]) {
            rows.bits.push_back(std::bit_floor(sameBank.basis()[i]));
            rows.between.push_back(sameBank.basis()[i]);
        } else {
            rows.bytes *= 2;
            rows.within.push_back(sameBank.basis()[i]);
        }
    }
    return rows;
}

}  // namespace bulkhead::dissect
