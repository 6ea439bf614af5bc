#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/laboratory_options.h"
#include "cli/verbs.h"
#include "report/report.h"
#include "reproduce/ciao.h"

namespace bulkhead::cli {
namespace {

/// Enough for every scheduler to settle, and little enough for Figure 8 to take less than an hour on two cores.
constexpr std::uint64_t kInstructions = 2'000'000;

struct Options {
    LaboratoryOptions laboratory;
    std::string paper;
    std::vector<std::string> figures;
    std::vector<std::string> settings;
    std::string gpu = "sim:gtx480", size = "paper", json, html;
    std::uint64_t seed = 1, instructions = kInstructions;
};

std::vector<const reproduce::CiaoFigure*> chosenFigures(const std::vector<std::string>& names) {
    std::vector<const reproduce::CiaoFigure*> chosen;
    for (const std::string& name : names) chosen.push_back(&reproduce::findCiaoFigure(name));
    if (chosen.empty())
        for (const reproduce::CiaoFigure& figure : reproduce::ciaoFigures()) chosen.push_back(&figure);
    return chosen;
}

int run(const Options& o) {
    if (o.paper != "ciao") throw Error("reproduce: unknown paper {}: choose ciao", o.paper);
    const std::vector<const reproduce::CiaoFigure*> figures = chosenFigures(o.figures);
    compare::RunSpec common;
    common.gpu = o.gpu;
    common.settings = o.settings;
    common.size = workloads::parseSize(o.size);
    common.seed = o.seed;
    common.warpInstructions = o.instructions;
    common.toJson();  // refuses unknown profiles and settings before anything runs
    for (const std::string& file : {o.json, o.html})
        if (!file.empty() && file != "-") expectWritable(file);

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
    app.add_option("PAPER", o->paper, "ciao")->required();
    app.add_option("--figures", o->figures, "only these, such as 8a,table2,overhead")->delimiter(',');
    app.add_option("--size", o->size, "test, default or paper")->capture_default_str();
    app.add_option("--limit", o->instructions, "stop each run after that many warp instructions; 0: run to the end")
        ->capture_default_str();
    app.add_option("--gpu", o->gpu, "sim:NAME or sim:FILE.json")->capture_default_str();
    app.add_option("--set", o->settings, "change a figure of the GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--seed", o->seed, "what the workloads' input is made from")->capture_default_str();
    app.add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    addLaboratoryOptions(app, o->laboratory);
    return [o] { return run(*o); };
}

}  // namespace bulkhead::cli
