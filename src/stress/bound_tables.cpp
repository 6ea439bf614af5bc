#include "stress/bound_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/phrases.h"
#include "base/statistics.h"
#include "corun/aggressor.h"
#include "stress/answers.h"
#include "stress/values.h"

namespace bulkhead::stress {
namespace {

/// "10^6" where a run in a million exceeds the bound.
std::string runsPer(double exceedance) {
    const double runs = 1 / exceedance, exponent = std::round(std::log10(runs));
    const bool powerOfTen = exponent >= 4 && std::abs(runs / std::pow(10, exponent) - 1) < 1e-9;
    return powerOfTen ? fmt::format("10^{}", exponent) : fmt::format("{:.4g}", runs);
}

std::vector<Value> namesOf(const Cell& cell) {
    return {cell.pair.victim.name, cell.pair.sharing, corun::nameOf(cell.pair.aggressor)};
}

std::vector<Value> with(std::vector<Value> row, std::vector<Value> rest) {
    row.insert(row.end(), rest.begin(), rest.end());
    return row;
}

/// Of a cell's victim and way of sharing.
Result emptyExceedance(const Cell& cell) {
    Result r;
    r.title = fmt::format("Exceedance against time of {} (sharing: {})", cell.pair.victim.name, cell.pair.sharing);
    r.columns = {{"victim", ""}, {"sharing", ""}, {"aggressor", ""}, {"curve", ""}, {"time", "ms"}, {"exceedance", ""}};
    r.charts.push_back(
        {Chart::Kind::line,
         fmt::format("How often a run of {} takes longer (sharing: {})", cell.pair.victim.name, cell.pair.sharing),
         "time",
         {"exceedance"},
         {"aggressor", "curve"},
         {},
         "share of runs",
         false,
         true});
    r.question = fmt::format("How often does a run of {} take longer than a time?", cell.pair.victim.name);
    r.reading =
        "measured is what was seen, estimate the most likely curve behind it, bound what holds with 95 % confidence; "
        "the mark is the bound that is reported.";
    return r;
}

}  // namespace

std::vector<WorstCase> worstCasesOf(const std::vector<Cell>& cells, double exceedance) {
    std::vector<WorstCase> all;
    all.reserve(cells.size());
    for (const Cell& cell : cells)
        all.push_back(boundWorstCase(cell.pairing.together(), cell.pairing.lost(), exceedance));
    return all;
}

Result bounds(const std::vector<Cell>& cells, std::span<const WorstCase> worst, double exceedance) {
    Result r;
    r.title = fmt::format("Worst-case bound (exceeded at most once in {} runs, with {:g} % confidence)",
                          runsPer(exceedance), 100 * kConfidence);
    r.columns = {{"victim", ""}, {"sharing", ""}, {"aggressor", ""}, {"samples", ""},       {"lost", ""},
                 {"max", "ms"},  {"bound", "ms"}, {"by", ""},        {"unseen kinds", "%"}, {"why no bound", ""}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        const WorstCase& w = worst[i];
        if (cell.pairing.pairs.empty()) continue;
        r.add(with(namesOf(cell), {whole(cell.pairing.pairs.size()), whole(cell.pairing.lost()),
                                   maximum(cell.pairing.together()) * 1e3, milliseconds(w.value), w.method,
                                   100 * w.unseen, w.refusal}));
    }
    r.setDetails({"samples", "lost", "unseen kinds"});
    answerBounds(r, cells, worst, exceedance);
    return r;
}

Result iidTests(const std::vector<Cell>& cells, std::span<const WorstCase> worst) {
    Result r;
    r.title = "Are the samples independent, and of one distribution?";
    r.columns = {{"victim", ""},    {"sharing", ""}, {"aggressor", ""}, {"test", ""},
                 {"statistic", ""}, {"p-value", ""}, {"rejected", ""},  {"meaning", ""}};
    for (std::size_t i = 0; i < cells.size(); ++i)
        for (const IidTest& test : worst[i].tests)
            r.add(with(namesOf(cells[i]), {test.name, test.statistic, test.pValue, test.rejected(),
                                           test.rejected() ? test.meaning : std::string()}));
    std::size_t tests = 0, rejected = 0;
    for (const WorstCase& w : worst)
        for (const IidTest& test : w.tests) {
            ++tests;
            rejected += test.rejected() ? 1 : 0;
        }
    r.question = "May the samples be treated as independent?";
    if (tests > 0)
        r.answer = rejected == 0 ? fmt::format("None of {} says otherwise.", counted(tests, "test"))
                                 : fmt::format("No: {} of {} reject it.", rejected, counted(tests, "test"));
    r.reading = "A small p-value is one that independent samples of one distribution would seldom have.";
    return r;
}

Result fits(const std::vector<Cell>& cells, std::span<const WorstCase> worst) {
    Result r;
    r.title = "Fits behind the bounds";
    r.columns = {
        {"victim", ""},           {"sharing", ""}, {"aggressor", ""},  {"fit", ""},          {"samples fitted", ""},
        {"threshold", "ms"},      {"block", ""},   {"variation", ""},  {"shape", ""},        {"p-value", ""},
        {"Anderson-Darling", ""}, {"fits", ""},    {"estimate", "ms"}, {"upper limit", "ms"}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        const WorstCase& w = worst[i];
        for (const TailFit& t : w.tails)
            r.add(with(namesOf(cell),
                       {"above a threshold", whole(t.count), t.threshold * 1e3, Value(), t.variation, t.pareto.shape,
                        t.pValue, Value(), t.fits(), t.estimate * 1e3, milliseconds(t.limit)}));
        for (const BlockFit& b : w.blocks)
            r.add(with(namesOf(cell), {"maxima of blocks", whole(b.count), Value(), whole(b.block), Value(), Value(),
                                       Value(), std::isfinite(b.distance) ? Value(b.distance) : Value(), b.fits(),
                                       b.estimate * 1e3, milliseconds(b.limit)}));
    }
    std::size_t all = 0, fit = 0;
    for (const WorstCase& w : worst) {
        all += w.tails.size() + w.blocks.size();
        for (const TailFit& t : w.tails) fit += t.fits() ? 1 : 0;
        for (const BlockFit& b : w.blocks) fit += b.fits() ? 1 : 0;
    }
    r.question = "Do extreme-value distributions fit the samples?";
    if (all > 0) r.answer = fmt::format("{} of {} do.", fit, counted(all, "fit"));
    r.reading = "Estimates that agree over thresholds and sizes of block are to be trusted more.";
    return r;
}

std::vector<Result> exceedances(const std::vector<Cell>& cells, std::span<const WorstCase> worst, double exceedance) {
    std::vector<Result> all;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        if (!worst[i].value) continue;
        Result empty = emptyExceedance(cell);
        auto r = std::find_if(all.begin(), all.end(), [&](const Result& other) { return other.title == empty.title; });
        if (r == all.end()) r = all.insert(all.end(), std::move(empty));
        const auto add = [&](const char* curve, double seconds, double probability) {
            r->add(with(namesOf(cell), {curve, seconds * 1e3, probability}));
        };
        const std::vector<double> times = cell.pairing.together();
        for (const Exceedance& e : measuredExceedance(times)) add("measured", e.bound, e.probability);
        const std::vector<Exceedance> curve = exceedanceCurve(times, cell.pairing.lost(), worst[i], exceedance);
        for (const Exceedance& e : curve)
            if (e.estimate) add("estimate", *e.estimate, e.probability);
        for (const Exceedance& e : curve) add("bound", e.bound, e.probability);
        r->charts.front().marks.push_back(
            {fmt::format("bound at {:g} beside {}", exceedance, corun::nameOf(cell.pair.aggressor)),
             *worst[i].value * 1e3});
        if (r->answer.empty()) {
            r->answer = fmt::format("Beside {}, at most one run in {} takes longer than {}",
                                    corun::nameOf(cell.pair.aggressor), runsPer(exceedance), duration(*worst[i].value));
            r->answer += fmt::format("; the longest of {} that were seen took {}.", counted(times.size(), "run"),
                                     duration(maximum(times)));
        }
    }
    return all;
}

}  // namespace bulkhead::stress
