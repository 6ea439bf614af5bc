#include "stress/stress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/laboratory_options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "report/report.h"
#include "stress/scenario.h"
#include "stress/waiting.h"
#include "stress/worker.h"
#include "workloads/workload.h"

namespace bulkhead::cli {
namespace {

constexpr int kInterrupted = 130;  // as shells say it of Ctrl-C
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40, kMostAccesses = std::uint64_t{1} << 32;

struct StressOptions {
    std::string gpu = "sim:tx2", map, scenario, json, csv, html, size = "test";
    std::vector<std::string> settings, victims = {"random"}, aggressors = {"all"}, placements = {"streams"};
    unsigned samples = 30, sms = 0, blocks = 0, warps = 0, lanes = 2, duty = 100, target = 0;
    std::uint64_t seed = 1, victimBytes = 0, accesses = 0, aggressorBytes = 0;
    double exceedance = 1e-6, limit = 0, cellLimit = 0, rate = 0;
    bool shared = false, cold = false, list = false, worker = false;
};

void list() {
    std::string out = "aggressors\n";
    for (const stress::AggressorName& a : stress::aggressors())
        out += fmt::format("  {:<18} {}{}\n", a.name, a.description, a.needsMap ? " (needs a map)" : "");
    out += fmt::format("victims\n  {}\n  any workload (bulkhead workloads), any CUDA program (./program args)\n",
                       fmt::join(stress::ownVictims(), ", "));
    writeOutput("-", out + "placements\n  streams, processes, mps, green\n");
}

std::vector<stress::AggressorSpec> aggressorSpecs(const StressOptions& o) {
    std::vector<stress::AggressorKind> kinds;
    for (const std::string& name : o.aggressors) {
        if (name != "all") {
            kinds.push_back(stress::parseAggressor(name));
            continue;
        }
        const bool mapped = !o.map.empty() || o.gpu.starts_with("sim:");
        for (const stress::AggressorName& a : stress::aggressors())
            if (mapped || !a.needsMap) kinds.push_back(a.kind);
    }
    std::vector<stress::AggressorSpec> specs;
    for (const stress::AggressorKind kind : kinds) {
        stress::AggressorSpec spec;
        spec.kind = kind;
        spec.multiprocessors = o.sms;
        spec.layout.blocks = o.blocks;
        spec.layout.warps = o.warps;
        spec.lanes = o.lanes;
        spec.dutyPercent = o.duty;
        spec.gigabytesPerSecond = o.rate;
        spec.bytes = o.aggressorBytes;
        spec.target = o.target;
        spec.seed = o.seed;
        specs.push_back(spec);
    }
    return specs;
}

std::vector<stress::Placement> chosenPlacements(const std::vector<std::string>& names) {
    std::vector<stress::Placement> chosen;
    for (const std::string& name : names) {
        if (name == "all") return stress::placements();
        chosen.push_back(stress::parsePlacement(name));
    }
    return chosen;
}

stress::Options fromArguments(const StressOptions& o) {
    stress::Options options;
    options.arena.gpu = o.gpu;
    options.arena.settings = o.settings;
    options.arena.map = o.map;
    options.arena.shareMultiprocessors = o.shared;
    options.arena.seed = o.seed;
    options.arena.victim.bytes = o.victimBytes;
    options.arena.victim.accesses = o.accesses;
    options.arena.victim.cold = o.cold;
    options.arena.victim.size = o.size;
    options.arena.victim.seed = o.seed;
    // Simulated seconds are long: the longest run of the paper's tables takes a twentieth of one.
    const double usual = o.gpu.starts_with("sim:") ? 0.25 : 60;
    options.arena.victim.limitSeconds = o.limit > 0 ? o.limit : usual;
    if (o.limit > 0) options.arena.victim.programLimitSeconds = o.limit;
    options.victims = o.victims;
    options.aggressors = aggressorSpecs(o);
    options.placements = chosenPlacements(o.placements);
    options.samples = o.samples;
    options.exceedance = o.exceedance;
    options.secondsPerCell = o.cellLimit;
    return options;
}

/// Throws Error if no cell could begin on a real GPU, all for the same reason: it is the machine's, not theirs.
void expectGpuThere(const stress::Options& options, const stress::Outcome& outcome) {
    if (!options.arena.gpu.starts_with("cuda:") || outcome.cells.empty()) return;
    const std::string& refusal = outcome.cells.front().refusal;
    const auto same = [&](const stress::Cell& cell) { return !refusal.empty() && cell.refusal == refusal; };
    if (std::all_of(outcome.cells.begin(), outcome.cells.end(), same)) throw Error("stress: {}", refusal);
}

int run(const StressOptions& o) {
    if (o.list) {
        list();
        return kDone;
    }
    stress::loadModulesEagerly();
    if (o.worker) return stress::serveWorker();
    expectOutputs({o.json, o.csv, o.html});
    const stress::Options options = o.scenario.empty() ? fromArguments(o) : stress::readScenario(o.scenario);
    stress::validate(options);
    stress::catchInterrupts();
    const bool quiet = o.json == "-" || o.csv == "-" || o.html == "-";
    stress::Outcome outcome;
    bool interrupted = false;
    try {
        stress::stress(options, outcome, [timeLeft = TimeLeft()](const std::string& what, double fraction) {
            if (isatty(2)) fmt::print(stderr, "{}{}\n", what, timeLeft.words(fraction));
        });
    } catch (const stress::Interrupted&) {
        interrupted = true;
        fmt::print(stderr, "bulkhead: interrupted; what was measured is kept\n");
    }
    if (!interrupted) expectGpuThere(options, outcome);
    std::vector<Result> results = outcome.results(options);
    if (!quiet)
        for (const Result& result : results) writeOutput("-", report::text(result) + "\n");
    for (Result& more : outcome.details()) results.push_back(std::move(more));
    for (Result& result : results) fillProvenance(result, options.arena.gpu, options.arena.seed);
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results.front()));
    if (!o.html.empty()) writeOutput(o.html, report::html("Interference", results));
    if (interrupted) return kInterrupted;
    const auto measured = [](const stress::Cell& cell) { return !cell.pairing.pairs.empty(); };
    return std::any_of(outcome.cells.begin(), outcome.cells.end(), measured) ? kDone : kCheckFailed;
}

}  // namespace

Action setUpStress(CLI::App& app) {
    const auto o = std::make_shared<StressOptions>();
    app.add_option("--gpu", o->gpu, "sim:NAME, sim:FILE.json or cuda:N")->capture_default_str();
    app.add_option("--set", o->settings, "change a figure of a simulated GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--victim", o->victims, "random, sequential, latency, bandwidth, a workload, or ./program args")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--aggressors", o->aggressors, "names, or all; --list shows them")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--placement", o->placements, "streams, processes, mps, green, or all")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--samples", o->samples, "pairs of a run alone and one together, of each cell")
        ->capture_default_str();
    app.add_option("--seed", o->seed, "of orders, and of a simulated GPU's pages")->capture_default_str();
    app.add_option("--map", o->map, "address map made by bulkhead dissect")->type_name("FILE");
    app.add_option("--scenario", o->scenario, "everything but the output from a JSON file")->type_name("FILE");
    app.add_flag("--share-sms", o->shared, "let victim and aggressor meet on a multiprocessor");
    app.add_option("--limit", o->limit,
                   "seconds of the GPU after which a victim counts as hung; 0: 60, or 0.25 simulated. Of a program, of "
                   "the wall clock; 0: 60, or 600 on a simulated GPU");
    app.add_option("--cell-limit", o->cellLimit, "seconds after which a cell gets no further samples");
    app.add_option("--exceedance", o->exceedance, "probability of the worst-case bound")->capture_default_str();
    app.add_option("--json", o->json, "write everything as JSON to FILE, or to standard output if it is -")
        ->type_name("FILE");
    app.add_option("--csv", o->csv, "write the matrix as CSV, likewise")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    app.add_flag("--list", o->list, "list aggressors, victims and placements");
    app.add_flag("--worker", o->worker)->group("");

    const char* const ofVictims = "The victim";
    app.add_option("--victim-bytes", o->victimBytes, "its working set")->check(atMost(kMostBytes))->group(ofVictims);
    app.add_option("--accesses", o->accesses, "of one run")->check(atMost(kMostAccesses))->group(ofVictims);
    app.add_option("--size", o->size, "of a workload: test, default or paper")->capture_default_str()->group(ofVictims);
    app.add_flag("--cold", o->cold, "let every run begin with its working set out of the cache")->group(ofVictims);
    const char* const ofAggressors = "The aggressor";
    app.add_option("--sms", o->sms, "multiprocessors; 0: all that the victim leaves")->group(ofAggressors);
    app.add_option("--blocks", o->blocks, "blocks; 0: what fills its multiprocessors")->group(ofAggressors);
    app.add_option("--warps", o->warps, "warps of a block; 0: what suits the kernel")->group(ofAggressors);
    app.add_option("--lanes", o->lanes, "lanes of a warp that chase pointers")
        ->capture_default_str()
        ->group(ofAggressors);
    app.add_option("--duty", o->duty, "percent of the time that it works")->capture_default_str()->group(ofAggressors);
    app.add_option("--rate", o->rate, "GB/s that it moves at most; 0: as many as it can")->group(ofAggressors);
    app.add_option("--aggressor-bytes", o->aggressorBytes, "its memory; 0: eight times the cache")
        ->check(atMost(kMostBytes))
        ->group(ofAggressors);
    app.add_option("--target", o->target, "number of the slice, bank or channel to aim at")->group(ofAggressors);
    return [o] { return run(*o); };
}

}  // namespace bulkhead::cli
