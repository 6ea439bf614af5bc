#include "evaluation/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/phrases.h"
#include "base/statistics.h"
#include "corun/applications.h"

namespace bulkhead::evaluation {
namespace {

const std::string kIdle;
const Method kWithoutWalls;

/// Whether walls of this kind can stand around a whole GPU. Those between the sides of an L2 cannot, which are all that
/// there is where pages cannot be chosen: a tenant has one side.
bool hasWalls(Method method, const std::string& gpu) {
    const corun::WallsAround walls = method.way().walls;
    return walls == corun::WallsAround::compute ||
           (walls == corun::WallsAround::computeAndMemory && gpu::capabilitiesOf(gpu).choosesPages);
}

/// One series for all neighbours, which take turns, so that a change of clocks meets all of them. On a deterministic
/// GPU, where nothing changes, one for each neighbour and sample, and samples are variants.
void addSeries(std::vector<SeriesSpec>& list, SeriesSpec spec, const std::vector<std::string>& neighbours) {
    if (!gpu::capabilitiesOf(spec.gpu).deterministic) {
        spec.neighbours = neighbours;
        list.push_back(spec);
        return;
    }
    const unsigned samples = std::exchange(spec.samples, 1);
    for (spec.variant = 0; spec.variant < samples; ++spec.variant)
        for (const std::string& neighbour : neighbours) {
            spec.neighbours = {neighbour};
            list.push_back(spec);
        }
}

std::vector<SeriesSpec> seriesOf(const EvaluationSpec& spec) {
    std::vector<std::string> neighbours = {kIdle};
    neighbours.insert(neighbours.end(), spec.neighbours.begin(), spec.neighbours.end());
    std::vector<SeriesSpec> list;
    for (const std::string& application : spec.applications) {
        SeriesSpec series = spec.common;
        series.application = application;
        // Alone on the whole GPU: without walls the baseline, with them what they cost.
        series.partitions = 1;
        series.method = kWithoutWalls;
        addSeries(list, series, {kIdle});
        for (const Method method : spec.methods) {
            if (!hasWalls(method, spec.common.gpu)) continue;
            series.method = method;
            addSeries(list, series, {kIdle});
        }
        for (const unsigned partitions : spec.partitions)
            for (const Method method : spec.methods) {
                series.partitions = partitions;
                series.method = method;
                addSeries(list, series, neighbours);
            }
    }
    return list;
}

Value valueOf(const std::optional<double>& number) {
    return number ? Value(*number) : Value();
}

std::string columnOf(Method method, unsigned partitions) {
    return fmt::format("{}, {} partitions", method.name(), partitions);
}

/// A bar for each column from `first` on.
Chart barsOf(const Result& r, std::size_t first, const std::string& yTitle) {
    Chart chart{Chart::Kind::bar, r.title, "application", {}, {}, {}, yTitle, false, false};
    for (std::size_t c = first; c < r.columns.size(); ++c) chart.y.push_back(r.columns[c].name);
    return chart;
}

}  // namespace

void Evaluation::add(const SeriesSpec& spec, const SeriesMeasurement& measurement) {
    for (std::size_t i = 0; i < spec.neighbours.size(); ++i) {
        const Key key = {spec.method, spec.partitions, spec.application, spec.neighbours[i]};
        const std::vector<double>& seconds = measurement.seconds.at(i);
        samples_[key].insert(samples_[key].end(), seconds.begin(), seconds.end());
        neighbourRuns_[key] += measurement.neighbourRuns.at(i);
        places_[key] = measurement.place;
    }
}

void Evaluation::fail(const SeriesSpec& spec, const std::string& why) {
    failures_.push_back(fmt::format("{}: {}", labelOf(spec), why));
}

std::optional<double> Evaluation::seconds(const Key& key) const {
    const auto found = samples_.find(key);
    if (found == samples_.end()) return std::nullopt;
    return mean(found->second);
}

std::optional<double> Evaluation::normalized(const Key& key) const {
    const auto time = seconds(key), baseline = seconds({kWithoutWalls, 1, key.application, kIdle});
    if (!time || !baseline) return std::nullopt;
    return *time / (key.partitions * *baseline);
}

std::optional<double> Evaluation::variation(Method method, unsigned partitions, const std::string& application) const {
    const auto idle = seconds({method, partitions, application, kIdle});
    double most = 0;
    for (const auto& [key, samples] : samples_)
        if (key.method == method && key.partitions == partitions && key.application == application &&
            key.neighbour != kIdle)
            most = std::max(most, mean(samples));
    if (!idle || most == 0) return std::nullopt;
    return (most / *idle - 1) * 100;
}

std::vector<double> Evaluation::variations(Method method, unsigned partitions, const std::string& application) const {
    const auto idle = samples_.find({method, partitions, application, kIdle});
    if (idle == samples_.end()) return {};
    std::vector<double> most(idle->second.size(), 0);
    for (const auto& [key, samples] : samples_) {
        if (key.method != method || key.partitions != partitions || key.application != application ||
            key.neighbour == kIdle)
            continue;
        if (samples.size() != most.size()) return {};
        for (std::size_t i = 0; i < most.size(); ++i)
            most[i] = std::max(most[i], (samples[i] / idle->second[i] - 1) * 100);
    }
    return most;
}

std::vector<double> Evaluation::averageVariations(Method method, unsigned partitions,
                                                  const std::vector<std::string>& applications) const {
    std::vector<double> sums;
    for (const std::string& application : applications) {
        const std::vector<double> own = variations(method, partitions, application);
        if (sums.empty()) sums.resize(own.size(), 0);
        if (own.size() != sums.size()) return {};
        for (std::size_t i = 0; i < own.size(); ++i) sums[i] += own[i] / static_cast<double>(applications.size());
    }
    return sums;
}

namespace {

/// A sentence with the greatest of each column from one on: "98.1 % (cp), 0.3 % (cmp)". Empty where there is none.
std::string perColumn(const Result& r, std::size_t from, const char* sentence) {
    std::vector<std::string> parts;
    for (std::size_t c = from; c < r.columns.size(); ++c) {
        std::optional<double> most;
        for (const auto& row : r.rows)
            if (const auto* own = std::get_if<double>(&row[c])) most = std::max(most.value_or(*own), *own);
        if (most) parts.push_back(fmt::format("{} % ({})", brief(*most), r.columns[c].name));
    }
    return parts.empty() ? std::string() : fmt::format(fmt::runtime(sentence), fmt::join(parts, ", "));
}

}  // namespace

Result Evaluation::variationTable(const EvaluationSpec& spec) const {
    Result r;
    r.title = "worst slowdown by a neighbour";
    r.columns = {{"application", ""}};
    for (const unsigned partitions : spec.partitions)
        for (const Method method : spec.methods) r.columns.push_back({columnOf(method, partitions), "%"});
    std::vector<std::vector<double>> all(r.columns.size() - 1);
    for (const std::string& application : spec.applications) {
        std::vector<Value> row = {application};
        for (const unsigned partitions : spec.partitions)
            for (const Method method : spec.methods) {
                const auto v = variation(method, partitions, application);
                if (v) all[row.size() - 1].push_back(*v);
                row.push_back(valueOf(v));
            }
        r.add(std::move(row));
    }
    std::vector<Value> average = {std::string("average")}, most = {std::string("maximum")};
    for (const std::vector<double>& column : all) {
        average.push_back(column.empty() ? Value() : Value(mean(column)));
        most.push_back(column.empty() ? Value() : Value(maximum(column)));
    }
    r.add(std::move(average));
    r.add(std::move(most));
    r.charts.push_back(barsOf(r, 1, "worst slowdown (%)"));
    r.question =
        fmt::format("How much can a neighbour in another partition of {} slow an application down?", spec.common.gpu);
    r.answer = perColumn(r, 1, "Beside its worst neighbour of those tried, an application is slower by up to {}.");
    r.reading = "cp: each partition has SMs of its own; cmp: L2 and DRAM too.";
    if (spec.common.samples == 1)
        r.caveats.emplace_back("One sample each: there is nothing to tell how much times vary.");
    return r;
}

Result Evaluation::spreadTable(const EvaluationSpec& spec) const {
    Result r;
    r.title = "worst slowdown by a neighbour, sample by sample";
    r.columns = {{"application", ""},         {"partitions", ""}, {"method", ""},    {"mean", "%"},
                 {"standard deviation", "%"}, {"least", "%"},     {"greatest", "%"}, {"samples", ""}};
    double widest = 0;
    const auto add = [&](const std::string& name, unsigned partitions, Method method, const std::vector<double>& all) {
        if (all.empty()) return;
        widest = std::max(widest, standardDeviation(all));
        r.add({name, std::int64_t{partitions}, std::string(method.name()), mean(all), standardDeviation(all),
               minimum(all), maximum(all), static_cast<std::int64_t>(all.size())});
    };
    for (const unsigned partitions : spec.partitions)
        for (const Method method : spec.methods) {
            for (const std::string& application : spec.applications)
                add(application, partitions, method, variations(method, partitions, application));
            add("average", partitions, method, averageVariations(method, partitions, spec.applications));
        }
    r.question = "Does the answer depend on inputs, on where pages lie and on when the application starts?";
    if (!r.rows.empty()) r.answer = fmt::format("By a standard deviation of up to {} points.", brief(widest));
    r.reading =
        "Of a simulated GPU, samples differ by inputs, by the placement of pages and by how long neighbours have run "
        "when the application starts; of a real one, by the time at which they were taken.";
    return r;
}

Result Evaluation::runtimeTable() const {
    Result r;
    r.title = "runtime / (solo runtime x partitions)";
    r.columns = {
        {"application", ""}, {"partitions", ""},   {"method", ""},          {"neighbour", ""}, {"runtime", "us"},
        {"normalized", ""},  {"spread", "%"},      {"samples", ""},         {"SMs", ""},       {"colors", ""},
        {"placed by", ""},   {"stray blocks", ""}, {"neighbour's runs", ""}};
    for (const auto& [key, samples] : samples_) {
        if (key.partitions == 1) continue;
        const corun::Place& place = places_.at(key);
        const double average = mean(samples);
        r.add({key.application, std::int64_t{key.partitions}, std::string(key.method.name()),
               key.neighbour.empty() ? std::string("-") : key.neighbour, average * 1e6, valueOf(normalized(key)),
               standardDeviation(samples) / average * 100, static_cast<std::int64_t>(samples.size()),
               std::int64_t{place.sms}, std::int64_t{place.colors},
               place.placement.empty() ? std::string("-") : place.placement, std::int64_t{place.strayBlocks},
               static_cast<std::int64_t>(neighbourRuns_.at(key))});
    }
    Chart chart{Chart::Kind::heatmap,
                "normalized runtime beside neighbours",
                "neighbour",
                {"normalized"},
                {},
                {},
                "",
                false,
                false};
    chart.series = {"application", "method", "partitions"};
    r.charts.push_back(std::move(chart));
    r.setDetails({"spread", "samples", "colors", "placed by", "stray blocks", "neighbour's runs"});
    r.question = "How long does an application take in its partition, beside each neighbour?";
    r.reading = "normalized is 1 where a partition of half the GPU takes twice as long as the whole GPU would.";
    constexpr std::size_t kNormalized = 5;
    const std::vector<Value>* slowest = nullptr;
    for (const auto& row : r.rows)
        if (const auto* own = std::get_if<double>(&row[kNormalized]);
            own && (!slowest || *own > std::get<double>((*slowest)[kNormalized])))
            slowest = &row;
    if (slowest)
        r.answer = fmt::format("{} suffers most: with {} beside {} it takes {} times what its share of the GPU would.",
                               std::get<std::string>((*slowest)[0]), std::get<std::string>((*slowest)[2]),
                               std::get<std::string>((*slowest)[3]), brief(std::get<double>((*slowest)[kNormalized])));
    return r;
}

Result Evaluation::overheadTable(const EvaluationSpec& spec) const {
    Result r;
    r.title = "cost of walls to a solo application on the whole GPU";
    r.columns = {{"application", ""}, {"without walls", "us"}};
    for (const Method method : spec.methods)
        if (hasWalls(method, spec.common.gpu)) r.columns.push_back({std::string(method.name()), "%"});
    if (r.columns.size() == 2) return r;
    for (const std::string& application : spec.applications) {
        const auto plain = seconds({kWithoutWalls, 1, application, kIdle});
        std::vector<Value> row = {application, plain ? Value(*plain * 1e6) : Value()};
        for (const Method method : spec.methods) {
            if (!hasWalls(method, spec.common.gpu)) continue;
            const auto walled = seconds({method, 1, application, kIdle});
            row.push_back(plain && walled ? Value((*walled / *plain - 1) * 100) : Value());
        }
        r.add(std::move(row));
    }
    r.charts.push_back(barsOf(r, 2, "slowdown (%)"));
    r.question = "What do walls cost an application that has the whole GPU to itself?";
    r.answer = perColumn(r, 2, "At most {}.");
    r.reading = "How much longer it takes than without walls; below 0, it is faster.";
    return r;
}

Evaluation evaluate(const EvaluationSpec& spec, const SeriesStore& store,
                    const std::shared_ptr<experiment::Executor>& executor) {
    for (const std::string& name : spec.applications) corun::expectApplication(name);
    for (const std::string& name : spec.neighbours) corun::expectApplication(name);
    const std::vector<SeriesSpec> all = seriesOf(spec);
    // Processes on one GPU would disturb each other.
    const bool oneAtATime = gpu::capabilitiesOf(spec.common.gpu).sharedByProcesses;
    experiment::RunBatch<SeriesSpec, SeriesMeasurement> batch(store, executor);
    const std::vector<experiment::Outcome<SeriesMeasurement>> outcomes = batch.run(all, oneAtATime);
    Evaluation evaluation;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (outcomes[i].ok()) {
            evaluation.add(all[i], outcomes[i].measurement);
        } else {
            evaluation.fail(all[i], outcomes[i].failure);
        }
    }
    return evaluation;
}

}  // namespace bulkhead::evaluation
