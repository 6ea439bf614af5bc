#include "dissect/sets.h"

#include <algorithm>

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kGroup = 32;  // candidates tried together

}  // namespace

Times SetProbe::timeAfter(std::span<const std::uint64_t> lines, std::uint64_t primary) {
    const auto sectorBytes = static_cast<std::uint32_t>(cache_.sectorBytes);
    if (rounds_ == 1) return probe_.timeAfterLines(lines, primary, cache_.sectorsPerLine(), sectorBytes);
    return probe_.timeAfterRounds(lines, rounds_, primary, cache_.sectorsPerLine(), sectorBytes);
}

bool SetProbe::evicted(std::span<const std::uint64_t> lines, std::uint64_t primary) {
    ++tests_;
    // Sectors of the line are lost together, and each has a time of its own: they vote.
    std::uint32_t lost = 0, asked = 0;
    for (const std::uint32_t tries = cache_.sectorsPerLine() > 2 ? 1 : 3; asked < tries * cache_.sectorsPerLine();) {
        const Times times = timeAfter(lines, primary);
        for (std::uint32_t t : times) lost += cache_.misses(t) ? 1 : 0;
        asked += static_cast<std::uint32_t>(times.size());
    }
    return 2 * lost > asked;
}

/// Leaves out every block of lines without which the rest still evicts, with blocks of half the size each round. A
/// wrong answer may leave out too much, and then nothing is evicted any more: that round is made again.
bool SetProbe::shorten(std::vector<std::uint64_t>& lines, std::uint64_t primary,
                       const std::function<void(double)>& progress) {
    constexpr int kSpoiltRounds = 4;
    const double begin = static_cast<double>(lines.size());
    int spoilt = 0;
    for (std::size_t block = std::max<std::size_t>(1, lines.size() / 64);;) {
        const std::vector<std::uint64_t> before = lines;
        for (std::size_t at = 0; at < lines.size();) {
            const std::size_t n = std::min(block, lines.size() - at);
            std::vector<std::uint64_t> rest(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(at));
            rest.insert(rest.end(), lines.begin() + static_cast<std::ptrdiff_t>(at + n), lines.end());
            if (!rest.empty() && evicted(rest, primary)) {
                lines = std::move(rest);
            } else {
                at += n;
            }
        }
        if (progress) progress(1 - static_cast<double>(lines.size()) / begin);
        if (!evicted(lines, primary) && !evicted(lines, primary)) {
            lines = before;
            if (++spoilt == kSpoiltRounds) return false;
            continue;
        }
        if (block == 1 && lines.size() == before.size()) return true;
        block = std::max<std::size_t>(1, block / 2);
    }
}

std::optional<EvictionSet> SetProbe::find(const LineSource& source, std::uint64_t seed,
                                          const std::function<void(double)>& progress) {
    Random random(seed);
    tests_ = 0;
    rounds_ = 1;
    if (auto set = findByRounds(source, 8, random, progress)) return set;
    // Few rounds where each brings the line nearer to its end, many where chance decides.
    LineSource few = source;
    few.most = std::min(source.most, Probe::kMostInRounds);
    for (rounds_ = 8; rounds_ <= 64; rounds_ *= 8)
        if (auto set = findByRounds(few, 2, random, progress)) return set;
    return std::nullopt;
}

std::optional<EvictionSet> SetProbe::findByRounds(const LineSource& source, int attempts, Random& random,
                                                  const std::function<void(double)>& progress) {
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const std::uint64_t primary = source.primary(random);
        for (std::size_t count = source.first; count <= source.most; count *= 2) {
            std::vector<std::uint64_t> lines = source.candidates(primary, count, random);
            if (!evicted(lines, primary)) continue;
            if (shorten(lines, primary, progress)) return EvictionSet{primary, std::move(lines), tests_, rounds_};
            break;
        }
    }
    return std::nullopt;
}

LineSource linesOfBank(const MemoryView& memory, const ProbedCache& cache, const Subspace& bankFunctions) {
    const Mask bits = bitRange(static_cast<unsigned>(std::countr_zero(cache.lineBytes)), memory.addressBits());
    const Subspace differences = bankFunctions.orthogonal(bits);
    LineSource source;
    source.most = 4 * cache.bytes / cache.lineBytes;
    source.primary = [&memory, line = cache.lineBytes](Random& random) {
        return *memory.reach(memory.random(random, line));
    };
    source.candidates = [&memory, differences](std::uint64_t primary, std::size_t count, Random& random) {
        std::vector<std::uint64_t> lines;
        for (std::size_t tries = 0; lines.size() < count && tries < 100 * count; ++tries) {
            const Mask d = differences.random(random);
            const auto line = memory.reach(memory.physical(primary) ^ d);
            if (d != 0 && line) lines.push_back(*line);
        }
        std::sort(lines.begin(), lines.end());
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[random.below(i)]);
        return lines;
    };
    return source;
}

AddressPair SetConflicts::randomPair(Random& random) {
    return {memory_.physical(members_.set().primary), memory_.random(random, cache_.lineBytes)};
}

bool SetConflicts::pairWithDifference(Mask difference, Random&, AddressPair& pair) {
    const EvictionSet& set = members_.set();
    pair.first = memory_.physical(set.primary);
    pair.second = pair.first ^ difference;
    const auto line = memory_.reach(pair.second);
    // The lines of the eviction set itself are in use already.
    return difference != 0 && line && std::find(set.lines.begin(), set.lines.end(), *line) == set.lines.end();
}

std::vector<bool> SetConflicts::collide(std::span<const AddressPair> pairs) {
    std::vector<std::uint64_t> lines;
    for (const AddressPair& p : pairs) lines.push_back(*memory_.reach(p.second));
    return members_.contain(lines);
}

std::vector<bool> SetMembers::evictedByAny(const std::vector<std::vector<std::uint64_t>>& groups) {
    std::vector<Access> accesses;
    std::vector<std::size_t> last;
    for (const auto& group : groups) {
        accesses.push_back({set_.primary});
        for (std::size_t i = 1; i < set_.lines.size(); ++i) accesses.push_back({set_.lines[i]});
        for (std::uint64_t line : group) accesses.push_back({line});
        last.push_back(accesses.size());
        accesses.push_back({set_.primary});
    }
    const Times times = probe_.timeAccesses(accesses);
    std::vector<bool> answers;
    answers.reserve(last.size());
    for (std::size_t at : last) answers.push_back(cache_.misses(times[at]));
    return answers;
}

std::vector<bool> SetMembers::contain(std::span<const std::uint64_t> lines) {
    std::vector<bool> answers(lines.size(), false);
    const std::size_t size = lines.size() > 4 * kGroup ? kGroup : 1;
    std::vector<std::vector<std::uint64_t>> groups;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i % size == 0) groups.emplace_back();
        groups.back().push_back(lines[i]);
    }
    const std::vector<bool> any = evictedByAny(groups);
    if (size == 1) return any;
    std::vector<std::vector<std::uint64_t>> singles;
    std::vector<std::size_t> place;
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t k = 0; any[g] && k < groups[g].size(); ++k) {
            singles.push_back({groups[g][k]});
            place.push_back(g * size + k);
        }
    const std::vector<bool> each = evictedByAny(singles);
    for (std::size_t i = 0; i < each.size(); ++i) answers[place[i]] = each[i];
    return answers;
}

}  // namespace bulkhead::dissect
