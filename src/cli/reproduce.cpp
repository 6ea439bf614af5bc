#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/laboratory_options.h"
#include "cli/verbs.h"
#include "compare/workers.h"
#include "report/report.h"
#include "reproduce/ciao.h"
#include "reproduce/fgpu.h"
#include "reproduce/interference.h"

namespace bulkhead::cli {
namespace {

/// Enough for ATAX, BICG and MVT to reach the second of their kernels, in which they are other programs, and little
/// enough for Figure 8 to take about an hour on two cores.
constexpr std::uint64_t kInstructions = 10'000'000;

struct Options {
    LaboratoryOptions laboratory;
    std::string paper;
    std::vector<std::string> figures;
    std::vector<std::string> settings;
    std::string gpu = "sim:gtx480", size = "paper", json, html;
    std::uint64_t seed = 1, instructions = kInstructions, accesses = 0;
    unsigned samples = 3;
    bool gpuGiven = false, sizeGiven = false;
};

std::vector<const reproduce::CiaoFigure*> chosenFigures(const std::vector<std::string>& names) {
    std::vector<const reproduce::CiaoFigure*> chosen;
    for (const std::string& name : names) chosen.push_back(&reproduce::findCiaoFigure(name));
    if (chosen.empty())
        for (const reproduce::CiaoFigure& figure : reproduce::ciaoFigures()) chosen.push_back(&figure);
    return chosen;
}

/// "Towards Demystifying Cache Interference on NVIDIA GPUs".
int runInterference(const Options& o) {
    reproduce::InterferenceOptions options;
    if (o.gpuGiven) options.gpu = o.gpu;
    options.settings = o.settings;
    options.seed = o.seed;
    options.samples = o.samples;
    options.accesses = o.accesses;
    std::vector<std::string> names;
    for (const reproduce::InterferenceFigure& figure : reproduce::interferenceFigures())
        names.emplace_back(figure.name);
    for (const std::string& name : o.figures)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error("reproduce interference: no figure {}: there are {}", name, fmt::join(names, ", "));
    expectOutputs({o.json, o.html});
    std::vector<Result> results;
    for (const reproduce::InterferenceFigure& figure : reproduce::interferenceFigures()) {
        if (!o.figures.empty() && std::find(o.figures.begin(), o.figures.end(), figure.name) == o.figures.end())
            continue;
        for (Result& result : figure.make(options)) {
            result.title = fmt::format("{}. {}: {}", figure.name, figure.title, result.title);
            fillProvenance(result, options.gpu, o.seed);
            if (o.json != "-" && o.html != "-") writeOutput("-", report::text(result) + "\n");
            results.push_back(std::move(result));
        }
    }
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.html.empty()) writeOutput(o.html, report::html("Cache interference reproduced", results));
    return kDone;
}

/// "Fractional GPUs".
int runFgpu(const Options& o) {
    std::vector<const reproduce::FgpuFigure*> figures;
    for (const std::string& name : o.figures) figures.push_back(&reproduce::findFgpuFigure(name));
    if (figures.empty())
        for (const reproduce::FgpuFigure& figure : reproduce::fgpuFigures()) figures.push_back(&figure);
    reproduce::FgpuOptions options;
    options.common.settings = o.settings;
    options.common.size = workloads::parseSize(o.sizeGiven ? o.size : "default");
    options.common.seed = o.seed;
    options.jobs = o.laboratory.jobs ? o.laboratory.jobs : compare::processors();
    options.progress = showProgress;
    if (o.gpuGiven) throw Error("reproduce fgpu: its GPUs are sim:gtx1080 and sim:v100; for others, isolate evaluate");
    expectOutputs({o.json, o.html});
    const isolate::SeriesStore store(storeFolder(o.laboratory), thisProgram());
    std::vector<Result> results;
    for (const reproduce::FgpuFigure* figure : figures)
        for (Result& result : figure->make(store, options)) {
            result.title = fmt::format("{}. {}: {}", figure->name, figure->title, result.title);
            fillProvenance(result, "sim:gtx1080, sim:v100", o.seed);
            if (o.json != "-" && o.html != "-") writeOutput("-", report::text(result) + "\n");
            results.push_back(std::move(result));
        }
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.html.empty()) writeOutput(o.html, report::html("Fractional GPUs reproduced", results));
    return kDone;
}

int run(const Options& o) {
    if (o.paper == "fgpu") return runFgpu(o);
    if (o.paper == "interference") return runInterference(o);
    if (o.paper != "ciao") throw Error("reproduce: unknown paper {}: choose ciao, interference or fgpu", o.paper);
    const std::vector<const reproduce::CiaoFigure*> figures = chosenFigures(o.figures);
    compare::RunSpec common;
    common.gpu = o.gpu;
    common.settings = o.settings;
    common.size = workloads::parseSize(o.size);
    common.seed = o.seed;
    common.warpInstructions = o.instructions;
    common.toJson();  // refuses unknown profiles and settings before anything runs
    expectOutputs({o.json, o.html});

    compare::Laboratory laboratory = openLaboratory(o.laboratory);
    std::vector<Result> results;
    for (const reproduce::CiaoFigure* figure : figures)
        for (Result& result : figure->make(laboratory, common)) {
            result.title = fmt::format(
                "{} {}. {}: {}", std::isdigit(static_cast<unsigned char>(figure->name.front())) ? "Figure" : "Part",
                figure->name, figure->title, result.title);
            fillProvenance(result, o.gpu, o.seed);
            if (o.json != "-" && o.html != "-") writeOutput("-", report::text(result) + "\n");
            results.push_back(std::move(result));
        }
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.html.empty()) writeOutput(o.html, report::html("CIAO reproduced", results));
    return kDone;
}

}  // namespace

Action setUpReproduce(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("PAPER", o->paper, "ciao, interference or fgpu")->required();
    app.add_option("--figures", o->figures, "only these, such as 8a,table2,overhead")->delimiter(',');
    CLI::Option* size =
        app.add_option("--size", o->size, "test, default or paper; of fgpu, default")->capture_default_str();
    app.add_option("--limit", o->instructions, "stop each run after that many warp instructions; 0: run to the end")
        ->capture_default_str();
    CLI::Option* gpu = app.add_option("--gpu", o->gpu, "sim:NAME or sim:FILE.json; of interference, sim:tx2 or cuda:N")
                           ->capture_default_str();
    app.add_option("--samples", o->samples, "of interference: samples of each scenario")->capture_default_str();
    app.add_option("--accesses", o->accesses, "of interference: of each application; 0: the paper's");
    app.add_option("--set", o->settings, "change a figure of the GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--seed", o->seed, "what the workloads' input is made from")->capture_default_str();
    app.add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    addLaboratoryOptions(app, o->laboratory);
    return [o, gpu, size] {
        o->gpuGiven = gpu->count() > 0;
        o->sizeGiven = size->count() > 0;
        return run(*o);
    };
}

}  // namespace bulkhead::cli
