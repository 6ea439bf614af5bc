#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "compare/store.h"
#include "gpu/known_profile.h"
#include "report/report.h"
#include "reproduce/ciao.h"
#include "reproduce/fgpu.h"
#include "reproduce/figure_run.h"
#include "reproduce/interference.h"
#include "reproduce/verdict.h"

namespace bulkhead::cli {
namespace {

/// Enough for ATAX, BICG and MVT to reach the second of their kernels, in which they are other programs, and little
/// enough for Figure 8 to take about an hour on two cores.
constexpr std::uint64_t kInstructions = 10'000'000;

struct ReproduceOptions {
    BatchOptions batch;
    std::string paper;
    std::vector<std::string> figures;
    std::vector<std::string> settings;
    std::string gpu = "sim:gtx480", size = "paper", json, html;
    std::uint64_t seed = 1, instructions = kInstructions, accesses = 0;
    unsigned samples = 3;
    bool quick = false, gpuGiven = false, sizeGiven = false, samplesGiven = false;
};

/// A figure or table of any of the papers.
struct Figure {
    std::string name, title, gpu;
    std::function<std::vector<Result>()> make;
};

/// "CIAO: Cache Interference-Aware Throughput-Oriented Architecture".
std::vector<Figure> ciao(const ReproduceOptions& o) {
    compare::RunSpec common;
    common.gpu = o.gpu;
    common.settings = o.settings;
    common.size = workloads::parseSize(o.size);
    common.seed = o.seed;
    common.warpInstructions = o.instructions;
    common.toJson();  // refuses unknown profiles and settings before anything runs
    const auto batch = std::make_shared<compare::RunBatch>(openBatch(o.batch));
    std::vector<Figure> all;
    for (const reproduce::CiaoFigure& figure : reproduce::ciaoFigures())
        all.push_back({std::string(figure.name), std::string(figure.title), o.gpu,
                       [=, make = figure.make] { return make(*batch, common); }});
    return all;
}

bool isWanted(std::string_view figure, const ReproduceOptions& o) {
    return o.figures.empty() || std::find(o.figures.begin(), o.figures.end(), figure) != o.figures.end();
}

/// Figures that are runs: all that are wanted are done when the first is made.
class FigureRuns {
  public:
    FigureRuns(reproduce::FigureBatch batch, std::vector<reproduce::FigureSpec> specs)
        : batch_(std::move(batch)), specs_(std::move(specs)) {}

    std::vector<Result> make(std::string_view name) {
        if (outcomes_.empty()) outcomes_ = batch_.run(specs_);
        const auto at =
            std::find_if(specs_.begin(), specs_.end(), [&](const auto& spec) { return spec.figure == name; });
        const auto& outcome = outcomes_.at(static_cast<std::size_t>(at - specs_.begin()));
        if (!outcome.ok()) throw Error("{}: {}", name, outcome.failure);
        return outcome.measurement.results;
    }

  private:
    reproduce::FigureBatch batch_;
    std::vector<reproduce::FigureSpec> specs_;
    std::vector<experiment::Outcome<reproduce::FigureMeasurement>> outcomes_;
};

/// "Towards Demystifying Cache Interference on NVIDIA GPUs".
std::vector<Figure> interference(const ReproduceOptions& o) {
    reproduce::InterferenceOptions options;
    if (o.gpuGiven) options.gpu = o.gpu;
    options.settings = o.settings;
    options.seed = o.seed;
    options.samples = o.samples;
    options.accesses = o.accesses;
    gpu::knownProfile(options.gpu, options.settings);  // refuses unknown profiles and settings before anything runs
    const bool keeps = gpu::capabilitiesOf(options.gpu).deterministic;
    if (!keeps && onSlurm(o.batch))
        throw Error("reproduce interference: --on slurm is for simulated GPUs: run this on the machine with {}",
                    options.gpu);
    std::vector<reproduce::FigureSpec> wanted;
    for (const reproduce::InterferenceFigure& figure : reproduce::interferenceFigures())
        if (isWanted(figure.name, o)) wanted.push_back({std::string(figure.name), options});
    const reproduce::FigureStore store(storeFolder(o.batch), thisProgram(), warnOnce);
    const auto runs =
        std::make_shared<FigureRuns>(reproduce::FigureBatch(store, executorOf(o.batch)), std::move(wanted));
    std::vector<Figure> all;
    for (const reproduce::InterferenceFigure& figure : reproduce::interferenceFigures()) {
        // What would be different the next time is measured every time.
        std::function<std::vector<Result>()> make = [=, make = figure.make] { return make(options); };
        if (keeps) make = [=, name = figure.name] { return runs->make(name); };
        all.push_back({std::string(figure.name), std::string(figure.title), options.gpu, make});
    }
    return all;
}

/// "Fractional GPUs: Software-based Compute and Memory Bandwidth Reservation for GPUs".
std::vector<Figure> fgpu(const ReproduceOptions& o) {
    if (o.gpuGiven)
        throw Error(
            "reproduce fgpu: --gpu cannot be set, the paper's GPUs are sim:gtx1080 and sim:v100; use isolate evaluate");
    reproduce::FgpuOptions options;
    options.common.settings = o.settings;
    options.common.size = workloads::parseSize(o.sizeGiven ? o.size : "default");
    // Smaller inputs would leave nothing to interfere with, so fewer applications save the time.
    if (o.quick) options.applications = {"SP", "VA"};
    options.common.seed = o.seed;
    options.common.samples = o.samplesGiven || o.quick ? o.samples : 1;
    options.executor = executorOf(o.batch);
    options.memory = std::make_shared<reproduce::MemoryStudy>(
        o.quick ? reproduce::MemoryStudy::shortened() : reproduce::MemoryStudy::asInThePaper(), o.settings, o.seed);
    const auto store = std::make_shared<evaluation::SeriesStore>(storeFolder(o.batch), thisProgram(), warnOnce);
    std::vector<Figure> all;
    for (const reproduce::FgpuFigure& figure : reproduce::fgpuFigures())
        all.push_back({std::string(figure.name), std::string(figure.title), "sim:gtx1080, sim:v100",
                       [=, make = figure.make] { return make(*store, options); }});
    return all;
}

struct Paper {
    const char *name, *title;
    std::vector<Figure> (*figures)(const ReproduceOptions&);
};
constexpr Paper kPapers[] = {
    {"interference", "Cache interference reproduced", interference},
    {"fgpu", "Fractional GPUs reproduced", fgpu},
    {"ciao", "CIAO reproduced", ciao},
};

std::vector<Paper> chosenPapers(const std::string& name) {
    std::vector<Paper> chosen;
    for (const Paper& paper : kPapers)
        if (name == "all" || name == paper.name) chosen.push_back(paper);
    if (chosen.empty()) throw Error("reproduce: unknown paper {}: choose interference, fgpu, ciao or all", name);
    return chosen;
}

/// Those that were asked for, in the order of the papers. Throws Error that lists the names.
std::vector<Figure> chosenFigures(const std::vector<Paper>& papers, const ReproduceOptions& o) {
    std::vector<Figure> all, chosen;
    for (const Paper& paper : papers)
        for (Figure& figure : paper.figures(o)) all.push_back(std::move(figure));
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const Figure& figure : all) names.push_back(figure.name);
    for (const std::string& name : o.figures)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error("reproduce {}: unknown figure {}: choose from {}", o.paper, name, fmt::join(names, ", "));
    for (Figure& figure : all)
        if (isWanted(figure.name, o)) chosen.push_back(std::move(figure));
    return chosen;
}

std::string heading(const Figure& figure) {
    const bool number = std::isdigit(static_cast<unsigned char>(figure.name.front())) != 0;
    return fmt::format("{}{}. {}", number ? "Figure " : "", figure.name, figure.title);
}

/// What differs from the papers for the sake of time; of fgpu, the applications do as well.
void shorten(ReproduceOptions& o) {
    o.instructions = std::min<std::uint64_t>(o.instructions, 200'000);
    o.samples = 1;
}

void sayShortened(const ReproduceOptions& o) {
    fmt::print(
        stderr,
        "shortened runs: interference with one sample, fgpu with two of six applications and fewer address pairs, "
        "ciao with {} warp instructions per run\n",
        o.instructions);
}

/// On a terminal, a line for each: those of the runs that a figure takes follow it. Elsewhere, one a minute at most.
void showFigure(const std::string& heading, std::size_t done, std::size_t of, const TimeLeft& timeLeft,
                EveryMinute& minute) {
    const double share = static_cast<double>(done) / static_cast<double>(of);
    if (streamsProgress()) return streamProgress(share, heading, timeLeft.seconds(share));
    if (isatty(STDERR_FILENO) == 0 && !minute.due()) return;
    fmt::print(stderr, "{} ({} of {}{})\n", heading, done + 1, of, timeLeft.words(share));
}

int runReproduce(ReproduceOptions o) {
    const std::vector<Paper> papers = chosenPapers(o.paper);
    if (papers.size() > 1 && o.gpuGiven) throw Error("reproduce all: --gpu cannot be set, each paper has its own GPUs");
    workloads::parseSize(o.size);  // not every paper has a use for it, or for the store
    openBatch(o.batch);
    expectOutputs({o.json, o.html});
    if (o.quick) shorten(o);
    const std::vector<Figure> figures = chosenFigures(papers, o);
    if (o.quick) sayShortened(o);
    const bool quiet = o.json == "-" || o.html == "-";
    const bool streams = o.json == "-";
    ResultStream stream;
    std::vector<Result> results;
    const TimeLeft timeLeft;
    EveryMinute minute;
    for (std::size_t i = 0; i < figures.size(); ++i) {
        const Figure& figure = figures[i];
        showFigure(heading(figure), i, figures.size(), timeLeft, minute);
        for (Result& result : figure.make()) {
            result.title = fmt::format("{}: {}", heading(figure), result.title);
            fillProvenance(result, figure.gpu, o.seed);
            reproduce::answer(result);
            if (!quiet) writeOutput("-", tableText(result) + answerText(result) + "\n");
            if (streams) stream.add(result);
            results.push_back(std::move(result));
        }
    }
    std::vector<Result> verdicts = reproduce::verdicts(results);
    for (Result& verdict : verdicts) {
        fillProvenance(verdict, figures.front().gpu, o.seed);
        if (!quiet) writeOutput("-", tableText(verdict) + "\n");
        if (streams) stream.add(verdict);
    }
    if (streams) stream.end();
    if (!quiet && !verdicts.empty()) writeOutput("-", answerText(verdicts.front()));
    results.insert(results.begin(), std::make_move_iterator(verdicts.begin()), std::make_move_iterator(verdicts.end()));
    std::string title = papers.size() == 1 ? papers.front().title : "Three papers reproduced";
    if (o.quick) title += ", shortened";
    if (!o.json.empty() && !streams) writeResults(o.json, results);
    if (!o.html.empty()) writeOutput(o.html, report::html(title, results));
    return kDone;
}

}  // namespace

Action setUpReproduce(CommandLine line) {
    const auto o = std::make_shared<ReproduceOptions>();
    line.option("PAPER", o->paper, "paper: interference, fgpu, ciao or all").required();
    line.flag("--quick", o->quick, "shorten runs, for a first impression: results differ from full runs");
    line.option("--figures", o->figures, "figures and tables, such as 8a,table2,overhead [all]")
        .typeName("NAME")
        .delimiter(',');
    const Option size = addSizeOption(line, o->size)
                            .description("size of the workloads' input: test, default or paper [fgpu: default]");
    line.option("--limit", o->instructions, "ciao: stop each run after N warp instructions; 0: run to the end")
        .showDefault();
    const Option gpu =
        addGpuOption(line, o->gpu)
            .description("GPU to use (not fgpu): sim:NAME, sim:FILE.json; interference: cuda:N too [sim:tx2]");
    const Option samples =
        line.option("--samples", o->samples,
                    "samples: interference, per scenario; fgpu, of each runtime, with other inputs, places and phases "
                    "[3; fgpu: 1]")
            .check(positive());
    line.option("--accesses", o->accesses, "interference: accesses per application run; 0: as in the paper")
        .check(between(0, std::uint64_t{1} << 32));
    addSettings(line, o->settings);
    addThreadsOption(line);
    addSeedOption(line, o->seed);
    addJsonOption(line, o->json);
    addHtmlOption(line, o->html);
    addWideOption(line);
    addBatchOptions(line, o->batch);
    addClusterOptions(line, o->batch);
    return [o, gpu, size, samples, line] {
        const std::string where = "reproduce " + o->paper;
        if (o->paper == "interference") refuseGiven(line, {"--limit", "--size"}, where);
        if (o->paper == "fgpu") refuseGiven(line, {"--limit", "--accesses"}, where);
        if (o->paper == "ciao") refuseGiven(line, {"--samples", "--accesses"}, where);
        o->gpuGiven = gpu.given();
        o->sizeGiven = size.given();
        o->samplesGiven = samples.given();
        return runReproduce(*o);
    };
}

}  // namespace bulkhead::cli
