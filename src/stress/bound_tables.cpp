#include "stress/bound_tables.h"

#include <fmt/format.h>

#include <cmath>

#include "base/statistics.h"
#include "corun/aggressor.h"
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
                                       Value(), b.distance, b.fits(), b.estimate * 1e3, milliseconds(b.limit)}));
    }
    return r;
}

Result exceedances(const std::vector<Cell>& cells, std::span<const WorstCase> worst, double exceedance) {
    Result r;
    r.title = "Exceedance against time";
    r.columns = {{"victim", ""}, {"sharing", ""}, {"aggressor", ""}, {"curve", ""}, {"time", "ms"}, {"exceedance", ""}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        const WorstCase& w = worst[i];
        if (!w.value) continue;
        const std::vector<double> seconds = cell.pairing.together();
        const std::vector<Exceedance> curve = exceedanceCurve(seconds, cell.pairing.lost(), w, exceedance);
        const auto add = [&](const char* name, double time, double probability) {
            r.add(with(namesOf(cell), {name, time * 1e3, probability}));
        };
        for (const Exceedance& e : measuredExceedance(seconds)) add("measured", e.bound, e.probability);
        for (const Exceedance& e : curve)
            if (e.estimate) add("estimate", *e.estimate, e.probability);
        for (const Exceedance& e : curve) add("bound", e.bound, e.probability);
    }
    r.charts.push_back({Chart::Kind::line,
                        "How often a run takes longer",
                        "time",
                        {"exceedance"},
                        {"victim", "sharing", "aggressor", "curve"},
                        {},
                        "share of runs",
                        false,
                        true});
    return r;
}

}  // namespace bulkhead::stress
