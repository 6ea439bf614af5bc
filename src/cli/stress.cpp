#include "stress/stress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "experiment/interruption.h"
#include "report/report.h"
#include "stress/scenario.h"
#include "stress/stored_samples.h"
#include "workloads/workload.h"

namespace bulkhead::cli {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40, kMostAccesses = std::uint64_t{1} << 32;

struct StressOptions {
    BatchOptions batch;
    std::string gpu = "sim:tx2", map, scenario, again, json, csv, html, size = "test";
    std::vector<std::string> settings, separate, victims = {"random"}, aggressors = {"all"}, sharing = {"streams"};
    unsigned samples = 30, explained = 1, budget = 100, stride = 1, sms = 0, blocks = 0, warps = 0, lanes = 2,
             duty = 100, target = 0;
    std::uint64_t seed = 1, victimBytes = 0, accesses = 0, aggressorBytes = 0;
    double exceedance = 1e-6, limit = 0, cellLimit = 0, rate = 0;
    bool shared = false, cold = false, wallClock = false, search = false, list = false;
};

void listChoices() {
    std::string out = "aggressors\n";
    const auto add = [&](std::string_view name, std::string_view description, const char* note) {
        out += fmt::format("  {:<18} {}{}\n", name, description, note);
    };
    for (const corun::AggressorType& a : corun::aggressors())
        add(a.name, a.description, a.needsMap ? " (needs an address map)" : "");
    out += fmt::format(
        "victims\n  {}\n  any workload (bulkhead workloads lists them)\n  any CUDA program: './program args'\n",
        fmt::join(corun::ownVictims(), ", "));
    out += "ways of sharing\n";
    for (const std::string& name : stress::waysOfSharing()) add(name, corun::findSharing(name).description, "");
    writeOutput("-", out);
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
    const bool mapped = !pair.map.empty() || gpu::capabilitiesOf(pair.gpu).physicalAddresses;
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

std::vector<std::string> chosenSharing(const std::vector<std::string>& names) {
    std::vector<std::string> chosen;
    for (const std::string& name : names) {
        if (name == "all") return stress::waysOfSharing();
        chosen.push_back(stress::wayOfSharing(name));
    }
    return chosen;
}

void setLimit(corun::VictimSpec& victim, const StressOptions& o, const std::string& gpu) {
    // Where they are costly, seconds are long: the longest run of the paper's tables takes a twentieth of one.
    const double usual = gpu::capabilitiesOf(gpu).costly ? 0.25 : 60;
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
    {"--separate", [](const StressOptions& o, stress::Options& to) { to.pair.separate = o.separate; }},
    {"--map", [](const StressOptions& o, stress::Options& to) { to.pair.map = o.map; }},
    {"--share-sms", [](const StressOptions& o, stress::Options& to) { to.pair.shareSms = o.shared; }},
    {"--victim", [](const StressOptions& o, stress::Options& to) { to.victims = chosenVictims(o.victims); }},
    {"--aggressors",
     [](const StressOptions& o, stress::Options& to) { to.aggressors = chosenAggressors(o.aggressors, to.pair); }},
    {"--sharing", [](const StressOptions& o, stress::Options& to) { to.sharing = chosenSharing(o.sharing); }},
    {"--samples", [](const StressOptions& o, stress::Options& to) { to.samples = o.samples; }},
    {"--causes", [](const StressOptions& o, stress::Options& to) { to.explained = o.explained; }},
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
    {"--wall-clock", [](const StressOptions& o, stress::Options& to) { to.pair.victim.wallClock = o.wallClock; }},
    {"--sms",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) {
             a.sms = o.sms;
             a.layout.sms.clear();
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
    {"--stride",
     [](const StressOptions& o, stress::Options& to) {
         eachAggressor(to, [&](corun::AggressorSpec& a) { a.strideLines = o.stride; });
     }},
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
stress::Options optionsOf(const StressOptions& o, const CommandLine& line) {
    stress::Options options;
    if (!o.scenario.empty()) options = stress::readScenario(o.scenario);
    for (const Setting& setting : kSettings)
        if (o.scenario.empty() || line.given(setting.option)) setting.apply(o, options);
    if (o.search) options.searchBudget = o.budget;
    if (line.given("--budget") && !o.search) throw Error("stress: --budget is for --search");
    return options;
}

/// Throws Error if no cell could begin: what was asked for cannot be done here.
void expectAnyCell(const stress::Outcome& outcome) {
    const auto refused = [](const stress::Cell& cell) { return !cell.refusal.empty(); };
    if (!outcome.cells.empty() && std::all_of(outcome.cells.begin(), outcome.cells.end(), refused))
        throw Error("stress: {}", outcome.cells.front().refusal);
}

/// Where each process has a GPU of its own, a program is run by bulkhead exec.
void expectPrograms(const stress::Options& options) {
    if (gpu::capabilitiesOf(options.pair.gpu).sharedByProcesses) return;
    for (const std::string& victim : options.victims)
        if (corun::isProgram(victim)) expectProgram(corun::wordsOf(victim).front());
}

/// Samples of a simulated GPU can be runs, which are kept and done side by side or by a cluster.
bool asRuns(const StressOptions& o) {
    return onSlurm(o.batch) || !o.batch.store.empty() || o.batch.jobs > 0;
}

/// A real GPU is measured where this is, one sample after the other.
void expectPlace(const StressOptions& o, const stress::Options& options) {
    const bool slurm = onSlurm(o.batch);
    if (!slurm && (!asRuns(o) || options.searchBudget > 0)) return;
    const bool simulated = gpu::capabilitiesOf(options.pair.gpu).deterministic;
    if (!simulated && slurm)
        throw Error("stress: --on slurm is for simulated GPUs: run this on the machine with {}", options.pair.gpu);
    if (!simulated)
        throw Error(
            "stress: --store and --jobs are for simulated GPUs: samples of {} are taken one by one and not kept",
            options.pair.gpu);
    if (options.secondsPerCell > 0)
        throw Error("stress: {} takes each sample for itself: leave out --cell-limit",
                    slurm ? "--on slurm" : "--store or --jobs");
}

void measure(const StressOptions& o, const stress::Options& options, stress::Outcome& outcome) {
    constexpr auto kOften = std::chrono::milliseconds(250), kSeldom = std::chrono::milliseconds(5000);
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto tell = [timeLeft = TimeLeft(), due = terminal ? EveryMinute(kSeldom) : EveryMinute(),
                       read = EveryMinute(kOften), last = std::string(),
                       terminal](const std::string& what, double fraction) mutable {
        const bool next = std::exchange(last, what) != what;
        if (streamsProgress()) {
            if (next || read.due()) streamProgress(fraction, what, timeLeft.seconds(fraction));
            return;
        }
        const bool later = due.due();
        if (later || (terminal && next))
            fmt::print(stderr, "{}, {:.0f} %{}\n", what, 100 * fraction, timeLeft.words(fraction));
    };
    if (options.searchBudget > 0) {
        stress::SampleBatch batch(
            {onSlurm(o.batch) ? storeFolder(o.batch) : std::filesystem::path(o.batch.store), thisProgram(), warnOnce},
            executorOf(o.batch));
        return stress::search(options, outcome, batch, tell);
    }
    if (asRuns(o)) {
        stress::SampleBatch batch({storeFolder(o.batch), thisProgram(), warnOnce}, executorOf(o.batch));
        return stress::stress(options, outcome, batch);
    }
    stress::stress(options, outcome, tell);
}

/// Of samples that were taken before: bounds and intervals.
int boundAgain(const StressOptions& o) {
    if (!o.csv.empty()) throw Error("stress: --again makes no table of slowdowns: leave out --csv");
    expectOutputs({o.json, o.html});
    stress::Options options;
    options.exceedance = o.exceedance;
    stress::expectProbability(o.exceedance);
    const std::vector<Result> before = report::resultsIn(readJson(o.again), o.again);
    const stress::Outcome outcome{stress::storedCells(before)};
    const Result::Provenance& first = before.front().provenance;
    std::vector<Result> results = {outcome.bounds(options)};
    if (o.json != "-" && o.html != "-") showResults(results.front());
    for (Result& more : outcome.statistics(options)) results.push_back(std::move(more));
    for (Result& result : results)
        fillProvenance(result, first.gpu, static_cast<std::uint64_t>(first.seed.value_or(0)));
    if (!o.json.empty()) writeResults(o.json, results);
    if (!o.html.empty()) writeOutput(o.html, report::html("Worst-case bounds", results));
    return kDone;
}

int runStress(const StressOptions& o, const CommandLine& line) {
    if (o.list) {
        listChoices();
        return kDone;
    }
    if (!o.again.empty()) return boundAgain(o);
    corun::loadModulesEagerly();
    expectOutputs({o.json, o.csv, o.html});
    const stress::Options options = optionsOf(o, line);
    stress::validate(options);
    expectPrograms(options);
    expectPlace(o, options);
    experiment::catchInterrupts();
    const bool quiet = o.json == "-" || o.csv == "-" || o.html == "-";
    stress::Outcome outcome;
    bool interrupted = false;
    try {
        measure(o, options, outcome);
    } catch (const experiment::Interrupted&) {
        interrupted = true;
        fmt::print(stderr, "bulkhead: interrupted; showing the samples measured so far\n");
    }
    if (!interrupted) expectAnyCell(outcome);
    std::vector<Result> results = outcome.results(options);
    if (!quiet) {
        std::vector<Result> shown = results;
        shown.front() = stress::briefMatrix(shown.front());
        showResults(shown);
    }
    for (Result& more : outcome.encounters(options)) results.push_back(std::move(more));
    for (Result& more : outcome.statistics(options)) results.push_back(std::move(more));
    for (Result& more : outcome.samples()) results.push_back(std::move(more));
    for (Result& result : results) fillProvenance(result, options.pair.gpu, options.pair.seed);
    if (!o.json.empty()) writeResults(o.json, results);
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results.front()));
    if (!o.html.empty()) writeOutput(o.html, report::html("Interference", results));
    if (interrupted) return kInterrupted;
    const auto measured = [](const stress::Cell& cell) { return !cell.pairing.pairs.empty(); };
    return std::any_of(outcome.cells.begin(), outcome.cells.end(), measured) ? kDone : kCheckFailed;
}

void addVictimOptions(CommandLine line, StressOptions& o) {
    const char* const group = "Victim options";
    line.option("--victim-bytes", o.victimBytes, "size of its working set; 0: its default")
        .typeName("BYTES")
        .check(between(0, kMostBytes))
        .group(group);
    line.option("--accesses", o.accesses, "memory accesses per run; 0: its default")
        .check(between(0, kMostAccesses))
        .group(group);
    addSizeOption(line, o.size).description("size of a workload's input: test, default or paper").group(group);
    line.flag("--wall-clock", o.wallClock, "time a program on a real GPU from its start to its end").group(group);
    line.flag("--cold", o.cold, "evict its working set from the cache before every run").group(group);
}

void addAggressorOptions(CommandLine line, StressOptions& o) {
    const char* const group = "Aggressor options";
    line.option("--sms", o.sms, "number of SMs; 0: all that the victim leaves free").group(group);
    line.option("--blocks", o.blocks, "number of blocks; 0: as many as fill its SMs").group(group);
    line.option("--warps", o.warps, "warps per block; 0: its default").check(between(0, 32)).group(group);
    line.option("--lanes", o.lanes, "lanes per warp that chase pointers")
        .showDefault()
        .check(between(1, 32))
        .group(group);
    line.option("--stride", o.stride, "lines from one that a chase visits to the next")
        .showDefault()
        .check(between(1, 1024))
        .group(group);
    line.option("--duty", o.duty, "share of the time in which it is active")
        .typeName("PERCENT")
        .showDefault()
        .check(between(1, 100))
        .group(group);
    line.option("--rate", o.rate, "limit of its memory traffic; 0: no limit").typeName("GB/S").group(group);
    line.option("--aggressor-bytes", o.aggressorBytes, "size of its memory; 0: eight times the L2")
        .typeName("BYTES")
        .check(between(0, kMostBytes))
        .group(group);
    line.option("--target", o.target, "index of the slice, bank or channel to attack, from 0").group(group);
}

}  // namespace

Action setUpStress(CommandLine line) {
    const auto o = std::make_shared<StressOptions>();
    addGpuOption(line, o->gpu);
    addSettings(line, o->settings);
    addThreadsOption(line);
    line.option("--victim", o->victims,
                "victims: random, sequential, latency, bandwidth, a workload, or './program args'")
        .typeName("NAME")
        .oneValue()
        .showDefault();
    line.option("--aggressors", o->aggressors, "aggressors, separated by commas, or all (--list shows them)")
        .typeName("NAME")
        .delimiter(',')
        .showDefault();
    line.option("--sharing", o->sharing, "ways to share the GPU, separated by commas, or all (--list shows them)")
        .typeName("WAY")
        .delimiter(',')
        .showDefault();
    line.option("--samples", o->samples, "samples per cell; a sample is a solo run and a co-run")
        .showDefault()
        .check(positive());
    line.flag("--search", o->search, "search for the worst aggressor, from those given on, and measure that one");
    line.option("--budget", o->budget, "with --search: aggressors to try for each victim and way of sharing")
        .showDefault()
        .check(positive());
    line.option("--separate", o->separate,
                "on a simulated GPU, give the aggressor its own copies: bus, banks, l2, ports, l1, sms")
        .typeName("NAME")
        .delimiter(',');
    line.option("--causes", o->explained,
                "samples per cell whose causes are found, on a simulated GPU; each takes up to 11 more; 0: none")
        .showDefault();
    line.option("--seed", o->seed, "seed of access orders, and of page addresses on a simulated GPU").showDefault();
    addMapOption(line, o->map);
    line.option("--scenario", o->scenario, "read the experiment from a JSON file; other options override it")
        .typeName("FILE");
    line.flag("--share-sms", o->shared, "let victim and aggressor run on the same SMs");
    line.option("--limit", o->limit,
                "limit of a victim's GPU time or a program's wall time; 0: 60 s (simulated: 0.25 or 600 s)")
        .typeName("SECONDS");
    line.option("--cell-limit", o->cellLimit, "stop sampling a cell after SECONDS; 0: no limit").typeName("SECONDS");
    line.option("--exceedance", o->exceedance, "probability that a run exceeds the worst-case bound")
        .typeName("PROBABILITY")
        .showDefault();
    line.option("--again", o->again, "measure nothing: bound the samples in a file of --json again").typeName("FILE");
    addJsonOption(line, o->json, "all results as JSON");
    addCsvOption(line, o->csv, "the table of slowdowns as CSV");
    addHtmlOption(line, o->html);
    addWideOption(line);
    addBatchOptions(line, o->batch);
    addClusterOptions(line, o->batch);
    line.flag("--list", o->list, "list aggressors, victims and ways of sharing");
    addVictimOptions(line, *o);
    addAggressorOptions(line, *o);
    return [o, line] { return runStress(*o, line); };
}

}  // namespace bulkhead::cli
