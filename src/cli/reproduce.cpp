#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/error.h"
#include "cli/batch_options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "compare/store.h"
#include "experiment/process_pool.h"
#include "report/report.h"
#include "reproduce/ciao.h"
#include "reproduce/fgpu.h"
#include "reproduce/interference.h"
#include "reproduce/verdict.h"

namespace bulkhead::cli {
namespace {

/// Enough for ATAX, BICG and MVT to reach the second of their kernels, in which they are other programs, and little
/// enough for Figure 8 to take about an hour on two cores.
constexpr std::uint64_t kInstructions = 10'000'000;

struct Options {
    BatchOptions batch;
    std::string paper;
    std::vector<std::string> figures;
    std::vector<std::string> settings;
    std::string gpu = "sim:gtx480", size = "paper", json, html;
    std::uint64_t seed = 1, instructions = kInstructions, accesses = 0;
    unsigned samples = 3;
    bool quick = false, gpuGiven = false, sizeGiven = false;
};

/// A figure or table of any of the papers.
struct Figure {
    std::string name, title, gpu;
    std::function<std::vector<Result>()> make;
};

/// "CIAO: Cache Interference-Aware Throughput-Oriented Architecture".
std::vector<Figure> ciao(const Options& o) {
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

/// What `make` makes, once: a figure that the folder has is taken from there. The other papers keep single runs.
std::vector<Result> keptFigure(const experiment::ResultFolder& folder, const nlohmann::ordered_json& spec,
                               const std::function<std::vector<Result>()>& make) {
    const std::string name = "figure";
    if (const std::optional<nlohmann::json> kept = folder.find(name, spec)) {
        try {
            return report::resultsIn(*kept, "figure");
        } catch (const Error&) {
            folder.warnOfDamage(folder.fileOf(name, spec));
        }
    }
    const std::vector<Result> results = make();
    folder.keep(name, spec, resultsJson(results));
    return results;
}

/// "Towards Demystifying Cache Interference on NVIDIA GPUs".
std::vector<Figure> interference(const Options& o) {
    reproduce::InterferenceOptions options;
    if (o.gpuGiven) options.gpu = o.gpu;
    options.settings = o.settings;
    options.seed = o.seed;
    options.samples = o.samples;
    options.accesses = o.accesses;
    const bool real = options.gpu.starts_with("cuda:");
    if (!real) {
        arch::DeviceProfile profile = arch::findProfile(options.gpu);
        arch::applySettings(profile, options.settings);
    }
    const experiment::ResultFolder folder(storeFolder(o.batch), thisProgram(), warnOnce);
    std::vector<Figure> all;
    for (const reproduce::InterferenceFigure& figure : reproduce::interferenceFigures()) {
        const auto make = [=, make = figure.make] { return make(options); };
        const nlohmann::ordered_json spec = {{"name", figure.name},          {"gpu", options.gpu},
                                             {"settings", options.settings}, {"seed", options.seed},
                                             {"samples", options.samples},   {"accesses", options.accesses}};
        const auto kept = [=] { return keptFigure(folder, spec, make); };
        // A real GPU is measured every time.
        all.push_back({std::string(figure.name), std::string(figure.title), options.gpu,
                       real ? std::function<std::vector<Result>()>(make) : kept});
    }
    return all;
}

/// "Fractional GPUs: Software-based Compute and Memory Bandwidth Reservation for GPUs".
std::vector<Figure> fgpu(const Options& o) {
    if (o.gpuGiven) throw Error("reproduce fgpu: its GPUs are sim:gtx1080 and sim:v100; for others, isolate evaluate");
    reproduce::FgpuOptions options;
    options.common.settings = o.settings;
    options.common.size = workloads::parseSize(o.sizeGiven ? o.size : "default");
    // Smaller inputs would leave nothing to interfere with, so fewer applications save the time.
    if (o.quick) options.applications = {"SP", "VA"};
    options.common.seed = o.seed;
    options.jobs = o.batch.jobs ? o.batch.jobs : experiment::processors();
    options.progress = showProgress;
    const auto store = std::make_shared<evaluation::SeriesStore>(storeFolder(o.batch), thisProgram(), warnOnce);
    std::vector<Figure> all;
    for (const reproduce::FgpuFigure& figure : reproduce::fgpuFigures())
        all.push_back({std::string(figure.name), std::string(figure.title), "sim:gtx1080, sim:v100",
                       [=, make = figure.make] { return make(*store, options); }});
    return all;
}

struct Paper {
    const char *name, *title;
    std::vector<Figure> (*figures)(const Options&);
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
std::vector<Figure> chosenFigures(const std::vector<Paper>& papers, const Options& o) {
    std::vector<Figure> all, chosen;
    for (const Paper& paper : papers)
        for (Figure& figure : paper.figures(o)) all.push_back(std::move(figure));
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const Figure& figure : all) names.push_back(figure.name);
    for (const std::string& name : o.figures)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error("reproduce {}: no figure {}: there are {}", o.paper, name, fmt::join(names, ", "));
    for (Figure& figure : all)
        if (o.figures.empty() || std::find(o.figures.begin(), o.figures.end(), figure.name) != o.figures.end())
            chosen.push_back(std::move(figure));
    return chosen;
}

std::string heading(const Figure& figure) {
    const bool number = std::isdigit(static_cast<unsigned char>(figure.name.front())) != 0;
    return fmt::format("{}{}. {}", number ? "Figure " : "", figure.name, figure.title);
}

/// What differs from the papers for the sake of time; of fgpu, the applications do as well.
void shorten(Options& o) {
    o.instructions = std::min<std::uint64_t>(o.instructions, 200'000);
    o.samples = 1;
}

void sayShortened(const Options& o) {
    fmt::print(
        stderr,
        "shortened, so an impression only: interference with one sample, fgpu with two applications of six, ciao "
        "with {} warp instructions a run\n",
        o.instructions);
}

/// On a terminal, a line for each: those of the runs that a figure takes follow it.
void showFigure(const std::string& heading, std::size_t done, std::size_t of, const TimeLeft& timeLeft) {
    if (isatty(STDERR_FILENO) == 0) return;
    const double share = static_cast<double>(done) / static_cast<double>(of);
    fmt::print(stderr, "{} ({} of {}{})\n", heading, done + 1, of, timeLeft.words(share));
}

int run(Options o) {
    const std::vector<Paper> papers = chosenPapers(o.paper);
    if (papers.size() > 1 && o.gpuGiven) throw Error("reproduce all: every paper has GPUs of its own; leave out --gpu");
    workloads::parseSize(o.size);  // not every paper has a use for it, or for the store
    openBatch(o.batch);
    expectOutputs({o.json, o.html});
    if (o.quick) shorten(o);
    const std::vector<Figure> figures = chosenFigures(papers, o);
    if (o.quick) sayShortened(o);
    const bool quiet = o.json == "-" || o.html == "-";
    std::vector<Result> results;
    const TimeLeft timeLeft;
    for (std::size_t i = 0; i < figures.size(); ++i) {
        const Figure& figure = figures[i];
        showFigure(heading(figure), i, figures.size(), timeLeft);
        for (Result& result : figure.make()) {
            result.title = fmt::format("{}: {}", heading(figure), result.title);
            fillProvenance(result, figure.gpu, o.seed);
            if (!quiet) writeOutput("-", report::text(result) + "\n");
            results.push_back(std::move(result));
        }
    }
    std::vector<Result> verdicts = reproduce::verdicts(results);
    for (Result& verdict : verdicts) {
        fillProvenance(verdict, figures.front().gpu, o.seed);
        if (!quiet) writeOutput("-", report::text(verdict) + "\n");
    }
    results.insert(results.begin(), std::make_move_iterator(verdicts.begin()), std::make_move_iterator(verdicts.end()));
    std::string title = papers.size() == 1 ? papers.front().title : "Three papers reproduced";
    if (o.quick) title += ", shortened";
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.html.empty()) writeOutput(o.html, report::html(title, results));
    return kDone;
}

}  // namespace

Action setUpReproduce(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("PAPER", o->paper, "interference, fgpu, ciao or all")->required();
    app.add_flag("--quick", o->quick,
                 "shorter runs, one sample, of fgpu two applications: an impression, not the papers' figures");
    app.add_option("--figures", o->figures, "only these, such as 8a,table2,overhead")->delimiter(',');
    CLI::Option* size =
        app.add_option("--size", o->size, "test, default or paper; of fgpu, default")->capture_default_str();
    app.add_option("--limit", o->instructions, "stop each run after that many warp instructions; 0: run to the end")
        ->capture_default_str();
    CLI::Option* gpu = app.add_option("--gpu", o->gpu, "sim:NAME or sim:FILE.json; of interference, sim:tx2 or cuda:N")
                           ->capture_default_str();
    app.add_option("--samples", o->samples, "of interference: samples of each scenario")
        ->capture_default_str()
        ->check(positive());
    app.add_option("--accesses", o->accesses, "of interference: of each application; 0: the paper's")
        ->check(between(0, std::uint64_t{1} << 32));
    app.add_option("--set", o->settings, "change a figure of the GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--seed", o->seed, "what the workloads' input is made from")->capture_default_str();
    app.add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    addBatchOptions(app, o->batch);
    return [o, gpu, size, &app] {
        const std::string where = "reproduce " + o->paper;
        if (o->paper == "interference") refuseGiven(app, {"--limit", "--size"}, where);
        if (o->paper == "fgpu") refuseGiven(app, {"--limit", "--samples", "--accesses"}, where);
        if (o->paper == "ciao") refuseGiven(app, {"--samples", "--accesses"}, where);
        o->gpuGiven = gpu->count() > 0;
        o->sizeGiven = size->count() > 0;
        return run(*o);
    };
}

}  // namespace bulkhead::cli
