#include "stress/encounters.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "arch/floor_plan.h"
#include "base/phrases.h"
#include "base/statistics.h"
#include "corun/aggressor.h"
#include "gpu/known_profile.h"
#include "stress/values.h"

namespace bulkhead::stress {
namespace {

using corun::Encounter;
using Stretch = Encounter::Stretch;

constexpr std::size_t kMostPoints = 160;

std::string nameOf(const Cell& cell, const Options& options) {
    const std::string sharing =
        options.sharing.size() > 1 ? fmt::format(" (sharing: {})", cell.pair.sharing) : std::string();
    return fmt::format("{} beside {}{}", cell.pair.victim.name, corun::nameOf(cell.pair.aggressor), sharing);
}

/// Few enough to draw: neighbours in one, but for those of which one is alone and the other is not.
std::vector<Stretch> merged(const Encounter& e) {
    const std::size_t each = (e.stretches.size() + kMostPoints - 1) / kMostPoints;
    std::vector<Stretch> all;
    std::size_t in = 0;
    for (const Stretch& s : e.stretches) {
        const bool alone = s.endUs <= e.togetherUs;
        if (in == 0 || in == each || alone != (all.back().endUs <= e.togetherUs)) {
            all.push_back(s);
            in = 1;
            continue;
        }
        all.back().endUs = s.endUs;
        all.back().victim += s.victim;
        all.back().aggressor += s.aggressor;
        ++in;
    }
    return all;
}

/// Requests per microsecond.
struct Rates {
    double victim = 0, aggressor = 0;
};

Rates rateOf(const Stretch& s) {
    const double us = std::max(s.endUs - s.beginUs, 1e-9);
    return {static_cast<double>(s.victim) / us, static_cast<double>(s.aggressor) / us};
}

/// The mean of a victim's rate, alone or together.
double meanRate(const Encounter& e, bool together) {
    double requests = 0, us = 0;
    for (const Stretch& s : e.stretches)
        if ((s.endUs > e.togetherUs) == together) {
            requests += static_cast<double>(s.victim);
            us += s.endUs - s.beginUs;
        }
    return us > 0 ? requests / us : 0;
}

Result overTime(const Cell& cell, const Options& options) {
    const Encounter& e = *cell.encounter;
    Result r;
    r.title = "Requests to the L2 over time: " + nameOf(cell, options);
    r.columns = {{"until", "us"},
                 {"victim", "%"},
                 {"aggressor", "%"},
                 {"victim's requests", "1/us"},
                 {"aggressor's requests", "1/us"}};
    const std::vector<Stretch> stretches = merged(e);
    Rates most;
    for (const Stretch& s : stretches) {
        most.victim = std::max(most.victim, rateOf(s).victim);
        most.aggressor = std::max(most.aggressor, rateOf(s).aggressor);
    }
    // One that hardly asks for anything is not magnified.
    most.aggressor = std::max(most.aggressor, most.victim);
    const auto percent = [](double rate, double of) { return of > 0 ? 100 * rate / of : 0; };
    for (const Stretch& s : stretches) {
        const Rates rate = rateOf(s);
        r.add({s.endUs, percent(rate.victim, most.victim), percent(rate.aggressor, most.aggressor), rate.victim,
               rate.aggressor});
    }
    Chart chart{Chart::Kind::line,
                "Requests to the L2, of the most that each program had",
                "until",
                {"victim", "aggressor"},
                {},
                {},
                "% of its own most",
                false,
                false};
    chart.marks = {{"the neighbour starts", e.togetherUs}};
    r.charts = {chart};
    r.question =
        fmt::format("What happens to {} when {} starts?", cell.pair.victim.name, corun::nameOf(cell.pair.aggressor));
    const double alone = meanRate(e, false), together = meanRate(e, true);
    if (alone > 0)
        r.answer = fmt::format("Its requests to the L2 go from {} to {} per microsecond, {} % of what it had alone.",
                               brief(alone), brief(together), brief(100 * together / alone));
    r.reading =
        "The victim runs alone up to the mark, and from there on the same again beside its neighbour: a low curve is a "
        "program that waits. An aggressor that asks for less than the victim is drawn to the victim's scale.";
    return r;
}

constexpr const char* kWhose[] = {"victim", "aggressor"};

Result whoEvictsWhom(const std::vector<const Cell*>& cells, const Options& options) {
    Result r;
    r.title = "Lines pushed out of the L2";
    r.columns = {{"programs", ""}, {"lines of", ""}, {"pushed out by", ""}, {"lines", ""}};
    const bool one = options.victims.size() * options.sharing.size() == 1;  // then the aggressor's name is enough
    const Cell* worst = nullptr;
    const auto lost = [](const Cell& cell) {
        return cell.encounter->evictions[Encounter::victim][Encounter::aggressor];
    };
    for (const Cell* cell : cells) {
        for (const auto whose : {Encounter::victim, Encounter::aggressor})
            for (const auto by : {Encounter::victim, Encounter::aggressor})
                r.add({one ? corun::nameOf(cell->pair.aggressor) : nameOf(*cell, options), kWhose[whose], kWhose[by],
                       whole(cell->encounter->evictions[whose][by])});
        if (worst == nullptr || lost(*cell) > lost(*worst)) worst = cell;
    }
    r.charts = {{Chart::Kind::heatmap,
                 "Who evicts whom",
                 "pushed out by",
                 {"lines"},
                 {"programs", "lines of"},
                 {},
                 "",
                 false,
                 true}};
    r.question = "Who evicts whom from the L2?";
    r.answer = lost(*worst) == 0
                   ? "No aggressor pushed out a line of a victim."
                   : fmt::format("{} pushed out {} of {}, the most of all.", corun::nameOf(worst->pair.aggressor),
                                 counted(lost(*worst), "line"), worst->pair.victim.name);
    r.reading = "Each line that left the L2 during the co-run, by who had brought it in and who needed its place.";
    return r;
}

Result whereTheyMet(const Cell& cell, const Options& options, const arch::DeviceProfile& profile) {
    const corun::Pair& pair = cell.pairing.pairs.front();
    const std::set<unsigned> victim(pair.together.sms.begin(), pair.together.sms.end());
    const std::set<unsigned> aggressor(pair.aggressor.sms.begin(), pair.aggressor.sms.end());
    const auto lostIn = [&](unsigned slice) {
        const auto& lost = cell.encounter->lostBySlice;
        return slice < lost.size() ? lost[slice] : 0;
    };
    using Kind = arch::PlacedUnit::Kind;
    const unsigned perChannel = profile.map.slices() / profile.map.channels();
    const arch::FloorLayer who{"program", "", [&](const arch::PlacedUnit& u) -> Value {
                                   if (u.kind != Kind::sm) return {};
                                   return victim.contains(u.number)      ? Value("victim")
                                          : aggressor.contains(u.number) ? Value("aggressor")
                                                                         : Value();
                               }};
    const arch::FloorLayer evicted{"victim's lines pushed out", "", [&](const arch::PlacedUnit& u) -> Value {
                                       if (u.kind == Kind::slice) return whole(lostIn(u.number));
                                       if (u.kind == Kind::sm) return {};
                                       std::uint64_t sum = 0;
                                       for (unsigned i = 0; i < perChannel; ++i)
                                           sum += lostIn(u.number * perChannel + i);
                                       return whole(sum);
                                   }};
    Result r = floorPlan("Where they met: " + nameOf(cell, options), unitsOf(profile), {evicted, who});
    r.question = fmt::format("Where on {} do {} and {} meet?", cell.pair.gpu, cell.pair.victim.name,
                             corun::nameOf(cell.pair.aggressor));
    const auto& lost = cell.encounter->lostBySlice;
    const auto hit = static_cast<std::size_t>(
        std::count_if(lost.begin(), lost.end(), [](std::uint64_t lines) { return lines > 0; }));
    r.answer = fmt::format(
        "They have no SM in common ({} and {}), and meet in the L2: lines of the victim are pushed "
        "out of {} of {}.",
        victim.size(), aggressor.size(), hit, counted(profile.map.slices(), "slice"));
    r.reading = "Colors show lines of the victim that its neighbour pushed out, or who runs on which SM.";
    return r;
}

}  // namespace

std::vector<Result> encounters(const std::vector<Cell>& cells, const Options& options) {
    std::vector<const Cell*> met;
    for (const Cell& cell : cells)
        if (cell.encounter && !cell.pairing.pairs.empty()) met.push_back(&cell);
    if (met.empty()) return {};
    const auto slowdown = [](const Cell* cell) { return mean(cell->pairing.together()) / mean(cell->pairing.alone()); };
    std::stable_sort(met.begin(), met.end(), [&](const Cell* a, const Cell* b) { return slowdown(a) > slowdown(b); });
    std::vector<Result> all;
    for (const Cell* cell : met)
        if (!cell->encounter->stretches.empty()) all.push_back(overTime(*cell, options));
    all.push_back(whoEvictsWhom(met, options));
    if (const auto profile = gpu::knownProfile(options.pair.gpu, options.pair.settings))
        for (const Cell* cell : met) all.push_back(whereTheyMet(*cell, options, *profile));
    return all;
}

}  // namespace bulkhead::stress
