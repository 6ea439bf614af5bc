#include "dissect/mshrs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "dissect/figures.h"
#include "dissect/time_split.h"

namespace bulkhead::dissect {
namespace {

constexpr std::size_t kRepeats = 5;
enum Kind : std::size_t { sameBank, otherBank, otherModule };
constexpr std::array<const char*, 3> kKindNames = {"same bank", "other bank", "other module"};

/// What a miss may have in common with others on such a GPU.
std::vector<Kind> kindsOf(const MemoryHashes& hashes) {
    const std::size_t module = hashes.module().dimension();
    std::vector<Kind> kinds = {sameBank};
    if (hashes.bank.dimension() > module) kinds.push_back(otherBank);
    if (module > 0) kinds.push_back(otherModule);
    return kinds;
}

/// Lines that were never used before, so that each misses.
class FreshLines {
  public:
    FreshLines(const MemoryView& memory, const MemoryHashes& hashes, std::uint64_t seed)
        : memory_(memory), hashes_(hashes), module_(hashes.module()), random_(seed) {
        alike_ = hashes.bank.orthogonal(hashes.bits);
        ofModule_ = module_.orthogonal(hashes.bits);
    }

    arch::PhysicalAddress any() { return memory_.random(random_, hashes_.bits & (~hashes_.bits + 1)); }
    /// One that has the same bank, only the same module, or neither.
    std::uint64_t like(arch::PhysicalAddress primary, Kind kind) {
        for (int tries = 0; tries < 1'000'000; ++tries) {
            const Mask d = kind == sameBank    ? alike_.random(random_)
                           : kind == otherBank ? ofModule_.random(random_)
                                               : random_.next() & hashes_.bits;
            if (kind == otherBank && hashes_.bank.vanishesAt(d)) continue;
            if (kind == otherModule && module_.vanishesAt(d)) continue;
            const auto line = memory_.reach(primary ^ d);
            if (line && used_.insert(*line).second) return *line;
        }
        throw Error("too few lines of a bank to measure outstanding misses");
    }

  private:
    const MemoryView& memory_;
    const MemoryHashes& hashes_;
    Subspace module_, alike_, ofModule_;
    Random random_;
    std::unordered_set<std::uint64_t> used_;
};

using Curve = std::vector<std::pair<double, double>>;  ///< misses under way, cycles

/// How many misses are under way before a curve rises to a time; beyond its ends it goes on as it ended.
double missesUntil(const Curve& curve, double cycles) {
    std::size_t i = 1;
    while (i + 1 < curve.size() && curve[i].second < cycles) ++i;
    const auto [x0, y0] = curve[i - 1];
    const auto [x1, y1] = curve[i];
    return x0 + (x1 - x0) * (cycles - y0) / (y1 - y0);
}

/// By how many misses a curve lags behind another one that rises as steeply, at every point where it has risen.
std::vector<double> lags(const Curve& late, const Curve& early, double each) {
    std::vector<double> list;
    for (const auto& [misses, cycles] : late)
        if (cycles > late.front().second + 3 * each && cycles > early.front().second + 3 * each)
            list.push_back(misses - missesUntil(early, cycles));
    std::sort(list.begin(), list.end());
    return list;
}

}  // namespace

Mshrs findMshrs(Probe& probe, const MemoryView& memory, const MemoryHashes& hashes, std::uint64_t seed,
                Result& figure) {
    figure.title = "Figure 8 by outstanding misses: time of a miss behind others in one bank";
    figure.columns = {{"outstanding misses", ""}};
    const std::vector<Kind> kinds = kindsOf(hashes);
    for (const Kind kind : kinds) figure.columns.push_back({kKindNames[kind], "cycles"});
    FreshLines fresh(memory, hashes, seed);
    std::vector<std::uint32_t> counts;
    for (std::uint32_t n = 0; n <= Probe::kMostBehind; n += n < 64 ? 1 : 16) counts.push_back(n);
    std::array<Curve, kKindNames.size()> curves;
    for (const std::uint32_t count : counts) {
        std::vector<Value> row = {std::int64_t{count}};
        for (const Kind kind : kinds) {
            std::vector<std::uint64_t> tests;
            for (std::size_t r = 0; r < kRepeats; ++r) {
                const arch::PhysicalAddress primary = fresh.any();
                for (std::uint32_t i = 0; i < count; ++i) tests.push_back(fresh.like(primary, sameBank));
                tests.push_back(fresh.like(primary, kind));
            }
            curves[kind].emplace_back(count, median(probe.timeBehind(tests, count)));
            row.emplace_back(curves[kind].back().second);
        }
        figure.add(std::move(row));
    }
    Chart chart{Chart::Kind::line,
                "time of a miss behind others in one bank",
                "outstanding misses",
                {},
                {},
                {},
                "",
                false,
                false};
    for (const Kind kind : kinds) chart.y.emplace_back(kKindNames[kind]);
    figure.charts.push_back(std::move(chart));
    figure.question = "How long does a miss wait for others?";
    figure.answer = slowestOfLastRow(figure);
    figure.reading = "A step in a curve is where what holds outstanding misses is full.";

    Mshrs found;
    // What each more miss costs behind those of its own bank.
    const auto& [most, longest] = curves[sameBank].back();
    const double each = (longest - curves[sameBank].front().second) / most;
    const std::vector<double> ofModule = lags(curves[otherBank], curves[sameBank], each),
                              elsewhere = lags(curves[otherModule], curves[sameBank], each);
    const std::string behind = fmt::format("each miss delays the next miss in its bank by {:.0f} cycles", each);
    if (ofModule.empty()) {
        found.evidence = fmt::format("at least {}: {}, but no miss in another bank", most, behind);
        return found;
    }
    // Such a miss waits until all others but as many as there are MSHRs less one have come, and then for its own row,
    // which takes most of the time that a bank needs for each.
    constexpr double kOwnRow = 0.85;
    const double lag = ofModule[ofModule.size() / 2];
    const auto mshrs = static_cast<std::uint32_t>(std::lround(lag + kOwnRow));
    if (!elsewhere.empty() && elsewhere[elsewhere.size() / 2] < lag + 2) {
        found.evidence =
            fmt::format("at least {}: {}, and as many misses delay one in another module too", mshrs, behind);
        return found;
    }
    found.ofModule = mshrs;
    const std::string others =
        elsewhere.empty() ? "none" : fmt::format("all but {:.0f}", elsewhere[elsewhere.size() / 2]);
    found.evidence = fmt::format(
        "{}; a miss in another bank waits for all but {} of them (the MSHRs, or a queue before DRAM if "
        "that is shorter), a miss in another module for {}",
        behind, mshrs, others);
    return found;
}

}  // namespace bulkhead::dissect
