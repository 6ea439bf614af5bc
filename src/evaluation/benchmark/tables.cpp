#include "evaluation/benchmark/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/phrases.h"
#include "gpu/capabilities.h"

namespace bulkhead::evaluation::benchmark {
namespace {

const Finding* find(const WayFindings& way, const std::string& what) {
    for (const Finding& finding : way.findings)
        if (finding.what == what) return &finding;
    return nullptr;
}

/// To hundredths, of which none is -0: nobody could measure less again.
Value rounded(const Value& value) {
    const auto* number = std::get_if<double>(&value);
    return number ? Value(std::round(*number * 100) / 100 + 0.0) : value;
}

/// Every figure that some way has, measurement by measurement, in the order in which they were found.
std::vector<Finding> figuresOf(const std::vector<WayFindings>& all, bool detail) {
    std::vector<Finding> figures;
    for (const WayFindings& way : all)
        for (const Finding& finding : way.findings)
            if (finding.detail == detail && std::none_of(figures.begin(), figures.end(), [&](const Finding& known) {
                    return known.what == finding.what;
                }))
                figures.push_back(finding);
    std::stable_sort(figures.begin(), figures.end(),
                     [](const Finding& a, const Finding& b) { return a.measure < b.measure; });
    return figures;
}

/// Of each way but the first, which has the whole GPU, in words: "48 % (MPS), 0.2 % (both walls)".
std::string perWay(const std::vector<WayFindings>& all, const std::function<bool(const Finding&)>& counts) {
    std::vector<std::string> parts;
    for (const WayFindings& way : all) {
        std::optional<double> most;
        for (const Finding& finding : way.findings)
            if (const auto* number = std::get_if<double>(&finding.value); number && counts(finding))
                most = std::max(most.value_or(*number), *number);
        if (most) parts.push_back(fmt::format("{} % ({})", brief(*most), way.title));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

/// What holds for all of the figures.
std::vector<std::string> caveatsOf(const BenchmarkSpec& spec) {
    if (!gpu::capabilitiesOf(spec.gpu).sharedByProcesses)
        return {
            "Contexts of one process stand for processes here, with caches that are cold when a run begins; limits of "
            "memory that the driver sets processes (MPS shares, compute walls) are missing.",
            "A run is shorter than a time slice (sharing.quantumUs): with time slicing, a tenant beside another "
            "mostly waits for its turn."};
    return {
        "Walls: as isolate run puts them up. Green contexts lie in processes under MPS, one in each; the driver "
        "may not divide SMs into equal parts.",
        "Recovery: without walls a neighbour is ended by SIGKILL, behind them by isolate stop, which has the MPS "
        "server drop its work first.",
        "Medians of 3 samples of a batch of runs each; every result was compared with the CPU's."};
}

Result figures(const BenchmarkSpec& spec, const std::vector<WayFindings>& all) {
    Result r;
    r.title = fmt::format("Tenants of {} in {} equal parts, by way of sharing", spec.gpu, spec.partitions);
    r.question = "What does each way of sharing a GPU keep from a tenant, and what does it cost?";
    r.columns = {{"figure", ""}};
    for (const WayFindings& way : all) r.columns.push_back({way.title, ""});
    r.setDetails({all.front().title});  // as the others are told by it
    for (const Finding& figure : figuresOf(all, false)) {
        std::vector<Value> row = {figure.unit.empty() ? figure.what : fmt::format("{} ({})", figure.what, figure.unit)};
        for (const WayFindings& way : all) {
            const Finding* finding = find(way, figure.what);
            row.push_back(finding ? rounded(finding->value) : Value());
        }
        r.add(std::move(row));
    }
    for (const std::string& name : all.back().unavailable) {
        std::vector<Value> row = {name};
        for (std::size_t i = 0; i < all.size(); ++i) row.emplace_back(std::string("needs processes"));
        r.add(std::move(row));
    }
    const std::string worst = perWay(all, [](const Finding& f) { return f.detail; });
    if (!worst.empty()) r.answer = fmt::format("Beside its worst neighbour a tenant is slower by {}.", worst);
    r.reading =
        "alone: of a rate, 100 % is the tenant's share of what the whole GPU has, and more than that is lent by others "
        "who are idle. neighbours: how much longer a tenant takes beside the worst of those tried. fairness: 1 is "
        "equal.";
    r.caveats = caveatsOf(spec);
    return r;
}

Result pairs(const BenchmarkSpec& spec, const std::vector<WayFindings>& all) {
    Result r;
    r.title = fmt::format("Tenants of {} beside neighbours: how much longer they take", spec.gpu);
    r.question = "Which neighbour slows down which tenant?";
    r.columns = {{"tenant and neighbour", ""}};
    Chart chart;
    chart.kind = Chart::Kind::bar;
    chart.title = "slower beside a neighbour";
    chart.x = r.columns.front().name;
    chart.yTitle = "slower (%)";
    for (const WayFindings& way : all)
        if (std::any_of(way.findings.begin(), way.findings.end(), [](const Finding& f) { return f.detail; })) {
            r.columns.push_back({way.title, "%"});
            chart.y.push_back(way.title);
        }
    for (const Finding& pair : figuresOf(all, true)) {
        std::vector<Value> row = {pair.what};
        for (const WayFindings& way : all)
            if (std::find(chart.y.begin(), chart.y.end(), way.title) != chart.y.end()) {
                const Finding* finding = find(way, pair.what);
                row.push_back(finding ? rounded(finding->value) : Value());
            }
        r.add(std::move(row));
    }
    r.charts.push_back(std::move(chart));
    r.reading = "0 is as fast as with idle neighbours; 100 % takes twice as long.";
    return r;
}

}  // namespace

std::vector<Result> tablesOf(const BenchmarkSpec& spec, const std::vector<WayFindings>& all) {
    std::vector<Result> results = {figures(spec, all)};
    if (!figuresOf(all, true).empty()) results.push_back(pairs(spec, all));
    return results;
}

}  // namespace bulkhead::evaluation::benchmark
