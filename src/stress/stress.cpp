#include "stress/stress.h"

#include <fmt/format.h>

#include <chrono>
#include <new>
#include <set>

#include "base/error.h"
#include "base/statistics.h"
#include "corun/aggressor.h"
#include "stress/extreme_value.h"
#include "stress/summary.h"

namespace bulkhead::stress {
namespace {

constexpr std::size_t kMatrixColumns = 21;
constexpr double kWorthExplaining = 0.001;  // of the time alone

std::int64_t whole(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

/// Time that the victim lost for each byte that the aggressor moved meanwhile, in nanoseconds per MB.
Value harmPerByte(const corun::Pairing& pairing) {
    double lost = 0, moved = 0;
    for (const corun::Pair& p : pairing.pairs) {
        lost += p.together.seconds - p.alone.seconds;
        moved += p.aggressor.bytesPerSecond() * p.together.seconds;
    }
    return moved > 0 ? Value(lost * 1e9 / (moved * 1e-6)) : Value();
}

double shareLost(const corun::Pairing& pairing) {
    return mean(pairing.together()) / mean(pairing.alone()) - 1;
}

double aggressorRate(const corun::Pairing& pairing) {
    double sum = 0;
    for (const corun::Pair& p : pairing.pairs) sum += p.aggressor.bytesPerSecond();
    return sum / static_cast<double>(pairing.pairs.size());
}

Value multiprocessors(const corun::Pairing& pairing) {
    const std::optional<bool> apart = pairing.onDisjointMultiprocessors();
    return apart ? Value(*apart ? "disjoint" : "shared") : Value();
}

std::vector<Value> cellRow(const Cell& cell, const Options& options) {
    std::vector<Value> row = {cell.pair.victim.name, cell.pair.placement, corun::nameOf(cell.pair.aggressor),
                              whole(cell.pairing.pairs.size()), whole(cell.pairing.lost())};
    if (cell.pairing.pairs.empty()) {
        row.resize(kMatrixColumns);
        row.back() = cell.refusal.empty() ? cell.pairing.why : cell.refusal;
        return row;
    }
    const std::vector<double> alone = cell.pairing.alone(), together = cell.pairing.together();
    const Summary a = summarize(alone, cell.pair.seed), t = summarize(together, cell.pair.seed);
    const Estimate s = slowdown(alone, together, cell.pair.seed);
    const std::optional<double> bound = boundWorstCase(together, options.exceedance).value();
    const std::vector<Value> rest = {multiprocessors(cell.pairing),
                                     a.mean.value * 1e3,
                                     100 * a.deviation.value / a.mean.value,
                                     t.minimum * 1e3,
                                     t.mean.value * 1e3,
                                     t.p95.value * 1e3,
                                     t.p99.value * 1e3,
                                     t.maximum * 1e3,
                                     t.deviation.value * 1e3,
                                     s.value,
                                     s.interval.low,
                                     s.interval.high,
                                     aggressorRate(cell.pairing) * 1e-9,
                                     harmPerByte(cell.pairing),
                                     bound ? Value(*bound * 1e3) : Value(),
                                     cell.pairing.why};
    row.insert(row.end(), rest.begin(), rest.end());
    return row;
}

Result matrix(const std::vector<Cell>& cells, const Options& options) {
    Result r;
    r.title = fmt::format("Interference on {}", options.pair.gpu);
    r.columns = {{"victim", ""},       {"placement", ""},
                 {"aggressor", ""},    {"samples", ""},
                 {"lost", ""},         {"SMs", ""},
                 {"alone mean", "ms"}, {"alone SD", "%"},
                 {"min", "ms"},        {"mean", "ms"},
                 {"p95", "ms"},        {"p99", "ms"},
                 {"max", "ms"},        {"SD", "ms"},
                 {"slowdown", "x"},    {"low", "x"},
                 {"high", "x"},        {"moved", "GB/s"},
                 {"harm", "ns/MB"},    {fmt::format("bound at {:g}", options.exceedance), "ms"},
                 {"note", ""}};
    for (const Cell& cell : cells) r.add(cellRow(cell, options));
    r.charts.push_back(
        {Chart::Kind::heatmap, "Slowdown", "aggressor", {"slowdown"}, {"victim", "placement"}, {}, "", false, false});
    return r;
}

/// Two rows a cell: by maxima of blocks, and by peaks over a threshold.
Result bounds(const std::vector<Cell>& cells, const Options& options) {
    Result r;
    r.title = fmt::format("Times that a run exceeds with a probability of {:g}", options.exceedance);
    r.columns = {{"victim", ""},           {"placement", ""}, {"aggressor", ""}, {"distribution", ""}, {"fitted", ""},
                 {"Anderson-Darling", ""}, {"at most", ""},   {"bound", "ms"},   {"refused", ""}};
    const auto add = [&](const Cell& cell, const char* name, const Bound& b) {
        const bool fitted = b.critical > 0;
        r.add({cell.pair.victim.name, cell.pair.placement, corun::nameOf(cell.pair.aggressor), name, whole(b.count),
               fitted ? Value(b.distance) : Value(), fitted ? Value(b.critical) : Value(),
               b.value ? Value(*b.value * 1e3) : Value(), b.refusal});
    };
    for (const Cell& cell : cells) {
        if (cell.pairing.pairs.empty()) continue;
        const WorstCase w = boundWorstCase(cell.pairing.together(), options.exceedance);
        add(cell, "Gumbel", w.gumbel);
        add(cell, "generalised Pareto", w.pareto);
    }
    return r;
}

/// Two rows a cell, alone and together.
Result times(const std::vector<Cell>& cells) {
    Result r;
    r.title = "Times, with 95 % intervals";
    r.columns = {{"victim", ""},  {"placement", ""}, {"aggressor", ""}, {"run", ""},
                 {"samples", ""}, {"min", "ms"},     {"max", "ms"}};
    for (const char* name : {"mean", "median", "p95", "p99", "SD"})
        for (const char* which : {"", " low", " high"}) r.columns.push_back({std::string(name) + which, "ms"});
    const auto add = [&](const Cell& cell, const char* run, const std::vector<double>& seconds) {
        const Summary s = summarize(seconds, cell.pair.seed);
        std::vector<Value> row = {
            cell.pair.victim.name, cell.pair.placement, corun::nameOf(cell.pair.aggressor), run, whole(s.count),
            s.minimum * 1e3,       s.maximum * 1e3};
        for (const Estimate& e : {s.mean, s.median, s.p95, s.p99, s.deviation})
            row.insert(row.end(), {e.value * 1e3, e.interval.low * 1e3, e.interval.high * 1e3});
        r.add(std::move(row));
    };
    for (const Cell& cell : cells) {
        if (cell.pairing.pairs.empty()) continue;
        add(cell, "alone", cell.pairing.alone());
        add(cell, "together", cell.pairing.together());
    }
    return r;
}

Result samples(const std::vector<Cell>& cells, const std::string& victim, const std::string& placement) {
    Result r;
    r.title = fmt::format("Samples of {}, {}", victim, placement);
    r.columns = {{"victim", ""},         {"placement", ""},       {"aggressor", ""},
                 {"sample", ""},         {"alone", "ms"},         {"together", "ms"},
                 {"alone cycles", ""},   {"together cycles", ""}, {"moved by aggressor", "bytes"},
                 {"aggressor ran", "ms"}};
    for (const Cell& cell : cells) {
        if (cell.pair.victim.name != victim || cell.pair.placement != placement) continue;
        for (std::size_t i = 0; i < cell.pairing.pairs.size(); ++i) {
            const corun::Pair& p = cell.pairing.pairs[i];
            r.add({cell.pair.victim.name, cell.pair.placement, corun::nameOf(cell.pair.aggressor), whole(i),
                   p.alone.seconds * 1e3, p.together.seconds * 1e3, whole(p.alone.cycles), whole(p.together.cycles),
                   whole(p.aggressor.bytes), static_cast<double>(p.aggressor.endNs - p.aggressor.startNs) * 1e-6});
        }
    }
    r.charts.push_back({Chart::Kind::cdf,
                        fmt::format("Times of {} beside aggressors, {}", victim, placement),
                        "",
                        {"together"},
                        {"aggressor"},
                        {},
                        "",
                        false,
                        false});
    r.charts.push_back({Chart::Kind::cdf,
                        fmt::format("Times of {} alone, {}", victim, placement),
                        "",
                        {"alone"},
                        {},
                        {},
                        "",
                        false,
                        false});
    return r;
}

Result causes(const std::vector<Cell>& cells) {
    Result r;
    r.title = "Causes of the slowdown";
    r.columns = {{"victim", ""},        {"placement", ""},       {"aggressor", ""},      {"set conflicts", "%"},
                 {"MSHR", "%"},         {"crossbar", "%"},       {"row conflicts", "%"}, {"bus", "%"},
                 {"time slicing", "%"}, {"multiprocessors", "%"}};
    for (const Cell& cell : cells) {
        const corun::Causes& c = cell.causes;
        if (c.total() <= 0 || shareLost(cell.pairing) < kWorthExplaining) continue;
        const double percent = 100 / c.total();
        r.add({cell.pair.victim.name, cell.pair.placement, corun::nameOf(cell.pair.aggressor), c.setConflicts * percent,
               c.mshr * percent, c.crossbar * percent, c.rowConflicts * percent, c.bus * percent,
               c.timeSlicing * percent, c.multiprocessors * percent});
    }
    return r;
}

void addCauses(corun::Causes& sum, const corun::Causes& c) {
    sum.setConflicts += c.setConflicts;
    sum.mshr += c.mshr;
    sum.crossbar += c.crossbar;
    sum.rowConflicts += c.rowConflicts;
    sum.bus += c.bus;
    sum.timeSlicing += c.timeSlicing;
    sum.multiprocessors += c.multiprocessors;
}

/// Pairs in one co-run, and their causes.
void measureInto(Cell& cell, corun::CoRun& coRun, unsigned count) {
    const corun::Pairing pairing =
        corun::measurePairs(coRun.actor(corun::kVictim), coRun.actor(corun::kAggressor), count);
    if (const arch::DeviceProfile* profile = coRun.simulated())
        for (const corun::Pair& pair : pairing.pairs) addCauses(cell.causes, explainPair(*profile, pair));
    cell.pairing.add(pairing);
}

/// A simulated machine repeats itself exactly: every sample has its own pages and phase, on a machine of its own.
void measureSimulated(Cell& cell, const Options& options, const std::function<bool()>& late) {
    for (unsigned i = 0; i < options.samples && !late(); ++i) {
        corun::PairSpec own = cell.pair;
        own.seed += i;
        own.aggressor.seed += i;
        measureInto(cell, *makeCoRun(coRunOf(own)), 1);
    }
}

/// `coRun`: that of the cell before with the same victim and placement, if there is one. It is kept for the next, as
/// starting processes, contexts and a daemon takes longer than most measurements.
void measureReal(Cell& cell, const Options& options, std::unique_ptr<corun::CoRun>& coRun,
                 const std::function<bool()>& late) {
    for (unsigned i = 0; i < options.samples && !late() && cell.pairing.failed == 0; ++i) measureInto(cell, *coRun, 1);
    if (cell.pairing.lost() > 0) coRun.reset();  // a kernel that failed takes its context with it
}

void measureInto(Cell& cell, const Options& options, std::unique_ptr<corun::CoRun>& coRun) {
    auto begin = std::chrono::steady_clock::now();
    const auto late = [&] {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        return options.secondsPerCell > 0 && taken.count() > options.secondsPerCell && cell.pairing.measured() > 0;
    };
    try {
        if (cell.pair.gpu.starts_with("sim:")) {
            measureSimulated(cell, options, late);
            return;
        }
        if (coRun) {
            coRun->replace(corun::kAggressor, actorOf(cell.pair.aggressor));
        } else {
            coRun = makeCoRun(coRunOf(cell.pair));
        }
        begin = std::chrono::steady_clock::now();
        measureReal(cell, options, coRun, late);
    } catch (const std::exception& e) {
        // Whatever it is, it must not cost what was measured before it.
        const std::string why = dynamic_cast<const std::bad_alloc*>(&e) ? "there is not enough memory" : e.what();
        coRun.reset();
        if (cell.pairing.measured() == 0) {
            cell.refusal = why;
        } else {
            ++cell.pairing.failed;
            cell.pairing.why = why;
        }
    }
}

}  // namespace

Cell measureCell(const corun::PairSpec& spec, const Options& options) {
    Cell cell;
    cell.pair = spec;
    std::unique_ptr<corun::CoRun> coRun;
    measureInto(cell, options, coRun);
    return cell;
}

std::vector<Result> Outcome::results(const Options& options) const {
    std::vector<Result> all = {matrix(cells, options)};
    for (Result more : {causes(cells), bounds(cells, options)})
        if (!more.rows.empty()) all.push_back(std::move(more));
    return all;
}

std::vector<Result> Outcome::details() const {
    std::vector<Result> all;
    if (Result r = times(cells); !r.rows.empty()) all.push_back(std::move(r));
    std::set<std::pair<std::string, std::string>> done;
    for (const Cell& cell : cells) {
        if (!done.emplace(cell.pair.victim.name, cell.pair.placement).second) continue;
        Result r = stress::samples(cells, cell.pair.victim.name, cell.pair.placement);
        if (!r.rows.empty()) all.push_back(std::move(r));
    }
    return all;
}

void stress(const Options& options, Outcome& outcome, const Listener& listener) {
    const auto all =
        static_cast<double>(options.victims.size() * options.placements.size() * options.aggressors.size());
    for (const std::string& victim : options.victims)
        for (const std::string& placement : options.placements) {
            std::unique_ptr<corun::CoRun> coRun;
            for (const corun::AggressorSpec& aggressor : options.aggressors) {
                corun::PairSpec spec = options.pair;
                spec.victim.name = victim;
                spec.placement = placement;
                spec.aggressor = aggressor;
                if (listener)
                    listener(fmt::format("{} beside {}, {}", victim, corun::nameOf(aggressor), placement),
                             static_cast<double>(outcome.cells.size()) / all);
                outcome.cells.emplace_back().pair = spec;
                measureInto(outcome.cells.back(), options, coRun);
            }
        }
}

}  // namespace bulkhead::stress
