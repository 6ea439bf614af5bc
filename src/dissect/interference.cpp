#include "dissect/interference.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/error.h"

namespace bulkhead::dissect {
namespace {

enum class Relation { scsb, dcsb, scdb, dcdb, dm };
constexpr std::array<const char*, 5> kNames = {"SCSB", "DCSB", "SCDB", "DCDB", "DM"};

bool zero(const Span& functions, Mask difference) {
    return std::none_of(functions.basis().begin(), functions.basis().end(),
                        [&](Mask f) { return parity(f & difference); });
}

bool fits(const MemoryHashes& h, const Span& module, Relation relation, Mask difference) {
    const bool sameSet = zero(h.set, difference), sameBank = zero(h.bank, difference),
               sameModule = zero(module, difference);
    switch (relation) {
        case Relation::scsb:
            return sameSet && sameBank;
        case Relation::dcsb:
            return !sameSet && sameBank;
        case Relation::scdb:
            return sameSet && !sameBank;
        case Relation::dcdb:
            return !sameSet && !sameBank && sameModule;
        case Relation::dm:
            return !sameModule;
    }
    return false;
}

/// Lines that share set and bank with one address, more than a set can hold, as a ring.
class Rings {
  public:
    Rings(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes)
        : probe_(probe),
          memory_(memory),
          lines_(hashes.ways + 2),
          alike_(sum(hashes.bank, hashes.set).orthogonal(hashes.bits)) {}

    std::uint64_t make(arch::PhysicalAddress like, Random& random) {
        std::vector<std::uint64_t> ring;
        for (std::size_t tries = 0; ring.size() < lines_; ++tries) {
            if (tries > 1000 * lines_) throw Error("too few lines share a set and a bank for figure 8");
            const auto line = memory_.reach(like ^ alike_.random(random));
            if (line && used_.insert(*line).second) ring.push_back(*line);
        }
        probe_.writeRing(ring);
        return ring.front();
    }

  private:
    Probe& probe_;
    const MemoryView& memory_;
    std::size_t lines_;
    Span alike_;
    std::unordered_set<std::uint64_t> used_;
};

}  // namespace

Result interferenceByThreads(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes,
                             const std::vector<unsigned>& threads, Listener& listener, std::uint64_t seed) {
    Result r;
    r.title = "Figure 8: cycles per access of the primary thread, by what the others share with it";
    r.columns = {{"threads", ""}};
    for (const char* name : kNames) r.columns.push_back({name, "cycles"});
    Random random(seed);
    const Span module = hashes.module();
    const unsigned most = *std::max_element(threads.begin(), threads.end());
    const arch::PhysicalAddress primary = memory.random(random, hashes.bits & (~hashes.bits + 1));
    Rings rings(probe, memory, hashes);
    const std::uint64_t primaryRing = rings.make(primary, random);
    std::array<std::vector<std::uint64_t>, kNames.size()> starts;
    for (std::size_t c = 0; c < kNames.size(); ++c) {
        starts[c].push_back(primaryRing);
        for (std::size_t tries = 0; starts[c].size() < most; ++tries) {
            if (tries > 4'000'000) throw Error("no addresses for case {} of figure 8", kNames[c]);
            Mask d = random.next() & hashes.bits;
            if (c == 0) d = 0;
            if (c == 1) d = hashes.bank.orthogonal(hashes.bits).random(random);
            if (c == 2) d = hashes.set.orthogonal(hashes.bits).random(random);
            if (c == 3) d = module.orthogonal(hashes.bits).random(random);
            if (!fits(hashes, module, static_cast<Relation>(c), d) || !memory.reach(primary ^ d)) continue;
            starts[c].push_back(rings.make(primary ^ d, random));
        }
        listener.progress(0.2 * static_cast<double>(c) / kNames.size());
    }
    for (std::size_t i = 0; i < threads.size(); ++i) {
        std::vector<Value> row = {static_cast<std::int64_t>(threads[i])};
        for (std::size_t c = 0; c < kNames.size(); ++c)
            row.emplace_back(probe.timeInterference(std::span(starts[c]).first(threads[i]), 64));
        r.add(std::move(row));
        listener.progress(0.2 + 0.8 * static_cast<double>(i + 1) / static_cast<double>(threads.size()));
    }
    Chart chart{Chart::Kind::line, "cycles per access of the primary thread", "threads", {}, {}, {}, "", false, false};
    chart.y.assign(kNames.begin(), kNames.end());
    r.charts.push_back(std::move(chart));
    return r;
}

}  // namespace bulkhead::dissect
