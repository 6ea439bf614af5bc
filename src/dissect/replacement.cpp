#include "dissect/replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/mem/cache_tags.h"

namespace bulkhead::dissect {
namespace {

using Policy = arch::DeviceProfile::Replacement;

/// Reads of lines of one set, by number, with whether each hit. They begin, on a set without any of them, with rounds
/// over one line more than it holds: all miss unless chance decides, which brings every policy into a state that is
/// known but for where it began.
struct Sequence {
    std::vector<std::size_t> reads;
    std::vector<bool> hits;
};
constexpr std::size_t kRounds = 8, kSettled = 6;  ///< over all lines; before answers count

std::vector<std::size_t> randomReads(std::size_t lines, bool far, Random& random) {
    constexpr std::size_t kProbes = 16;  ///< times as many reads as lines
    std::vector<std::size_t> reads;
    for (std::size_t i = 0; i < kRounds * lines; ++i) reads.push_back(i % lines);
    std::size_t at = 0;
    for (std::size_t i = 0; i < kProbes * lines; ++i) {
        const bool jumps = random.below(far ? 2 : 8) == 0;
        at = (at + (jumps ? random.below(lines) : 1)) % lines;
        reads.push_back(at);
    }
    return reads;
}

/// A set as a policy of the simulator has it.
class Model {
  public:
    /// `begin`: how many other lines have been read before, which turns what goes round in the set.
    Model(Policy policy, std::size_t ways, std::size_t begin) : tags_(1, static_cast<std::uint32_t>(ways), policy) {
        for (std::size_t i = 0; i < ways + begin; ++i) read(kOthers + i);
    }
    bool read(std::uint64_t line) {
        std::uint32_t way = tags_.find(0, line);
        const bool hit = way != sim::CacheTags::kNoWay;
        if (hit) {
            tags_.use(0, way);
        } else {
            way = tags_.victim(0);
            tags_.place(0, way, line, 0);
        }
        return hit;
    }

  private:
    static constexpr std::uint64_t kOthers = std::uint64_t{1} << 32;
    sim::CacheTags tags_;
};

/// Share of answers that a policy predicts, at its best beginning.
double agreement(Policy policy, std::size_t ways, const Sequence& sequence) {
    const std::size_t first = kSettled * (ways + 1), count = sequence.reads.size() - first;
    std::size_t best = 0;
    for (std::size_t begin = 0; begin < ways; ++begin) {
        Model model(policy, ways, begin);
        std::size_t same = 0;
        for (std::size_t i = 0; i < sequence.reads.size(); ++i)
            same += model.read(sequence.reads[i]) == sequence.hits[i] && i >= first;
        best = std::max(best, same);
    }
    return static_cast<double>(best) / static_cast<double>(count);
}

/// Share of hits in many rounds over one line more than a set holds.
template <class Read>
double hitsInRounds(std::size_t lines, Read read) {
    constexpr std::size_t kMany = 40;
    std::size_t hits = 0;
    for (std::size_t i = 0; i < kMany * lines; ++i) hits += read(i % lines) && i >= kSettled * lines;
    return static_cast<double>(hits) / static_cast<double>((kMany - kSettled) * lines);
}

/// Asks one set, all of whose lines it knows.
class SetInterview {
  public:
    SetInterview(Probe& probe, const MemoryView& memory, const ProbedCache& cache, const EvictionSet& set,
                 const std::vector<std::uint64_t>& more)
        : probe_(probe), memory_(memory), cache_(cache), set_(set), lines_(set.lines) {
        lines_.insert(lines_.end(), more.begin(), more.end());
    }

    void nameIn(Replacement&);
    std::size_t readsToEvict(AccessKind first);
    Bytes evictedTogether();

  private:
    std::size_t ways() const { return set_.lines.size(); }
    bool lastMisses(const std::vector<Access>& before);
    void forget();
    std::vector<bool> hits(const std::vector<std::size_t>& reads);
    bool isRandom();

    Probe& probe_;
    const MemoryView& memory_;
    const ProbedCache& cache_;
    const EvictionSet& set_;
    std::vector<std::uint64_t> lines_;  ///< without the primary; first those of the eviction set
};

/// Loads `before`, then says whether the last of them, asked for again, missed; most of several tries decide.
bool SetInterview::lastMisses(const std::vector<Access>& before) {
    constexpr int kVotes = 5;
    int yes = 0;
    for (int v = 0; v < kVotes; ++v) {
        std::vector<Access> all;
        for (std::uint64_t line : lines_) all.push_back({line});  // the same history every time
        for (std::uint64_t line : lines_) all.push_back({line});
        all.insert(all.end(), before.begin(), before.end());
        yes += cache_.misses(probe_.timeAccesses(all).back()) ? 1 : 0;
    }
    return 2 * yes > kVotes;
}

std::size_t SetInterview::readsToEvict(AccessKind first) {
    for (std::size_t n = 1; n <= lines_.size(); ++n) {
        std::vector<Access> list = {{set_.primary, first}};
        for (std::size_t i = 0; i < n; ++i) list.push_back({lines_[i]});
        list.push_back({set_.primary});
        if (lastMisses(list)) return n;
    }
    return 0;
}

/// Bytes around the primary that leave with it, up to four lines on each side of a guess.
Bytes SetInterview::evictedTogether() {
    std::uint64_t low = set_.primary, high = set_.primary + cache_.sectorBytes;
    Random random(1);
    const auto goesToo = [&](std::uint64_t neighbour) {
        std::vector<Access> both = {{neighbour}, {set_.primary}};
        std::vector<std::uint64_t> others = set_.lines;
        for (std::uint32_t round = 0; round < set_.rounds; ++round) {
            for (const std::uint64_t line : others) both.push_back({line});
            // In the same order again, the lines that go could always be others.
            for (std::size_t i = others.size(); i > 1; --i) std::swap(others[i - 1], others[random.below(i)]);
        }
        both.push_back({neighbour});
        return lastMisses(both);
    };
    while (high - set_.primary < 1024 && goesToo(high)) high += cache_.sectorBytes;
    while (set_.primary - low < 1024 && goesToo(low - cache_.sectorBytes)) low -= cache_.sectorBytes;
    return high - low;
}

/// Leaves none of the eviction set's lines in the set: others are read until the last one is gone.
void SetInterview::forget() {
    constexpr int kTimes = 4;
    if (lines_.size() < 2 * ways()) {
        for (int i = 0; i < kTimes; ++i) clearCache(probe_, memory_, cache_);
        return;
    }
    std::vector<Access> others;
    for (int i = 0; i < kTimes; ++i)
        for (std::size_t k = ways(); k < lines_.size(); ++k) others.push_back({lines_[k]});
    probe_.timeAccesses(others);
}

/// Line 0 is the primary.
std::vector<bool> SetInterview::hits(const std::vector<std::size_t>& reads) {
    forget();
    std::vector<Access> list;
    list.reserve(reads.size());
    for (const std::size_t line : reads) list.push_back({line == 0 ? set_.primary : lines_[line - 1]});
    std::vector<bool> answers;
    for (const std::uint32_t cycles : probe_.timeAccesses(list)) answers.push_back(!cache_.misses(cycles));
    return answers;
}

/// The policy that predicts the most hits and misses, if it predicts nearly all.
void SetInterview::nameIn(Replacement& found) {
    constexpr int kSequences = 4;
    constexpr double kEnough = 0.95;
    Random random(1);
    std::vector<Sequence> sequences(kSequences);
    for (int i = 0; i < kSequences; ++i) {
        sequences[i].reads = randomReads(ways() + 1, i % 2 == 0, random);
        sequences[i].hits = hits(sequences[i].reads);
    }
    Policy best = Policy::lru;
    double most = 0;
    for (std::size_t p = 0; p < sim::replacementPolicies().size(); ++p) {
        double sum = 0;
        for (const Sequence& s : sequences) sum += agreement(static_cast<Policy>(p), ways(), s);
        if (sum / kSequences <= most) continue;
        most = sum / kSequences;
        best = static_cast<Policy>(p);
    }
    const auto title = [](Policy p) {
        return std::string(sim::replacementPolicies()[static_cast<std::size_t>(p)].title);
    };
    if (most >= kEnough) {
        found.policy = title(best);
        if (best != Policy::lru)
            found.evidence = fmt::format("it predicts {:.1f} % of {} hits and misses; ", 100 * most,
                                         kSequences * (sequences[0].reads.size() - kSettled * (ways() + 1)));
    } else if (isRandom()) {
        found.policy = title(Policy::random);
        found.evidence = "repeated reads hit and miss at random; ";
    } else {
        found.policy = "unknown";
        found.evidence = fmt::format(
            "none of the simulator's policies: {} is the closest and predicts {:.1f} % of hits and misses; ",
            title(best), 100 * most);
    }
}

/// Whether rounds hit as often as they do where chance decides, and the same reads are answered differently each time.
bool SetInterview::isRandom() {
    const std::size_t lines = ways() + 1;
    std::vector<std::size_t> rounds;
    hitsInRounds(lines, [&](std::size_t line) {
        rounds.push_back(line);
        return false;
    });
    const std::vector<bool> once = hits(rounds), again = hits(rounds);
    std::size_t at = 0, differ = 0;
    for (std::size_t i = 0; i < once.size(); ++i) differ += once[i] != again[i];
    const double measured = hitsInRounds(lines, [&](std::size_t) { return once[at++]; });
    Model model(Policy::random, ways(), 0);
    const double expected = hitsInRounds(lines, [&](std::size_t line) { return model.read(line); });
    constexpr double kTolerance = 0.3;
    return std::abs(measured - expected) < kTolerance * (1 - expected) && 20 * differ > once.size();
}

}  // namespace

Replacement findReplacement(Probe& probe, const MemoryView& memory, const ProbedCache& cache, const EvictionSet& set,
                            const std::vector<std::uint64_t>& more) {
    SetInterview ask(probe, memory, cache, set, more);
    Replacement r;
    r.readsToEvictRead = ask.readsToEvict(AccessKind::pastL1);
    r.readsToEvictWrite = ask.readsToEvict(AccessKind::store);
    ask.nameIn(r);
    r.evictedTogether = ask.evictedTogether();
    return r;
}

void describe(const Replacement& r, Listener& listener) {
    listener.found({"L2 line", static_cast<std::int64_t>(r.evictedTogether), "B", 1, "bytes evicted together"});
    const std::string afterReads = r.readsToEvictRead != 0 ? fmt::format("{} other reads", r.readsToEvictRead)
                                                           : "more other reads than were tried";
    listener.found(
        {"L2 replacement", r.policy, "", 1,
         fmt::format("{}a line that was read is evicted after {}, a line that was written after {}", r.evidence,
                     afterReads,
                     r.readsToEvictWrite != 0 ? std::to_string(r.readsToEvictWrite) : "more than were tried")});
}

}  // namespace bulkhead::dissect
