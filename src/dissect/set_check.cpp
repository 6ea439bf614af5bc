#include "dissect/set_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/phrases.h"
#include "gpu/launch_log.h"

namespace bulkhead::dissect {
namespace {

constexpr std::uint32_t kRounds = 16;
constexpr Bytes kLineBytes = 128;

/// Lines of one set.
std::vector<std::uint64_t> linesAlike(const MemoryView& memory, const MemoryHashes& hashes, std::size_t count,
                                      Random& random) {
    const Subspace sameSet = hashes.set.orthogonal(hashes.bits);
    const arch::PhysicalAddress first = memory.random(random, kLineBytes);
    std::vector<std::uint64_t> lines;
    std::unordered_set<std::uint64_t> used;
    for (std::size_t tries = 0; lines.size() < count; ++tries) {
        if (tries > 10'000 * count) throw Error("the probed memory has no {} lines of one set", count);
        const auto line = memory.reach(first ^ sameSet.random(random));
        if (line && used.insert(*line).second) lines.push_back(*line);
    }
    return lines;
}

/// One line of each of so many sets.
std::vector<std::uint64_t> linesApart(const MemoryView& memory, const MemoryHashes& hashes, std::size_t count,
                                      Random& random) {
    std::vector<arch::PhysicalAddress> chosen;
    std::vector<std::uint64_t> lines;
    for (std::size_t tries = 0; lines.size() < count; ++tries) {
        if (tries > 10'000 * count) throw Error("the probed memory has no lines of {} sets", count);
        const arch::PhysicalAddress at = memory.random(random, kLineBytes);
        const bool known =
            std::ranges::any_of(chosen, [&](arch::PhysicalAddress other) { return hashes.set.vanishesAt(at ^ other); });
        if (known) continue;
        chosen.push_back(at);
        lines.push_back(*memory.reach(at));
    }
    return lines;
}

/// A ring for each list of lines, followed some times, with what the GPU counts of it.
class Rings {
  public:
    explicit Rings(Probe& probe) : probe_(probe), counts_(probe.gpu().capabilities().launchCounters) {
        result.title = "Figure 6, checked by counters: a chase through lines of one set, and of different sets";
        result.columns = {{"lines", ""}, {"of", ""}, {"accesses", ""}, {"time of an access", "cycles"}};
        if (counts_) result.columns.insert(result.columns.end(), {{"L2 misses", ""}, {"miss rate", "%"}});
        result.question = "Do lines of one set evict each other?";
        result.reading = "The first access to each line misses wherever it lies.";
    }

    void add(const std::vector<std::uint64_t>& lines, const char* of) {
        probe_.writeRing(lines);
        std::optional<gpu::LaunchLog> log;
        if (counts_) log.emplace(probe_.gpu(), probe_.gpu().context());
        const auto accesses = kRounds * static_cast<std::uint32_t>(lines.size());
        const std::uint64_t cycles = probe_.countedChase(lines.front(), accesses);
        std::vector<Value> row = {static_cast<std::int64_t>(lines.size()), std::string(of), std::int64_t{accesses},
                                  static_cast<double>(cycles) / accesses};
        if (log) {
            const sim::Counters counters = log->launches().back().counters;
            const auto misses = static_cast<std::int64_t>(counters.l2Sectors - counters.l2SectorHits);
            row.insert(row.end(), {misses, 100.0 * static_cast<double>(misses) / accesses});
        }
        result.add(std::move(row));
    }
    /// The last two rows are of as many lines, of one set and of different ones.
    Result answered() {
        const std::size_t last = result.columns.size() - 1, one = result.rows.size() - 2;
        const char* const sentence =
            counts_ ? "{} lines miss in {} % of accesses in one set, and in {} % in different ones."
                    : "An access to one of {} lines takes {} cycles in one set, and {} in different ones.";
        result.answer = fmt::format(fmt::runtime(sentence), std::get<std::int64_t>(result.rows[one][0]),
                                    brief(std::get<double>(result.rows[one][last])),
                                    brief(std::get<double>(result.rows[one + 1][last])));
        return result;
    }

    Result result;

  private:
    Probe& probe_;
    bool counts_;
};

}  // namespace

Result missesBySet(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes, std::uint64_t seed) {
    Random random(seed);
    Rings rings(probe);
    rings.add(linesAlike(memory, hashes, hashes.ways, random), "one set");
    rings.add(linesAlike(memory, hashes, 2 * hashes.ways, random), "one set");
    rings.add(linesApart(memory, hashes, 2 * hashes.ways, random), "different sets");
    return rings.answered();
}

Result missesBySet(Probe& probe, const MemoryView& memory, const EvictionSet& eviction, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint64_t> together = eviction.lines, apart;
    together.push_back(eviction.primary);
    std::unordered_set<std::uint64_t> used;
    while (apart.size() < together.size()) {
        const std::uint64_t line = memory.base() + random.below(memory.bytes() / kLineBytes) * kLineBytes;
        if (used.insert(line).second) apart.push_back(line);
    }
    Rings rings(probe);
    rings.add(eviction.lines, "one set");
    rings.add(together, "one set");
    rings.add(apart, "different sets");
    return rings.answered();
}

}  // namespace bulkhead::dissect
