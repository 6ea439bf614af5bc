#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/compare_program.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "compare/comparison.h"
#include "metrics/metric_table.h"
#include "metrics/output.h"
#include "metrics/watching.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct CompareOptions {
    BatchOptions batch;
    bool gpgpusim = false;
    std::vector<std::string> schedulers = {"gto", "ccws", "best-swl", "statpcal", "ciao-t", "ciao-p", "ciao-c"};
    std::vector<std::string> workloads;
    std::vector<std::string> settings;
    std::string gpu = "sim:gtx480", size = "default", program, json, csv, html, metrics;
    std::uint64_t seed = 1, instructions = 0;
    std::string timelines, observed;  ///< folders
    bool bestCarveout = false;
};

/// Names of workloads, and classes of them, in the order given.
std::vector<std::string> chosenWorkloads(const std::vector<std::string>& words) {
    if (words.empty()) return compare::ciaoWorkloads();
    std::vector<std::string> names;
    for (const std::string& word : words) {
        const std::vector<std::string> ofClass = compare::ciaoWorkloads({word});
        if (ofClass.empty()) {
            names.emplace_back(workloads::find(word).name);
        } else {
            names.insert(names.end(), ofClass.begin(), ofClass.end());
        }
    }
    return names;
}

compare::Plan planOf(const CompareOptions& o) {
    compare::Plan plan;
    plan.workloads = chosenWorkloads(o.workloads);
    for (const std::string& scheduler : o.schedulers) {
        compare::expectScheduler(scheduler);
        plan.variants.push_back({scheduler, scheduler});
    }
    if (!gpu::capabilitiesOf(o.gpu).settable)
        throw Error("compare: {}: warp schedulers can be chosen on simulated GPUs only", o.gpu);
    plan.common.gpu = o.gpu;
    plan.common.settings = o.settings;
    plan.common.size = workloads::parseSize(o.size);
    plan.common.seed = o.seed;
    plan.common.warpInstructions = o.instructions;
    plan.bestCarveout = o.bestCarveout;
    plan.common.closely = !o.timelines.empty() || !o.observed.empty();
    plan.common.toJson();  // refuses unknown profiles and settings before anything runs
    return plan;
}

/// A row for each run: all launches of a workload, added up, under a scheduler.
std::vector<metrics::LaunchRow> rowsOf(const compare::Comparison& c) {
    arch::DeviceProfile profile = arch::findProfile(c.plan.common.gpu);
    arch::applySettings(profile, c.plan.common.settings);
    std::vector<metrics::LaunchRow> rows;
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            const compare::Outcome& outcome = c.at(w, v);
            if (!outcome.ok()) continue;
            rows.push_back(metrics::rowOf(
                {c.plan.workloads[w], "", "", outcome.measurement.cycles, outcome.measurement.counters}, profile));
            rows.back().process = c.spec(w, v).scheduler;
        }
    return rows;
}

/// A page, its data and a trace for each run, "ATAX-ciao-c.html".
void writeWatched(const CompareOptions& o, const compare::Comparison& c) {
    for (std::size_t w = 0; w < c.plan.workloads.size(); ++w)
        for (std::size_t v = 0; v < c.plan.variants.size(); ++v) {
            if (!c.at(w, v).ok()) continue;
            const compare::RunMeasurement& m = c.at(w, v).measurement;
            const std::string name = fmt::format("{}-{}", c.plan.workloads[w], c.plan.variants[v].label);
            if (!o.timelines.empty())
                writeFile(std::filesystem::path(o.timelines) / (name + ".trace.json"), m.timeline);
            if (o.observed.empty()) continue;
            std::vector<Result> insight = m.insight;
            for (Result& result : insight) fillProvenance(result, o.gpu, o.seed);
            for (const char* ending : {".html", ".json"})
                metrics::writeInsight((std::filesystem::path(o.observed) / (name + ending)).string(), name, insight,
                                      m.timeline);
        }
}

int runCompare(const CompareOptions& o) {
    const compare::Plan plan = planOf(o);
    const metrics::Output counters = metrics::parseOutput(o.metrics, "--metrics");
    expectOutputs({o.json, o.csv, o.html, counters.place()});
    for (const std::string& folder : {o.timelines, o.observed}) {
        expectFolder(folder);
        if (!folder.empty()) makeFolder(folder);
    }
    compare::RunBatch batch = openBatch(o.batch);
    const compare::Comparison comparison = compare::compare(batch, plan);

    writeWatched(o, comparison);
    std::vector<Result> results = {compare::gainTable(comparison), compare::runTable(comparison),
                                   compare::counterTable(comparison), compare::stallTable(comparison)};
    for (Result& result : results) fillProvenance(result, o.gpu, o.seed);
    results.front().title +=
        fmt::format(" (size {}{})", o.size,
                    o.instructions ? fmt::format(", {} warp instructions per run", o.instructions) : std::string());
    metrics::write(counters, rowsOf(comparison));
    if (o.json.empty() && o.csv.empty() && o.html.empty() && !counters.takesStandardOutput())
        showResults(results.front());
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results[1]));
    if (!o.json.empty()) writeResults(o.json, results);
    std::swap(results[2], results[3]);  // the picture before a wide table
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead compare", results));
    for (const std::string& line : comparison.notes()) fmt::print(stderr, "bulkhead: note: {}\n", line);
    const std::vector<std::string> failures = comparison.failures();
    for (const std::string& line : failures) fmt::print(stderr, "bulkhead: {}\n", line);
    return failures.empty() ? kDone : kCheckFailed;
}

/// What a program that is started takes no part in.
constexpr std::initializer_list<const char*> kOfWorkloads = {
    "--workloads", "--size",     "--limit",         "--best-carveout", "--seed",
    "--metrics",   "--timeline", "--observe",       "--store",         "--jobs",
    "--on",        "--csv",      "--slurm-options", "--slurm-program"};

int runProgram(const CompareOptions& o, const CommandLine& line) {
    refuseGiven(line, kOfWorkloads, "compare --program");
    expectOutputs({o.json, o.html});
    std::vector<Result> results =
        compareProgram({o.program, o.gpu, o.settings,
                        line.given("--schedulers") ? o.schedulers : std::vector<std::string>{"gto", "ccws", "ciao-c"}});
    for (Result& result : results) result.provenance = {commandLine(), o.gpu, std::nullopt, version(), currentDate()};
    if (o.json.empty() && o.html.empty()) showResults(results);
    if (!o.json.empty()) writeResults(o.json, results);
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead compare", results));
    return kDone;
}

}  // namespace

Action setUpCompare(CommandLine line) {
    const auto o = std::make_shared<CompareOptions>();
    line.option("--schedulers", o->schedulers, "warp schedulers; the first is the baseline")
        .typeName("NAME")
        .delimiter(',')
        .showDefault();
    line.option("--workloads", o->workloads, "workloads, or classes LWS, SWS and CI [all of the CIAO paper's]")
        .typeName("NAME")
        .delimiter(',');
    line.option("--program", o->program, "a CUDA program and its arguments instead of workloads: './program args'")
        .typeName("COMMAND");
    addSizeOption(line, o->size);
    line.option("--limit", o->instructions, "stop each run after N warp instructions; 0: run to the end").showDefault();
    line.flag("--best-carveout", o->bestCarveout,
              "divide L1D and shared memory as suits each run best, found by profiling");
    addSimulatedGpuOption(line, o->gpu);
    addGpgpusimOption(line, o->gpgpusim);
    addSettings(line, o->settings);
    addThreadsOption(line);
    addSeedOption(line, o->seed);
    addJsonOption(line, o->json);
    addCsvOption(line, o->csv, "a row per run as CSV");
    addHtmlOption(line, o->html);
    addWideOption(line);
    addMetricsOption(line, o->metrics);
    line.option("--timeline", o->timelines, "write a trace of each run for Perfetto into DIR").typeName("DIR");
    line.option("--observe", o->observed,
                "write why each run went so into DIR, as a page and JSON: hit rates, stalls and decisions over time, "
                "interference, reuse, latencies, cost by line")
        .typeName("DIR");
    addBatchOptions(line, o->batch);
    addClusterOptions(line, o->batch);
    return [o, line] {
        o->gpu = gpgpusimVariant(o->gpu, o->gpgpusim);
        return o->program.empty() ? runCompare(*o) : runProgram(*o, line);
    };
}

}  // namespace bulkhead::cli
