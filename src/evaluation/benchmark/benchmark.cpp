#include "evaluation/benchmark/benchmark.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "corun/applications.h"
#include "evaluation/benchmark/bench.h"
#include "evaluation/benchmark/tables.h"
#include "experiment/interruption.h"
#include "gpu/capabilities.h"

namespace bulkhead::evaluation::benchmark {
namespace {

const Way& wholeGpu() {
    static const Way whole = {"whole", "whole GPU", "processes", false, false};
    return whole;
}

template <class Row>
const Row& findRow(const std::vector<Row>& table, std::string_view name, const char* what) {
    std::vector<std::string> names;
    for (const Row& row : table) {
        if (row.name == name) return row;
        names.emplace_back(row.name);
    }
    throw Error("no {} {}{}: there are {}", what, name, didYouMean(std::string(name), names), fmt::join(names, ", "));
}

/// Those that were chosen, in the table's order; all where none were.
template <class Row>
std::vector<const Row*> chosen(const std::vector<Row>& table, const std::vector<std::string>& names,
                               const Row& (*find)(std::string_view)) {
    for (const std::string& name : names) find(name);
    std::vector<const Row*> rows;
    for (const Row& row : table)
        if (names.empty() || std::find(names.begin(), names.end(), row.name) != names.end()) rows.push_back(&row);
    return rows;
}

BenchmarkSpec complete(BenchmarkSpec spec) {
    if (spec.victims.empty()) spec.victims = {"latency", "stream", "compute"};
    if (spec.neighbours.empty()) spec.neighbours = {"compute", "stream-l2", "stream", "gather"};
    for (const auto* names : {&spec.victims, &spec.neighbours})
        for (const std::string& name : *names) corun::expectApplication(name);
    gpu::expectSettable(spec.gpu, spec.settings);
    constexpr double kMostSeconds = 3600;
    if (!(spec.seconds > 0) || spec.seconds > kMostSeconds)
        throw Error("isolate benchmark: {} s for each: choose more than 0, and {} at most", spec.seconds, kMostSeconds);
    return spec;
}

/// Measures way after way. What fails is noted.
class Run {
  public:
    Run(const BenchmarkSpec& spec, const StepStore& store, const Progress& progress)
        : spec_(spec),
          store_(store),
          progress_(progress),
          measures_(chosen(measures(), spec.measures, findMeasure)),
          ways_(chosen(ways(), spec.ways, findWay)) {}

    BenchmarkReport carryOut() {
        std::vector<WayFindings> found = {measure(wholeGpu(), 1)};
        for (const Way* way : ways_) found.push_back(measure(*way, spec_.partitions));
        return {tablesOf(spec_, found), failures_};
    }

  private:
    WayFindings measure(const Way& way, unsigned partitions) {
        Bench bench(spec_, way, partitions, whole_);
        WayFindings found{way.title, {}, {}};
        for (const Measure* measure : measures_) {
            tellOf(way, *measure);
            if (bench.isWhole() && !measure->ofOneTenant) continue;
            if (measure->needsProcesses && !gpu::capabilitiesOf(spec_.gpu).sharedByProcesses) {
                found.unavailable.emplace_back(measure->name);
                continue;
            }
            for (Finding& finding : findingsOf(bench, way, *measure)) found.findings.push_back(std::move(finding));
        }
        return found;
    }
    std::vector<Finding> findingsOf(Bench& bench, const Way& way, const Measure& measure) {
        const StepSpec step{spec_, way.name, std::string(measure.name)};
        if (const std::optional<StepFindings> kept = store_.find(step)) {
            if (bench.isWhole()) whole_ = kept->whole;
            return kept->findings;
        }
        bench.begin(static_cast<std::size_t>(&measure - measures().data()));
        try {
            measure.measure(bench);
        } catch (const Error& e) {
            experiment::throwIfInterrupted();
            failures_.push_back(fmt::format("{}: {}: {}", way.title, measure.name, e.what()));
            bench.tenants().leave();
            return bench.takeFindings();
        }
        const StepFindings found{bench.takeFindings(), whole_};
        store_.keep(step, found);
        return found.findings;
    }
    void tellOf(const Way& way, const Measure& measure) {
        const double all = static_cast<double>((1 + ways_.size()) * measures_.size());
        if (progress_) progress_(done_++ / all, fmt::format("{}: {}", way.title, measure.name));
    }

    const BenchmarkSpec& spec_;
    const StepStore& store_;
    const Progress& progress_;
    std::vector<const Measure*> measures_;
    std::vector<const Way*> ways_;
    WholeGpu whole_;
    std::vector<std::string> failures_;
    unsigned done_ = 0;
};

}  // namespace

const std::vector<Way>& ways() {
    static const std::vector<Way> all = [] {
        std::vector<Way> found;
        for (const corun::SharingWay& row : corun::sharingWays()) {
            if (!row.separateProcesses && !row.confines) continue;
            const std::string name(row.name), title(row.title.empty() ? row.name : row.title);
            found.push_back({name, title, name, false, row.walls != corun::WallsAround::nothing});
            if (row.separateProcesses && !row.timeSliced)
                found.push_back({name + "-shares", title + " shares", name, true, false});
        }
        return found;
    }();
    return all;
}

const Way& findWay(std::string_view name) {
    return findRow(ways(), name, "way of sharing");
}

const std::vector<Measure>& measures() {
    static const std::vector<Measure> all = {
        {"alone", "How much of its share does a tenant get that nobody disturbs?", measureAlone, true, false},
        {"neighbours", "How much do neighbours slow a tenant down?", measureNeighbours, false, false},
        {"fairness", "Do equal tenants get equally much done?", measureFairness, false, false},
        {"launches", "How long does a launch take?", measureLaunches, true, false},
        {"memory", "Is a tenant that asks for more than its share of memory refused?", measureMemory, true, false},
        {"joining", "How long does it take to come and to go?", measureJoining, true, true},
        {"recovery", "What does the fault or the end of a neighbour do to a tenant, and to who comes next?",
         measureRecovery, false, true},
    };
    return all;
}

const Measure& findMeasure(std::string_view name) {
    return findRow(measures(), name, "measurement");
}

BenchmarkReport runBenchmark(const BenchmarkSpec& asked, const StepStore& store, const Progress& progress) {
    const BenchmarkSpec spec = complete(asked);
    corun::loadModulesEagerly();
    return Run(spec, store, progress).carryOut();
}

}  // namespace bulkhead::evaluation::benchmark
