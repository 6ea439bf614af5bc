#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "cli/batch_options.h"
#include "cli/verbs.h"
#include "compare/comparison.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct Options {
    BatchOptions batch;
    std::vector<std::string> schedulers = {"gto", "ccws", "best-swl", "statpcal", "ciao-t", "ciao-p", "ciao-c"};
    std::vector<std::string> workloads;
    std::vector<std::string> settings;
    std::string gpu = "sim:gtx480", size = "default", json, csv, html;
    std::uint64_t seed = 1, instructions = 0;
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

compare::Plan planOf(const Options& o) {
    compare::Plan plan;
    plan.workloads = chosenWorkloads(o.workloads);
    for (const std::string& scheduler : o.schedulers) {
        compare::expectScheduler(scheduler);
        plan.variants.push_back({scheduler, scheduler});
    }
    if (o.gpu.starts_with("cuda:")) throw Error("compare: {}: only simulated GPUs have a choice of schedulers", o.gpu);
    plan.common.gpu = o.gpu;
    plan.common.settings = o.settings;
    plan.common.size = workloads::parseSize(o.size);
    plan.common.seed = o.seed;
    plan.common.warpInstructions = o.instructions;
    plan.common.toJson();  // refuses unknown profiles and settings before anything runs
    return plan;
}

int run(const Options& o) {
    const compare::Plan plan = planOf(o);
    expectOutputs({o.json, o.csv, o.html});
    compare::RunBatch batch = openBatch(o.batch);
    const compare::Comparison comparison = compare::compare(batch, plan);

    std::vector<Result> results = {compare::gainTable(comparison), compare::runTable(comparison)};
    for (Result& result : results) fillProvenance(result, o.gpu, o.seed);
    results.front().title +=
        fmt::format(" (size {}{})", o.size,
                    o.instructions ? fmt::format(", {} warp instructions a run", o.instructions) : std::string());
    if (o.json.empty() && o.csv.empty() && o.html.empty()) writeOutput("-", report::text(results.front()));
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results.back()));
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead compare", results));
    const std::vector<std::string> failures = comparison.failures();
    for (const std::string& line : failures) fmt::print(stderr, "bulkhead: {}\n", line);
    return failures.empty() ? kDone : kCheckFailed;
}

}  // namespace

Action setUpCompare(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("--schedulers", o->schedulers, "the first is what the others are measured against")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--workloads", o->workloads,
                   "names, or the classes LWS, SWS and CI; all of the CIAO paper's if none")
        ->delimiter(',');
    app.add_option("--size", o->size, "test, default or paper")->capture_default_str();
    app.add_option("--limit", o->instructions, "stop each run after that many warp instructions; 0: run to the end")
        ->capture_default_str();
    app.add_option("--gpu", o->gpu, "sim:NAME or sim:FILE.json")->capture_default_str();
    app.add_option("--set", o->settings, "change a figure of the GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--seed", o->seed, "what their input is made from")->capture_default_str();
    app.add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--csv", o->csv, "write a row for each run, likewise")->type_name("FILE");
    app.add_option("--html", o->html, "write a page, likewise")->type_name("FILE");
    addBatchOptions(app, o->batch);
    return [o] { return run(*o); };
}

}  // namespace bulkhead::cli
