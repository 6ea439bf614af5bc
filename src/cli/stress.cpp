#include "stress/stress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "cli/batch_options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "experiment/interruption.h"
#include "report/report.h"
#include "stress/scenario.h"
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
    bool shared = false, cold = false, list = false;
};

void list() {
    std::string out = "aggressors\n";
    for (const corun::AggressorType& a : corun::aggressors())
        out += fmt::format("  {:<18} {}{}\n", a.name, a.description, a.needsMap ? " (needs a map)" : "");
    out += fmt::format("victims\n  {}\n  any workload (bulkhead workloads), any CUDA program (./program args)\n",
                       fmt::join(corun::ownVictims(), ", "));
    writeOutput("-", out + "placements\n  streams, processes, mps, green\n");
}

/// Names of victims. One that holds a slash is a program and its arguments, commas and all.
std::vector<std::string> chosenVictims(const std::vector<std::string>& values) {
    std::vector<std::string> chosen;
    for (const std::string& value : values) {
        if (corun::isProgram(value)) {
            chosen.push_back(value);
            continue;
        }
        std::istringstream names(value);
        for (std::string name; std::getline(names, name, ',');) chosen.push_back(name);
    }
    return chosen;
}

std::vector<corun::AggressorSpec> chosenAggressors(const std::vector<std::string>& names, const corun::PairSpec& pair) {
    std::vector<corun::AggressorSpec> specs;
    const auto add = [&](const std::string& kind) {
        corun::AggressorSpec spec;
        spec.kind = kind;
        specs.push_back(spec);
    };
    const bool mapped = !pair.map.empty() || pair.gpu.starts_with("sim:");
    for (const std::string& name : names) {
        if (name != "all") {
            add(std::string(corun::findAggressor(name).name));
            continue;
        }
        for (const corun::AggressorType& a : corun::aggressors())
            if (mapped || !a.needsMap) add(std::string(a.name));
    }
    return specs;
}

std::vector<std::string> chosenPlacements(const std::vector<std::string>& names) {
    std::vector<std::string> chosen;
    for (const std::string& name : names) {
        if (name == "all") return stress::placements();
        chosen.push_back(stress::placementOf(name));
    }
    return chosen;
}

void setLimit(corun::VictimSpec& victim, const StressOptions& o, const std::string& gpu) {
    // Simulated seconds are long: the longest run of the paper's tables takes a twentieth of one.
    const double usual = gpu.starts_with("sim:") ? 0.25 : 60;
    victim.limitSeconds = o.limit > 0 ? o.limit : usual;
    if (o.limit > 0) victim.programLimitSeconds = o.limit;
}

/// An option of the command line, and what it is for.
struct Setting {
    const char* option;
    void (*apply)(const StressOptions&, stress::Options&);
};

template <class Change>
void eachAggressor(stress::Options& to, const Change& change) {
    for (corun::AggressorSpec& aggressor : to.aggressors) change(aggressor);
}

/// In this order: some make use of those before them.
constexpr Setting kSettings[] = {
    {"--gpu", [](const StressOptions& o, stress::Options& to) { to.pair.gpu = o.gpu; }},
    {"--set", [](const StressOptions& o, stress::Options& to) { to.pair.settings = o.settings; }},
    {"--map", [](const StressOptions& o, stress::Options& to) { to.pair.map = o.map; }},
    {"--share-sms", [](const StressOptions& o, stress::Options& to) { to.pair.shareMultiprocessors = o.shared; }},
    {"--victim", [](const StressOptions& o, stress::Options& to) { to.victims = chosenVictims(o.victims); }},
    {"--aggressors",
     [](const StressOptions& o, stress::Options& to) { to.aggressors = chosenAggressors(o.aggressors, to.pair); }},
    {"--placement",
     [](const StressOptions& o, stress::Options& to) { to.placements = chosenPlacements(o.placements); }},
    {"--samples", [](const StressOptions& o, stress::Options& to) { to.samples = o.samples; }},
    {"--seed",
     [](const StressOptions& o, stress::Options& to) {
         to.pair.seed = to.pair.victim.seed = o.seed;
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.seed = o.seed; });
     }},
    {"--limit", [](const StressOptions& o, stress::Options& to) { setLimit(to.pair.victim, o, to.pair.gpu); }},
    {"--cell-limit", [](const StressOptions& o, stress::Options& to) { to.secondsPerCell = o.cellLimit; }},
    {"--exceedance", [](const StressOptions& o, stress::Options& to) { to.exceedance = o.exceedance; }},
    {"--victim-bytes", [](const StressOptions& o, stress::Options& to) { to.pair.victim.bytes = o.victimBytes; }},
    {"--accesses", [](const StressOptions& o, stress::Options& to) { to.pair.victim.accesses = o.accesses; }},
    {"--size", [](const StressOptions& o, stress::Options& to) { to.pair.victim.size = o.size; }},
    {"--cold", [](const StressOptions& o, stress::Options& to) { to.pair.victim.cold = o.cold; }},
    {"--sms",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) {
             a.multiprocessors = o.sms;
             a.layout.multiprocessors.clear();
         });
     }},
    {"--blocks",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.layout.blocks = o.blocks; });
     }},
    {"--warps",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.layout.warps = o.warps; });
     }},
    {"--lanes", [](const StressOptions& o,
                   stress::Options& to) { eachAggressor(to, [&](corun::AggressorSpec& a) { a.lanes = o.lanes; }); }},
    {"--duty",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.dutyPercent = o.duty; });
     }},
    {"--rate",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.gigabytesPerSecond = o.rate; });
     }},
    {"--aggressor-bytes",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.bytes = o.aggressorBytes; });
     }},
    {"--target", [](const StressOptions& o,
                    stress::Options& to) { eachAggressor(to, [&](corun::AggressorSpec& a) { a.target = o.target; }); }},
};

/// From the command line; of a scenario, what the command line does not say.
stress::Options optionsOf(const StressOptions& o, const CLI::App& app) {
    stress::Options options;
    if (!o.scenario.empty()) options = stress::readScenario(o.scenario);
    for (const Setting& setting : kSettings)
        if (o.scenario.empty() || app.count(setting.option) > 0) setting.apply(o, options);
    return options;
}

/// Throws Error if no cell could begin: what was asked for cannot be done here.
void expectAnyCell(const stress::Outcome& outcome) {
    const auto refused = [](const stress::Cell& cell) { return !cell.refusal.empty(); };
    if (!outcome.cells.empty() && std::all_of(outcome.cells.begin(), outcome.cells.end(), refused))
        throw Error("stress: {}", outcome.cells.front().refusal);
}

/// A program on a simulated GPU is run by bulkhead exec.
void expectPrograms(const stress::Options& options) {
    if (options.pair.gpu.starts_with("cuda:")) return;
    for (const std::string& victim : options.victims)
        if (corun::isProgram(victim)) expectProgram(corun::wordsOf(victim).front());
}

int run(const StressOptions& o, const CLI::App& app) {
    if (o.list) {
        list();
        return kDone;
    }
    corun::loadModulesEagerly();
    expectOutputs({o.json, o.csv, o.html});
    const stress::Options options = optionsOf(o, app);
    stress::validate(options);
    expectPrograms(options);
    experiment::catchInterrupts();
    const bool quiet = o.json == "-" || o.csv == "-" || o.html == "-";
    stress::Outcome outcome;
    bool interrupted = false;
    try {
        stress::stress(options, outcome, [timeLeft = TimeLeft()](const std::string& what, double fraction) {
            if (isatty(2)) fmt::print(stderr, "{}{}\n", what, timeLeft.words(fraction));
        });
    } catch (const experiment::Interrupted&) {
        interrupted = true;
        fmt::print(stderr, "bulkhead: interrupted; what was measured is kept\n");
    }
    if (!interrupted) expectAnyCell(outcome);
    std::vector<Result> results = outcome.results(options);
    if (!quiet)
        for (const Result& result : results) writeOutput("-", report::text(result) + "\n");
    for (Result& more : outcome.details()) results.push_back(std::move(more));
    for (Result& result : results) fillProvenance(result, options.pair.gpu, options.pair.seed);
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
    app.add_option("--victim", o->victims,
                   "random, sequential, latency, bandwidth, workloads; or './program args', which may hold commas")
        ->allow_extra_args(false)
        ->capture_default_str();
    app.add_option("--aggressors", o->aggressors, "names, or all; --list shows them")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--placement", o->placements, "streams, processes, mps, green, or all")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--samples", o->samples, "pairs of a run alone and one together, of each cell")
        ->capture_default_str()
        ->check(positive());
    app.add_option("--seed", o->seed, "of orders, and of a simulated GPU's pages")->capture_default_str();
    app.add_option("--map", o->map, "address map made by bulkhead dissect")->type_name("FILE");
    app.add_option("--scenario", o->scenario,
                   "everything but the output from a JSON file; an option that is given as well overrides it")
        ->type_name("FILE");
    app.add_flag("--share-sms", o->shared, "let victim and aggressor meet on a multiprocessor");
    app.add_option("--limit", o->limit,
                   "seconds of the GPU after which a victim counts as hung; 0: 60, or 0.25 simulated. Of a program, of "
                   "the wall clock; 0: 60, or 600 on a simulated GPU");
    app.add_option("--cell-limit", o->cellLimit, "seconds after which a cell gets no further samples; 0: no limit");
    app.add_option("--exceedance", o->exceedance, "probability of the worst-case bound")->capture_default_str();
    app.add_option("--json", o->json, "write everything as JSON to FILE, or to standard output if it is -")
        ->type_name("FILE");
    app.add_option("--csv", o->csv, "write the matrix as CSV, likewise")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    app.add_flag("--list", o->list, "list aggressors, victims and placements");

    const char* const ofVictims = "The victim";
    app.add_option("--victim-bytes", o->victimBytes, "its working set; 0: what suits it")
        ->check(between(0, kMostBytes))
        ->group(ofVictims);
    app.add_option("--accesses", o->accesses, "of one run; 0: what suits it")
        ->check(between(0, kMostAccesses))
        ->group(ofVictims);
    app.add_option("--size", o->size, "of a workload: test, default or paper")->capture_default_str()->group(ofVictims);
    app.add_flag("--cold", o->cold, "let every run begin with its working set out of the cache")->group(ofVictims);
    const char* const ofAggressors = "The aggressor";
    app.add_option("--sms", o->sms, "multiprocessors; 0: all that the victim leaves")->group(ofAggressors);
    app.add_option("--blocks", o->blocks, "blocks; 0: what fills its multiprocessors")->group(ofAggressors);
    app.add_option("--warps", o->warps, "warps of a block; 0: what suits the kernel")
        ->check(between(0, 32))
        ->group(ofAggressors);
    app.add_option("--lanes", o->lanes, "lanes of a warp that chase pointers")
        ->capture_default_str()
        ->check(between(1, 32))
        ->group(ofAggressors);
    app.add_option("--duty", o->duty, "percent of the time that it works")
        ->capture_default_str()
        ->check(between(1, 100))
        ->group(ofAggressors);
    app.add_option("--rate", o->rate, "GB/s that it moves at most; 0: as many as it can")->group(ofAggressors);
    app.add_option("--aggressor-bytes", o->aggressorBytes, "its memory; 0: eight times the cache")
        ->check(between(0, kMostBytes))
        ->group(ofAggressors);
    app.add_option("--target", o->target, "number of the slice, bank or channel to aim at")->group(ofAggressors);
    return [o, &app] { return run(*o, app); };
}

}  // namespace bulkhead::cli
