#include "dissect/interference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "dissect/figures.h"

namespace bulkhead::dissect {
namespace {

enum class Relation { scsb, dcsb, scdb, dcdb, dm };
constexpr std::array<const char*, 5> kRelationNames = {"SCSB", "DCSB", "SCDB", "DCDB", "DM"};

bool fits(const MemoryHashes& h, const Subspace& module, Relation relation, Mask difference) {
    const bool sameSet = h.set.vanishesAt(difference), sameBank = h.bank.vanishesAt(difference),
               sameModule = module.vanishesAt(difference);
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

/// Why no two addresses of such a GPU are related like this; empty if some are.
std::string impossible(const MemoryHashes& h, const Subspace& module, Relation relation) {
    const bool modules = module.dimension() > 0, sets = h.set.dimension() > module.dimension(),
               banks = h.bank.dimension() > module.dimension();
    switch (relation) {
        case Relation::scsb:
            return "";
        case Relation::dcsb:
            return sets ? "" : "a bank has one set";
        case Relation::scdb:
            return banks ? "" : "a set has one bank";
        case Relation::dcdb:
            return sets && banks ? "" : sets ? "a module has one bank" : "a module has one set";
        case Relation::dm:
            return modules ? "" : "there is one memory module";
    }
    return "";
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
            if (tries > 1000 * lines_) throw Error("too few lines share a set and a bank for Figure 8");
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
    Subspace alike_;
    std::unordered_set<std::uint64_t> used_;
};

/// A difference of addresses that may fit.
Mask drawDifference(const MemoryHashes& h, const Subspace& module, Relation relation, Random& random) {
    const Mask any = random.next() & h.bits;
    switch (relation) {
        case Relation::scsb:
            return 0;
        case Relation::dcsb:
            return h.bank.orthogonal(h.bits).random(random);
        case Relation::scdb:
            return h.set.orthogonal(h.bits).random(random);
        case Relation::dcdb:
            return module.orthogonal(h.bits).random(random);
        case Relation::dm:
            return any;
    }
    return any;
}

/// One relation, and where the threads that have it to the primary one begin, that one first.
struct Case {
    const char* name;
    std::vector<std::uint64_t> starts;
};

/// Of an address that is so related to the primary one. Nothing if the probed memory has none.
std::optional<Mask> findDifference(const MemoryView& memory, const MemoryHashes& hashes, const Subspace& module,
                                   Relation relation, arch::PhysicalAddress primary, Random& random) {
    constexpr std::size_t kTries = 100'000;
    for (std::size_t tries = 0; tries < kTries; ++tries) {
        const Mask d = drawDifference(hashes, module, relation, random);
        if (fits(hashes, module, relation, d) && memory.reach(primary ^ d)) return d;
    }
    return std::nullopt;
}

}  // namespace

Result interferenceByThreads(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes,
                             const std::vector<unsigned>& threads, Listener& listener, std::uint64_t seed) {
    Random random(seed);
    const Subspace module = hashes.module();
    const unsigned most = *std::max_element(threads.begin(), threads.end());
    const arch::PhysicalAddress primary = memory.random(random, hashes.bits & (~hashes.bits + 1));
    Rings rings(probe, memory, hashes);
    const std::uint64_t primaryRing = rings.make(primary, random);
    std::vector<Case> cases;
    for (std::size_t c = 0; c < kRelationNames.size(); ++c) {
        const auto relation = static_cast<Relation>(c);
        std::string missing = impossible(hashes, module, relation);
        std::optional<Mask> difference;
        if (missing.empty()) difference = findDifference(memory, hashes, module, relation, primary, random);
        if (missing.empty() && !difference) missing = "the probed memory has no such addresses";
        if (missing.empty()) {
            // All of them share one set and one bank: where that is not the primary's, what they queue for fills up.
            Case one{kRelationNames[c], {primaryRing}};
            while (one.starts.size() < most) one.starts.push_back(rings.make(primary ^ *difference, random));
            cases.push_back(std::move(one));
        } else {
            listener.found({fmt::format("Figure 8, {}", kRelationNames[c]), {}, "", 0, "not measured: " + missing});
        }
        listener.progress(0.2 * static_cast<double>(c) / kRelationNames.size());
    }
    Result r;
    r.title = "Figure 8: cycles per access of the primary thread, by what other threads share with it";
    r.columns = {{"threads", ""}};
    for (const Case& one : cases) r.columns.push_back({one.name, "cycles"});
    for (std::size_t i = 0; i < threads.size(); ++i) {
        std::vector<Value> row = {static_cast<std::int64_t>(threads[i])};
        for (const Case& one : cases)
            row.emplace_back(probe.timeInterference(std::span(one.starts).first(threads[i]), 64));
        r.add(std::move(row));
        listener.progress(0.2 + 0.8 * static_cast<double>(i + 1) / static_cast<double>(threads.size()));
    }
    Chart chart{Chart::Kind::line, "cycles per access of the primary thread", "threads", {}, {}, {}, "", false, false};
    for (const Case& one : cases) chart.y.emplace_back(one.name);
    r.charts.push_back(std::move(chart));
    r.question = "What must threads share to slow each other down?";
    r.answer = slowestOfLastRow(r);
    r.reading =
        "Same (S) or different (D) sets of the cache (C) and banks (B), or another memory module (DM): a curve that "
        "rises "
        "with the threads is of something that they compete for.";
    return r;
}

}  // namespace bulkhead::dissect
