#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cli/batch_options.h"
#include "cli/verbs.h"
#include "dissect/map_file.h"
#include "evaluation/evaluation.h"
#include "experiment/process_pool.h"
#include "gate/gate.h"
#include "isolate/leases.h"
#include "isolate/server_health.h"
#include "isolate/stopping.h"
#include "isolate/tenancy.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct GpuOptions {
    std::string gpu = "sim:gtx1080", map, leases;
    std::vector<std::string> settings;
};

struct PlanOptions {
    GpuOptions gpu;
    std::string partitions, json;
};

struct EvaluateOptions {
    BatchOptions batch;
    std::string gpu = "sim:gtx1080", map, placement = "usual", size = "default", json, csv, html;
    std::vector<std::string> settings, methods = {"cp", "cmp"};
    std::vector<std::string> applications = evaluation::EvaluationSpec().applications;
    std::vector<std::string> neighbours = evaluation::EvaluationSpec().neighbours;
    std::vector<unsigned> partitions = {2};
    std::uint64_t seed = 1;
    unsigned samples = 0;
    bool processes = false;
};

gpu::Gpu openGpu(const GpuOptions& o) {
    gpu::SimulationOptions simulation;
    simulation.settings = o.settings;
    return gpu::Gpu::open(o.gpu, simulation);
}

isolate::LeaseBook openBook(const GpuOptions& o, gpu::Gpu& gpu) {
    return {o.leases.empty() ? isolate::LeaseBook::defaultFolder() : std::filesystem::path(o.leases),
            isolate::identityOf(gpu)};
}

int plan(const PlanOptions& o) {
    expectOutputs({o.json});
    const std::vector<isolate::Partition> partitions = isolate::partitionsFrom(o.partitions);
    gpu::Gpu gpu = openGpu(o.gpu);
    const isolate::Plan plan = isolate::planFor(gpu, partitions, o.gpu.map);
    if (o.json.empty()) {
        writeOutput("-", isolate::draw(plan));
        return kDone;
    }
    nlohmann::ordered_json json = {{"gpu", o.gpu.gpu}, {"partitions", nlohmann::ordered_json::array()}};
    for (const isolate::Share& share : plan.shares)
        json["partitions"].push_back({{"name", share.partition.name},
                                      {"multiprocessors", share.multiprocessors},
                                      {"colors", share.colors},
                                      {"of_colors", plan.topology.colors()},
                                      {"memory_bytes", share.memoryBytes},
                                      {"tenants", share.partition.tenants}});
    writeJson(o.json, json);
    return kDone;
}

int set(const PlanOptions& o) {
    const std::vector<isolate::Partition> partitions = isolate::partitionsFrom(o.partitions);
    gpu::Gpu gpu = openGpu(o.gpu);
    const isolate::Plan plan = isolate::planFor(gpu, partitions, o.gpu.map);  // refuses what this GPU cannot give
    openBook(o.gpu, gpu).setPartitions(partitions, o.gpu.map);
    writeOutput("-", isolate::draw(plan));
    return kDone;
}

Value processOf(pid_t id) {
    return id > 0 ? Value(std::int64_t{id}) : Value();
}

std::vector<Value> rowOf(const isolate::Holder& holder) {
    const isolate::Share& share = holder.share;
    const auto multiprocessors = static_cast<std::int64_t>(share.multiprocessors.size());
    const auto colors = static_cast<std::int64_t>(share.colors.size());
    const auto megabytes = static_cast<std::int64_t>(share.memoryBytes >> 20);
    return {share.partition.name,
            processOf(holder.process),
            std::int64_t{holder.user},
            holder.program,
            holder.since,
            multiprocessors,
            colors,
            megabytes,
            {}};
}

std::vector<Value> rowOf(const isolate::Stranger& stranger) {
    const Value user = stranger.user ? Value(std::int64_t{*stranger.user}) : Value();
    return {"?", processOf(stranger.process), user, {}, {}, {}, {}, {}, stranger.why};
}

int list(const PlanOptions& o) {
    gpu::Gpu gpu = openGpu(o.gpu);
    const isolate::Occupancy occupancy = openBook(o.gpu, gpu).occupancy();
    // One that is gone may still have tenants.
    if (!o.gpu.leases.empty() && occupancy.strangers.empty() && !std::filesystem::exists(o.gpu.leases))
        throw Error("{}: no such folder of leases", o.gpu.leases);
    Result r;
    r.title = "who is in the partitions of " + o.gpu.gpu;
    r.columns = {{"partition", ""}, {"process", ""}, {"user", ""},     {"program", ""}, {"since", ""},
                 {"SMs", ""},       {"colors", ""},  {"memory", "MB"}, {"note", ""}};
    for (const isolate::Holder& holder : occupancy.holders) r.add(rowOf(holder));
    for (const isolate::Stranger& stranger : occupancy.strangers) r.add(rowOf(stranger));
    if (o.json.empty()) {
        writeOutput("-", report::text(r));
    } else {
        writeJson(o.json, report::json(r));
    }
    return kDone;
}

struct StopOptions {
    GpuOptions gpu;
    std::string partition;
};

int stop(const StopOptions& o) {
    gpu::Gpu gpu = openGpu(o.gpu);
    for (const isolate::Holder& holder : isolate::stopHolders(openBook(o.gpu, gpu), o.partition))
        writeOutput("-", fmt::format("stopped process {} ({}) in partition {}\n", holder.process,
                                     printable(holder.program), o.partition));
    return kDone;
}

evaluation::EvaluationSpec specOf(const EvaluateOptions& o) {
    evaluation::EvaluationSpec spec;
    spec.common.gpu = o.gpu;
    spec.common.map = o.map;
    spec.common.settings = o.settings;
    spec.common.size = workloads::parseSize(o.size);
    spec.common.seed = o.seed;
    spec.common.samples = o.samples ? o.samples : o.gpu.starts_with("cuda:") ? 20 : 1;
    if (o.processes && !o.gpu.starts_with("cuda:"))
        throw Error("isolate: --processes is for real GPUs: {} lives in one process", o.gpu);
    spec.common.processes = o.processes;
    spec.common.placement = o.placement;
    if (o.placement != "usual" && o.placement != "blocks" && o.placement != "driver")
        throw Error("isolate: no placement {}: there are usual, blocks and driver", o.placement);
    spec.methods.clear();
    for (const std::string& name : o.methods) spec.methods.push_back(evaluation::parseMethod(name));
    spec.partitions = o.partitions;
    for (const unsigned n : spec.partitions)
        if (n < 2 || n > 64) throw Error("isolate: {} partitions: choose from 2 to 64", n);
    spec.applications = o.applications;
    spec.neighbours = o.neighbours;
    if (!o.map.empty()) dissect::readMapFile(o.map);
    spec.common.toJson();  // refuses unknown profiles and settings before anything runs
    return spec;
}

int evaluate(const EvaluateOptions& o) {
    const evaluation::EvaluationSpec spec = specOf(o);
    expectOutputs({o.json, o.csv, o.html});
    const evaluation::SeriesStore store(storeFolder(o.batch), thisProgram(), warnOnce);
    const evaluation::Evaluation evaluation =
        evaluation::evaluate(spec, store, o.batch.jobs ? o.batch.jobs : experiment::processors(), showProgress);
    if (evaluation.runtimeTable().rows.empty() && !evaluation.failures().empty())
        throw Error("isolate: nothing could be measured: {}", evaluation.failures().front());
    std::vector<Result> results = {evaluation.variationTable(spec), evaluation.runtimeTable(),
                                   evaluation.overheadTable(spec)};
    for (Result& result : results) {
        result.title += fmt::format(" (size {})", o.size);
        fillProvenance(result, o.gpu, o.seed);
    }
    if (o.json.empty() && o.csv.empty() && o.html.empty())
        for (const Result& result : results) writeOutput("-", report::text(result) + "\n");
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results[1]));
    if (!o.json.empty()) writeJson(o.json, resultsJson(results));
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead isolate evaluate", results));
    for (const std::string& line : evaluation.failures()) fmt::print(stderr, "bulkhead: {}\n", line);
    return evaluation.failures().empty() ? kDone : kCheckFailed;
}

struct RunOptions {
    GpuOptions gpu;
    std::string partition;
    std::vector<std::string> command;
};

void setVariable(const char* name, const std::string& value) {
    if (::setenv(name, value.c_str(), 1) != 0) throw Error("the environment is full");
}

/// The library that a real driver's calls come from.
std::string fileOf(const driver::DriverApi& api) {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(api.cuInit), &info) == 0) throw Error("cannot tell where the driver is");
    return std::filesystem::canonical(info.dli_fname).string();
}

/// The driver library in front of the program joins; here only what can be told before is.
int runInside(const RunOptions& o) {
    isolate::waitForServer(o.gpu.gpu);
    {
        gpu::Gpu gpu = openGpu(o.gpu);
        const isolate::LeaseBook book = openBook(o.gpu, gpu);
        const std::vector<isolate::Partition> partitions = book.partitions();
        std::vector<std::string> names;
        names.reserve(partitions.size());
        for (const isolate::Partition& partition : partitions) names.push_back(partition.name);
        if (std::find(names.begin(), names.end(), o.partition) == names.end())
            throw Error("no partition {} on {}{}: there are {}", o.partition, o.gpu.gpu, didYouMean(o.partition, names),
                        fmt::join(names, ", "));
        if (!gpu.simulator()) setVariable("BULKHEAD_LIBCUDA", fileOf(gpu.api()));
        setVariable("BULKHEAD_LEASES", std::filesystem::absolute(book.folder()).string());
    }
    setVariable("BULKHEAD_GPU", o.gpu.gpu);
    setVariable("BULKHEAD_SET", fmt::format("{}", fmt::join(o.gpu.settings, " ")));
    setVariable("BULKHEAD_PARTITION", o.partition);
    setVariable("BULKHEAD_SUMMARY", "0");
    const std::string audited = environment("LD_AUDIT");
    setVariable("LD_AUDIT", libraryFolder() + "/" + kGateLibrary + (audited.empty() ? "" : ":" + audited));
    becomeProgram(o.command);
}

void addMapOption(CLI::App& app, std::string& map) {
    app.add_option("--map", map, "map of bulkhead dissect, for walls between the slices of a real GPU")
        ->type_name("FILE");
}

void addGpuOptions(CLI::App& app, GpuOptions& o) {
    app.add_option("--gpu", o.gpu, "sim:NAME, sim:FILE.json or cuda:N")->capture_default_str();
    app.add_option("--set", o.settings, "change a figure of a simulated GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
}

void addLeaseOptions(CLI::App& app, GpuOptions& o) {
    app.add_option("--leases", o.leases, "folder of leases [BULKHEAD_LEASES, or the user's own]")->type_name("FOLDER");
}

void addOutputs(CLI::App& app, EvaluateOptions& o) {
    app.add_option("--json", o.json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--csv", o.csv, "write a row for each runtime, likewise")->type_name("FILE");
    app.add_option("--html", o.html, "write a page, likewise")->type_name("FILE");
}

using Chosen = std::shared_ptr<Action>;

void setUpPlan(CLI::App& app, const char* name, const char* brief, int (*act)(const PlanOptions&), bool partitions,
               bool leases, const Chosen& chosen) {
    CLI::App* sub = app.add_subcommand(name, brief);
    const auto o = std::make_shared<PlanOptions>();
    addGpuOptions(*sub, o->gpu);
    if (leases) addLeaseOptions(*sub, o->gpu);
    if (partitions) {
        addMapOption(*sub, o->gpu.map);
        sub->add_option(
               "--partitions", o->partitions,
               "2, of equal size; A=50%,B=25%/50%: the share of SMs and, after a slash, of memory; or a JSON file")
            ->required();
    }
    if (act != set)
        sub->add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    sub->callback([=] { *chosen = [=] { return act(*o); }; });
}

void setUpInside(CLI::App& app, const Chosen& chosen) {
    CLI::App* sub = app.add_subcommand("run", "run a CUDA program inside a partition");
    const auto o = std::make_shared<RunOptions>();
    addGpuOptions(*sub, o->gpu);
    addLeaseOptions(*sub, o->gpu);
    sub->add_option("--partition", o->partition, "its name")->required();
    sub->add_option("COMMAND", o->command, "the program and its arguments, after --")->required();
    sub->callback([=] { *chosen = [=] { return runInside(*o); }; });
}

void setUpStop(CLI::App& app, const Chosen& chosen) {
    CLI::App* sub = app.add_subcommand("stop", "stop the programs inside a partition, without harm to others");
    const auto o = std::make_shared<StopOptions>();
    addGpuOptions(*sub, o->gpu);
    addLeaseOptions(*sub, o->gpu);
    sub->add_option("--partition", o->partition, "its name")->required();
    sub->callback([=] { *chosen = [=] { return stop(*o); }; });
}

void setUpEvaluate(CLI::App& app, const Chosen& chosen) {
    CLI::App* sub = app.add_subcommand("evaluate", "measure how far neighbours reach through walls");
    const auto o = std::make_shared<EvaluateOptions>();
    sub->add_option("--gpu", o->gpu, "sim:NAME, sim:FILE.json or cuda:N")->capture_default_str();
    addMapOption(*sub, o->map);
    sub->add_option("--set", o->settings, "change a figure of a simulated GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    sub->add_option("--methods", o->methods, "none, mps, green, cp, cmp")->delimiter(',')->capture_default_str();
    sub->add_option("--placement", o->placement, "inside walls: blocks that leave, or the driver")
        ->capture_default_str();
    sub->add_option("--partitions", o->partitions, "how many, of equal size")->delimiter(',')->capture_default_str();
    sub->add_option("--applications", o->applications, "in partition 1: workloads, latency, stream")
        ->delimiter(',')
        ->capture_default_str();
    sub->add_option("--neighbours", o->neighbours, "in the others, one after the other: likewise")
        ->delimiter(',')
        ->capture_default_str();
    sub->add_option("--size", o->size, "test, default, paper or large")->capture_default_str();
    sub->add_option("--samples", o->samples, "of each runtime [20 on a real GPU, 1 on a simulated one]")
        ->check(positive());
    sub->add_flag("--processes", o->processes, "of a real GPU: a process each, under MPS");
    sub->add_option("--seed", o->seed, "what the input is made from")->capture_default_str();
    addOutputs(*sub, *o);
    addBatchOptions(*sub, o->batch);
    sub->callback([=] { *chosen = [=] { return evaluate(*o); }; });
}

}  // namespace

Action setUpIsolate(CLI::App& app) {
    const auto chosen = std::make_shared<Action>();
    app.require_subcommand(1);
    setUpPlan(app, "plan", "show how a GPU would be divided", plan, true, false, chosen);
    setUpPlan(app, "set", "set the partitions that processes join from now on", set, true, true, chosen);
    setUpPlan(app, "list", "show who is in which partition", list, false, true, chosen);
    setUpInside(app, chosen);
    setUpStop(app, chosen);
    setUpEvaluate(app, chosen);
    return [chosen] { return (*chosen)(); };
}

}  // namespace bulkhead::cli
