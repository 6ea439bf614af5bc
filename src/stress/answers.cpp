#include "stress/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/phrases.h"
#include "base/statistics.h"
#include "corun/aggressor.h"
#include "stress/summary.h"

namespace bulkhead::stress {
namespace {

bool isMeasured(const Cell& cell) {
    return !cell.pairing.pairs.empty();
}

double slowdownOf(const Cell& cell) {
    return mean(cell.pairing.together()) / mean(cell.pairing.alone());
}

/// The cell that suffers most; null where none was measured.
const Cell* worstOf(const std::vector<Cell>& cells) {
    const Cell* worst = nullptr;
    for (const Cell& cell : cells)
        if (isMeasured(cell) && (worst == nullptr || slowdownOf(cell) > slowdownOf(*worst))) worst = &cell;
    return worst;
}

/// Victims in a way of sharing.
std::set<std::pair<std::string, std::string>> subjectsOf(const std::vector<Cell>& cells) {
    std::set<std::pair<std::string, std::string>> subjects;
    for (const Cell& cell : cells) subjects.emplace(cell.pair.victim.name, cell.pair.sharing);
    return subjects;
}

std::string subjectOf(const Cell& cell, const std::vector<Cell>& cells) {
    const bool one = subjectsOf(cells).size() == 1;
    return one ? cell.pair.victim.name : fmt::format("{} (sharing: {})", cell.pair.victim.name, cell.pair.sharing);
}

/// The cause that costs most, in words and as a share of the loss; nothing where the causes are not known.
std::optional<std::pair<std::string, double>> mainCause(const Cell& cell) {
    const corun::Causes& c = cell.causes;
    if (cell.explained == 0 || c.total() <= 0) return std::nullopt;
    const std::pair<const char*, double> all[] = {{"issue slots of the SMs", c.of(sim::Resource::sms)},
                                                  {"eviction from the L1", c.of(sim::Resource::l1)},
                                                  {"waiting for L2 ports", c.of(sim::Resource::ports)},
                                                  {"L2 eviction", c.of(sim::Resource::l2)},
                                                  {"DRAM banks", c.of(sim::Resource::banks)},
                                                  {"the DRAM bus", c.of(sim::Resource::bus)},
                                                  {"less room on the SMs", c.room},
                                                  {"time slicing", c.timeSlicing}};
    const auto* const most = std::max_element(std::begin(all), std::end(all),
                                              [](const auto& a, const auto& b) { return a.second < b.second; });
    return std::pair(std::string(most->first), most->second / c.total());
}

std::string causeOf(const Cell& cell) {
    const auto cause = mainCause(cell);
    return cause ? fmt::format("; {:.0f} % of the loss is {}", 100 * cause->second, cause->first) : std::string();
}

std::string timesOf(const Cell& cell, std::size_t neighbours) {
    const Summary alone = summarize(cell.pairing.alone()), together = summarize(cell.pairing.together());
    const std::string beside = neighbours == 1 ? corun::nameOf(cell.pair.aggressor)
                                               : fmt::format("{}, the worst of {} neighbours tried",
                                                             corun::nameOf(cell.pair.aggressor), neighbours);
    const auto& high = together.mean.interval.high;
    return fmt::format("takes {} alone and {} beside {}{}", duration(alone.mean.value), duration(together.mean.value),
                       beside, high ? fmt::format(" (95 %: at most {} on average)", duration(*high)) : std::string());
}

std::vector<std::string> caveatsOf(const std::vector<Cell>& cells, const Options& options) {
    std::size_t lost = 0, all = 0, unmeasured = 0;
    for (const Cell& cell : cells) {
        lost += cell.pairing.lost();
        all += cell.pairing.measured();
        unmeasured += isMeasured(cell) ? 0 : 1;
    }
    std::vector<std::string> caveats = {
        options.searchBudget > 0 ? "A search ends: another neighbour may be worse than the worst that was found."
                                 : "A neighbour that was not tried may be worse; --search looks for one."};
    if (lost > 0) caveats.push_back(fmt::format("{} of {} gave no time.", lost, counted(all, "sample")));
    if (unmeasured > 0)
        caveats.push_back(fmt::format("{} of {} could not be measured at all: the notes say why.", unmeasured,
                                      counted(cells.size(), "combination")));
    if (options.samples < 6 && all > 0)
        caveats.push_back(
            fmt::format("{} each: too few to know how much runs vary.", counted(options.samples, "sample")));
    return caveats;
}

}  // namespace

void answerMatrix(Result& r, const std::vector<Cell>& cells, const Options& options) {
    const auto subjects = subjectsOf(cells);
    r.question =
        subjects.size() == 1
            ? fmt::format("How long does {} take beside a neighbour on {}?", subjects.begin()->first, options.pair.gpu)
            : fmt::format("Which victim suffers most from a neighbour on {}?", options.pair.gpu);
    r.reading =
        "slowdown is the mean time beside the aggressor over the mean time alone: 1 means that the neighbour costs "
        "nothing.";
    const Cell* const worst = worstOf(cells);
    if (worst == nullptr) {
        r.answer = "Nothing could be measured: the notes say why.";
        return;
    }
    const auto besideIt = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [&](const Cell& cell) {
        return isMeasured(cell) && cell.pair.victim.name == worst->pair.victim.name &&
               cell.pair.sharing == worst->pair.sharing;
    }));
    r.answer = subjects.size() == 1 ? worst->pair.victim.name
                                    : fmt::format("Of {} victims and ways of sharing, {} suffers most: it",
                                                  subjects.size(), subjectOf(*worst, cells));
    r.answer += fmt::format(" {}{}.", timesOf(*worst, besideIt), causeOf(*worst));
    r.caveats = caveatsOf(cells, options);
}

void answerCauses(Result& r, const std::vector<Cell>& cells) {
    r.question = "Where does the lost time go?";
    r.reading =
        "Each row adds up to 100 % of what the victim lost; less than nothing: without this cause the neighbour works "
        "faster and costs more elsewhere.";
    const Cell* most = nullptr;
    for (const Cell& cell : cells)
        if (mainCause(cell) && (most == nullptr || cell.causes.total() > most->causes.total())) most = &cell;
    if (most == nullptr) return;
    const auto [words, share] = *mainCause(*most);
    r.answer = fmt::format("{} loses {} beside {}, and {:.0f} % of that is {}.", subjectOf(*most, cells),
                           duration(most->causes.total() / most->explained), corun::nameOf(most->pair.aggressor),
                           100 * share, words);
}

void answerBounds(Result& r, const std::vector<Cell>& cells, std::span<const WorstCase> worst, double exceedance) {
    r.question = "How long can a run take at worst?";
    r.reading = fmt::format(
        "bound is what a run exceeds with a probability of at most {:g}; max is the longest run that was seen.",
        exceedance);
    std::size_t measured = 0, bounded = 0, longest = cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (!isMeasured(cells[i])) continue;
        ++measured;
        if (!worst[i].value) continue;
        ++bounded;
        if (longest == cells.size() || *worst[i].value > *worst[longest].value) longest = i;
    }
    if (measured == 0) return;
    const std::string of = fmt::format("{} of {}", bounded, counted(measured, "combination"));
    if (bounded == 0) {
        r.answer = "The samples set no bound: the last column says why.";
        return;
    }
    r.answer = fmt::format("{} beside {} takes no longer than {}, but for one run in {:g} (with {:g} % confidence)",
                           subjectOf(cells[longest], cells), corun::nameOf(cells[longest].pair.aggressor),
                           duration(*worst[longest].value), 1 / exceedance, 100 * kConfidence);
    r.answer += bounded == measured ? (measured == 1 ? "." : "; no other combination has a higher bound.")
                                    : fmt::format("; the samples bound {}.", of);
    r.caveats = {"It holds for the conditions of the measurement: a neighbour that was not tried may be worse."};
}

void answerTimes(Result& r, const std::vector<Cell>& cells) {
    r.question = "How well are the times known?";
    r.reading = "low and high are limits of 95 % confidence; a dash where the samples are too few to set one.";
    std::optional<double> widest;
    const Cell* of = nullptr;
    for (const Cell& cell : cells) {
        if (!isMeasured(cell)) continue;
        const Estimate time = summarize(cell.pairing.together()).mean;
        if (!time.interval.low || !time.interval.high) continue;
        const double half = (*time.interval.high - *time.interval.low) / 2 / time.value;
        if (!widest || half > *widest) {
            widest = half;
            of = &cell;
        }
    }
    if (!widest) {
        r.answer = "Not at all: there are too few samples for an interval.";
        return;
    }
    r.answer = fmt::format("Means of co-runs are known to {} % or better; {} beside {} varies most.",
                           brief(100 * *widest), subjectOf(*of, cells), corun::nameOf(of->pair.aggressor));
}

void answerSamples(Result& r, std::span<const Cell* const> cells) {
    r.question = "How much do single runs vary?";
    r.reading =
        "The distributions rise at the times that runs took: steep means alike, a long tail means rare slow runs.";
    const Cell* of = nullptr;
    double most = 0;
    for (const Cell* const cell : cells) {
        if (!isMeasured(*cell)) continue;
        const std::vector<double> together = cell->pairing.together();
        const double times = maximum(together) / summarize(together).median.value;
        if (of != nullptr && times <= most) continue;
        of = cell;
        most = times;
    }
    if (of == nullptr) return;
    r.answer =
        fmt::format("The slowest run beside {} took {}, {} times the median of {}.", corun::nameOf(of->pair.aggressor),
                    duration(maximum(of->pairing.together())), brief(most), counted(of->pairing.pairs.size(), "run"));
}

}  // namespace bulkhead::stress
