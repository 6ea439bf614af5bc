#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/error.h"
#include "base/schema.h"
#include "base/split.h"
#include "base/suggest.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/isolate_benchmark.h"
#include "cli/isolate_cost.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "corun/applications.h"
#include "dissect/map_file.h"
#include "evaluation/evaluation.h"
#include "experiment/interruption.h"
#include "gpu/gpu_name.h"
#include "gpu/real_driver.h"
#include "isolate/divided_gpu.h"
#include "isolate/keeper.h"
#include "isolate/kept_gpu.h"
#include "isolate/leases.h"
#include "isolate/plan_picture.h"
#include "isolate/server_health.h"
#include "isolate/simulated_keeper.h"
#include "isolate/stopping.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct GpuOptions {
    std::string gpu = "sim:gtx1080", map, leases;
    std::vector<std::string> settings;
};

struct PlanOptions {
    GpuOptions gpu;
    std::string partitions, json, html, sharing;
    std::vector<std::string> strict;
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

std::filesystem::path folderOf(const GpuOptions& o) {
    return o.leases.empty() ? isolate::LeaseBook::defaultFolder() : std::filesystem::path(o.leases);
}

isolate::LeaseBook openBook(const GpuOptions& o, gpu::Gpu& gpu) {
    return {folderOf(o), isolate::identityOf(gpu)};
}

/// Without a context on a real GPU, which others may keep from being made.
isolate::LeaseBook openBook(const GpuOptions& o) {
    if (!gpu::capabilitiesOf(o.gpu).sharedByProcesses) openGpu(o);  // refuses what is none
    return {folderOf(o), isolate::identityOf(o.gpu)};
}

/// Throws Error that lists them.
isolate::Partition& findPartition(std::vector<isolate::Partition>& partitions, const std::string& name) {
    std::vector<std::string> names;
    for (isolate::Partition& partition : partitions) {
        if (partition.name == name) return partition;
        names.push_back(partition.name);
    }
    throw Error("no partition {}{}: there are {}", name, didYouMean(name, names), fmt::join(names, ", "));
}

void setVariable(const char* name, const std::string& value) {
    if (::setenv(name, value.c_str(), 1) != 0) throw Error("the environment is full");
}

/// The ones that are asked for, with those that were named strict.
std::vector<isolate::Partition> partitionsOf(const PlanOptions& o) {
    std::vector<isolate::Partition> partitions = isolate::partitionsFrom(o.partitions);
    isolate::validate(partitions, "partitions");
    for (const std::string& name : o.strict) findPartition(partitions, name).strict = true;
    return partitions;
}

int plan(const PlanOptions& o) {
    expectOutputs({o.json, o.html});
    const std::vector<isolate::Partition> partitions = partitionsOf(o);
    gpu::Gpu gpu = openGpu(o.gpu);
    const isolate::Plan plan = isolate::planFor(gpu, partitions, o.gpu.map);
    if (!o.html.empty()) {
        Result picture = isolate::pictureOf(plan);
        picture.provenance = {commandLine(), o.gpu.gpu, std::nullopt, version(), currentDate()};
        writeOutput(o.html, report::html(picture.title, std::span(&picture, 1)));
    }
    if (o.json.empty() && o.html != "-") writeOutput("-", isolate::draw(plan));
    if (o.json.empty()) return kDone;
    nlohmann::ordered_json json = schemas::kPlan.begin();
    json["gpu"] = o.gpu.gpu;
    json["partitions"] = nlohmann::ordered_json::array();
    for (const isolate::Share& share : plan.shares)
        json["partitions"].push_back({{"name", share.partition.name},
                                      {"sms", share.sms},
                                      {"colors", share.colors},
                                      {"of_colors", plan.topology.colors()},
                                      {"memory_bytes", share.memoryBytes},
                                      {"tenants", share.partition.tenants}});
    writeJson(o.json, json);
    return kDone;
}

/// Of the keeper that this command starts.
std::vector<std::string> keepCommand(const GpuOptions& o, const isolate::LeaseBook& book) {
    return {std::filesystem::canonical("/proc/self/exe"), "isolate", "keep", "--gpu", o.gpu, "--leases",
            std::filesystem::absolute(book.folder())};
}

/// The same for a simulated GPU.
std::vector<std::string> keepCommand(const isolate::SimulatedGpu& gpu, const GpuOptions& o,
                                     const isolate::LeaseBook& book) {
    std::vector<std::string> command = keepCommand(o, book);
    command.insert(command.end(), {"--sharing", std::string(isolate::nameOf(gpu.sharing))});
    for (const std::string& setting : gpu.settings) command.insert(command.end(), {"--set", setting});
    return command;
}

isolate::SimulatedGpu simulatedOf(const PlanOptions& o) {
    if (gpu::capabilitiesOf(o.gpu.gpu).sharedByProcesses)
        throw Error("isolate: --sharing is for simulated GPUs: MPS shares {}", o.gpu.gpu);
    return {o.gpu.gpu, o.gpu.settings, isolate::parseKeptSharing(o.sharing)};
}

/// Somebody who has the memory of all tenants, where they are processes of one GPU; null where they are not.
std::shared_ptr<isolate::KeptGpu> keeperFor(const GpuOptions& o, gpu::Gpu& gpu, const isolate::LeaseBook& book,
                                            const std::vector<isolate::Partition>& partitions, const std::string& map) {
    if (!isolate::needsKeeper(o.gpu)) return nullptr;
    return isolate::keepFor(partitions, gpu, book, map, keepCommand(o, book));
}

int setPartitions(const PlanOptions& o) {
    const bool again = o.partitions.empty();
    if (again && (!o.gpu.map.empty() || !o.strict.empty()))
        throw Error("isolate set: {} is for partitions that are set: add --partitions",
                    o.strict.empty() ? "--map" : "--strict");
    std::optional<isolate::SimulatedGpu> simulated;
    if (!o.sharing.empty()) simulated = simulatedOf(o);
    std::vector<isolate::Partition> partitions;
    if (!again) partitions = partitionsOf(o);
    gpu::Gpu gpu = openGpu(o.gpu);
    isolate::LeaseBook book = openBook(o.gpu, gpu);
    if (again) partitions = book.partitions();
    const std::string map = again ? book.map() : o.gpu.map;
    if (simulated) isolate::expectKeepable(gpu, partitions.size(), map);
    const auto kept = keeperFor(o.gpu, gpu, book, partitions, map);
    const isolate::Plan plan = isolate::planFor(gpu, partitions, map, kept);  // refuses what it cannot give
    if (!again) book.setPartitions(partitions, map);
    if (simulated) isolate::startKeeping(*simulated, book, keepCommand(*simulated, o.gpu, book));
    writeOutput("-", isolate::draw(plan));
    return kDone;
}

/// A folder that was named is there.
void expectFolder(const GpuOptions& o) {
    if (!o.leases.empty() && !std::filesystem::exists(o.leases))
        throw Error("{}: this folder of leases does not exist", o.leases);
}

int keep(const PlanOptions& o) {
    if (!o.sharing.empty()) {
        const isolate::SimulatedGpu simulated = simulatedOf(o);
        experiment::catchInterrupts();
        isolate::keepSimulated(simulated, openBook(o.gpu), experiment::isInterrupted);
        return kDone;
    }
    if (!gpu::capabilitiesOf(o.gpu.gpu).sharedByProcesses) {
        expectFolder(o.gpu);
        openBook(o.gpu).findFolder();  // refuses what is none
        throw Error("isolate: each process has {} to itself: there is nothing to keep without --sharing", o.gpu.gpu);
    }
    experiment::catchInterrupts();
    // No client of MPS: what others do there is no concern of a process that runs nothing.
    setVariable("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent");
    const driver::CUdevice device = gpu::realDevice(gpu::GpuName::parse(o.gpu.gpu).ordinal);
    isolate::Keeper keeper(gpu::realDriver(), device, openBook(o.gpu));
    keeper.run(experiment::isInterrupted);
    return kDone;
}

int clear(const PlanOptions& o) {
    expectFolder(o.gpu);
    const isolate::LeaseBook book = openBook(o.gpu);
    isolate::KeptGpu::end(book);
    isolate::endKeeping(book);
    return kDone;
}

Value processOf(pid_t id) {
    return id > 0 ? Value(std::int64_t{id}) : Value();
}

std::vector<Value> rowOf(const isolate::Holder& holder) {
    const isolate::Share& share = holder.share;
    const auto sms = static_cast<std::int64_t>(share.sms.size());
    const auto colors = static_cast<std::int64_t>(share.colors.size());
    const auto megabytes = static_cast<std::int64_t>(share.memoryBytes >> 20);
    return {share.partition.name,
            processOf(holder.process),
            std::int64_t{holder.user},
            holder.program,
            holder.since,
            sms,
            colors,
            megabytes,
            share.memoryWall ? Value() : Value("no memory wall")};
}

std::vector<Value> rowOf(const isolate::Stranger& stranger) {
    const Value user = stranger.user ? Value(std::int64_t{*stranger.user}) : Value();
    return {"?", processOf(stranger.process), user, {}, {}, {}, {}, {}, stranger.why};
}

/// Who has the memory; nothing where nobody keeps the GPU.
std::string keeperLine(const isolate::LeaseBook& book) {
    if (const std::optional<isolate::SimulatedKeeper> keeper = isolate::keeperOf(book))
        return fmt::format("kept by process {}: {} program{} {}, {} of {} MB free\n", keeper->process,
                           keeper->processes, keeper->processes == 1 ? "" : "s",
                           keeper->gpu.sharing == isolate::KeptSharing::mps ? "side by side" : "in turns",
                           keeper->freeBytes >> 20, keeper->bytes >> 20);
    const std::optional<isolate::KeptState> kept = isolate::KeptGpu::stateOf(book);
    if (!kept) return {};
    return fmt::format("kept by process {}: {} MB, of which {} MB are for programs without a memory wall{}\n",
                       kept->process, kept->allBytes >> 20, kept->releasedBytes >> 20,
                       kept->unknownBytes == 0 ? ""
                                               : fmt::format(", and {} MB are to be looked at by the next program",
                                                             kept->unknownBytes >> 20));
}

int list(const PlanOptions& o) {
    const isolate::LeaseBook book = openBook(o.gpu);
    const isolate::Occupancy occupancy = book.occupancy();
    // One that is gone may still have tenants.
    if (occupancy.strangers.empty()) expectFolder(o.gpu);
    Result r;
    r.title = "Programs in the partitions of " + o.gpu.gpu;
    r.columns = {{"partition", ""}, {"process", ""}, {"user", ""},     {"program", ""}, {"since", ""},
                 {"SMs", ""},       {"colors", ""},  {"memory", "MB"}, {"note", ""}};
    for (const isolate::Holder& holder : occupancy.holders) r.add(rowOf(holder));
    for (const isolate::Stranger& stranger : occupancy.strangers) r.add(rowOf(stranger));
    if (o.json.empty()) {
        writeOutput("-", report::text(r) + keeperLine(book));
    } else {
        writeJson(o.json, report::fileJson(r));
    }
    return kDone;
}

struct StopOptions {
    GpuOptions gpu;
    std::string partition;
};

int stop(const StopOptions& o) {
    for (const isolate::Holder& holder : isolate::stopHolders(openBook(o.gpu), o.partition))
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
    const gpu::Capabilities can = gpu::capabilitiesOf(o.gpu);
    const unsigned usual = can.deterministic ? 1 : 20;
    spec.common.samples = o.samples ? o.samples : usual;
    if (o.processes && !can.sharedByProcesses) throw Error("isolate: --processes is for real GPUs, not for {}", o.gpu);
    spec.common.processes = o.processes;
    spec.common.placement = o.placement;
    isolate::parsePlacement(o.placement);
    spec.methods.clear();
    for (const std::string& name : o.methods) spec.methods.emplace_back(name);
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
    const evaluation::Evaluation evaluation = evaluation::evaluate(spec, store, executorOf(o.batch));
    if (evaluation.runtimeTable().rows.empty() && !evaluation.failures().empty())
        throw Error("isolate: nothing could be measured: {}", evaluation.failures().front());
    std::vector<Result> results = {evaluation.variationTable(spec), evaluation.runtimeTable()};
    if (const Result overhead = evaluation.overheadTable(spec); !overhead.rows.empty()) results.push_back(overhead);
    if (spec.common.samples > 1) results.push_back(evaluation.spreadTable(spec));
    for (Result& result : results) {
        result.title += fmt::format(", size {}", o.size);
        fillProvenance(result, o.gpu, o.seed);
    }
    if (o.json.empty() && o.csv.empty() && o.html.empty()) showResults(results);
    if (!o.csv.empty()) writeOutput(o.csv, report::csv(results[1]));
    if (!o.json.empty()) writeResults(o.json, results);
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead isolate evaluate", results));
    for (const std::string& line : evaluation.failures()) fmt::print(stderr, "bulkhead: {}\n", line);
    return evaluation.failures().empty() ? kDone : kCheckFailed;
}

struct InsideOptions {
    GpuOptions gpu;
    std::string partition, walls = "both";
    std::vector<std::string> command;
};

/// Those that a program would stand beside without a memory wall of their own slow it down, whatever it has.
void warnOfNeighbours(const isolate::LeaseBook& book, const std::string& partition) {
    for (const isolate::Holder& holder : book.occupancy().holders)
        if (!holder.share.memoryWall && holder.share.partition.name != partition)
            fmt::print(
                stderr,
                "bulkhead: process {} ({}) in partition {} has no memory wall: it slows down what is beside it\n",
                holder.process, printable(holder.program), holder.share.partition.name);
}

/// What a program without a memory wall can have at most: the driver keeps to it, as a client of MPS.
std::string memoryLimit(const GpuOptions& o, const isolate::LeaseBook& book, const isolate::Partition& partition) {
    const std::optional<isolate::KeptState> kept = isolate::KeptGpu::stateOf(book);
    std::size_t all = kept ? kept->allBytes : 0;
    if (all == 0)
        gpu::check(gpu::realDriver(),
                   gpu::realDriver().cuDeviceTotalMem(&all, gpu::realDevice(gpu::GpuName::parse(o.gpu).ordinal)),
                   "cannot tell how much memory the GPU has");
    return fmt::format("0={}M", static_cast<std::uint64_t>(static_cast<double>(all) * partition.memory) >> 20);
}

/// Has the driver show this GPU alone, as its first.
void showOnly(const std::string& gpu) {
    const auto ordinal = static_cast<std::size_t>(gpu::GpuName::parse(gpu).ordinal);
    const std::vector<std::string> visible = splitWords(environment("CUDA_VISIBLE_DEVICES"), ',');
    setVariable("CUDA_VISIBLE_DEVICES", ordinal < visible.size() ? visible[ordinal] : std::to_string(ordinal));
}

/// The driver library in front of the program joins; here only what can be told before is.
int runInside(const InsideOptions& o) {
    if (o.walls != "both" && o.walls != "compute") throw Error("--walls {}: give both or compute", o.walls);
    const bool shared = gpu::capabilitiesOf(o.gpu.gpu).sharedByProcesses, placed = shared && o.walls == "compute";
    isolate::waitForServer(o.gpu.gpu, shared && isolate::LeaseBook::hasAbandoned(folderOf(o.gpu)));
    {
        const isolate::LeaseBook book = openBook(o.gpu);
        std::vector<isolate::Partition> partitions = book.partitions();
        const isolate::Partition& partition = findPartition(partitions, o.partition);
        warnOfNeighbours(book, o.partition);
        if (const auto wanted = isolate::gpuToKeep(book); wanted && !isolate::keeperOf(book))
            isolate::startKeeping(*wanted, book, keepCommand(*wanted, o.gpu, book));
        if (shared) {
            setVariable("BULKHEAD_LIBCUDA", gpu::realDriverFile());
            if (isolate::needsKeeper(o.gpu.gpu) && !isolate::KeptGpu::isReady(book)) {
                gpu::Gpu gpu = openGpu(o.gpu);
                keeperFor(o.gpu, gpu, book, partitions, book.map());
            }
            if (placed) setVariable("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", memoryLimit(o.gpu, book, partition));
        }
        setVariable("BULKHEAD_LEASES", std::filesystem::absolute(book.folder()).string());
    }
    if (placed) {
        showOnly(o.gpu.gpu);
    } else {
        setVariable("BULKHEAD_GPU", o.gpu.gpu);
    }
    setVariable("BULKHEAD_SET", fmt::format("{}", fmt::join(o.gpu.settings, " ")));
    setVariable("BULKHEAD_PARTITION", o.partition);
    setVariable("BULKHEAD_WALLS", o.walls);
    setVariable("BULKHEAD_EXEC", "");
    setVariable("BULKHEAD_SUMMARY", "0");
    if (placed) becomeProgramAsItIs(o.command, libraryFolder() + "/placed");
    // CuPy's reductions are machine code otherwise, and it does not look whether that could be run.
    if (shared && environment("CUPY_ACCELERATORS").empty()) setVariable("CUPY_ACCELERATORS", "");
    becomeProgram(o.command);
}

void addGpuOptions(CommandLine line, GpuOptions& o) {
    addGpuOption(line, o.gpu);
    addSettings(line, o.settings);
}

void addLeaseOptions(CommandLine line, GpuOptions& o) {
    line.option("--leases", o.leases, "keep partitions and leases in FOLDER [BULKHEAD_LEASES, or the user's own]")
        .typeName("FOLDER");
}

void addOutputs(CommandLine line, EvaluateOptions& o) {
    addJsonOption(line, o.json);
    addCsvOption(line, o.csv, "a row per runtime as CSV");
    addHtmlOption(line, o.html);
    addWideOption(line);
}

using Chosen = std::shared_ptr<Action>;

void setUpPlan(CommandLine line, const char* name, const char* brief, int (*act)(const PlanOptions&), bool partitions,
               bool leases, const Chosen& chosen) {
    CommandLine sub = line.verb(name, brief);
    const auto o = std::make_shared<PlanOptions>();
    addGpuOptions(sub, o->gpu);
    if (leases) addLeaseOptions(sub, o->gpu);
    if (partitions) {
        addMapOption(sub, o->gpu.map);
        constexpr const char* kWhat = "N of equal size; shares of SMs[/memory], as in A=50%,B=25%/50%; or a JSON file";
        const bool again = act == setPartitions;
        auto option =
            sub.option("--partitions", o->partitions, kWhat + std::string(again ? " [those that are set]" : ""));
        option.typeName("PARTITIONS");
        if (!again) option.required();
        sub.option("--strict", o->strict, "partitions that nobody may be in, or beside, without a memory wall")
            .typeName("NAME")
            .delimiter(',');
    }
    if (act == setPartitions || act == keep)
        sub.option("--sharing", o->sharing,
                   "one simulated GPU for all programs: mps (side by side) or time-slices [each has its own]")
            .typeName("HOW");
    if (act == plan || act == list) addJsonOption(sub, o->json);
    if (act == plan) addHtmlOption(sub, o->html, "a page with the GPU and who would have what");
    sub.chosen([=] { *chosen = [=] { return act(*o); }; });
}

void setUpInside(CommandLine line, const Chosen& chosen) {
    CommandLine sub = line.verb("run", "run a CUDA program in a partition");
    const auto o = std::make_shared<InsideOptions>();
    addGpuOptions(sub, o->gpu);
    addLeaseOptions(sub, o->gpu);
    sub.option("--partition", o->partition, "partition, by name").typeName("NAME").required();
    sub.option("--walls", o->walls, "both, or compute: any program, kept to its SMs and amount of memory alone")
        .typeName("HOW")
        .showDefault();
    sub.option("COMMAND", o->command, "CUDA program and its arguments, after --").required();
    sub.chosen([=] { *chosen = [=] { return runInside(*o); }; });
}

void setUpStop(CommandLine line, const Chosen& chosen) {
    CommandLine sub = line.verb("stop", "stop the programs in a partition; others are not affected");
    const auto o = std::make_shared<StopOptions>();
    addGpuOptions(sub, o->gpu);
    addLeaseOptions(sub, o->gpu);
    sub.option("--partition", o->partition, "partition, by name").typeName("NAME").required();
    sub.chosen([=] { *chosen = [=] { return stop(*o); }; });
}

void setUpEvaluate(CommandLine line, const Chosen& chosen) {
    CommandLine sub = line.verb("evaluate", "measure how much neighbours slow down an application");
    const auto o = std::make_shared<EvaluateOptions>();
    addGpuOption(sub, o->gpu);
    addMapOption(sub, o->map);
    addSettings(sub, o->settings);
    addThreadsOption(sub);
    sub.option("--methods", o->methods, "ways of sharing (the paper's names): " + corun::sharingNames())
        .typeName("METHOD")
        .delimiter(',')
        .showDefault();
    sub.option("--placement", o->placement,
               "how blocks are confined: blocks (extra blocks exit early), driver, or usual")
        .typeName("HOW")
        .showDefault();
    sub.option("--partitions", o->partitions, "numbers of equal partitions").delimiter(',').showDefault();
    sub.option("--applications", o->applications,
               fmt::format("timed in partition 1: workloads, {}", fmt::join(corun::ownApplications(), ", ")))
        .typeName("NAME")
        .delimiter(',')
        .showDefault();
    sub.option("--neighbours", o->neighbours, "run in the other partitions, one after another")
        .typeName("NAME")
        .delimiter(',')
        .showDefault();
    addSizeOption(sub, o->size).description("size of the workloads' input: test, default, paper or large");
    sub.option("--samples", o->samples, "samples per runtime [20 on a real GPU, 1 on a simulated one]")
        .check(positive());
    sub.flag("--processes", o->processes, "run each partition in its own process, under MPS (real GPU)");
    addSeedOption(sub, o->seed);
    addOutputs(sub, *o);
    addBatchOptions(sub, o->batch);
    addClusterOptions(sub, o->batch);
    sub.chosen([=] { *chosen = [=] { return evaluate(*o); }; });
}

}  // namespace

Action setUpIsolate(CommandLine line) {
    const auto chosen = std::make_shared<Action>();
    line.requireVerb();
    setUpPlan(line, "plan", "show how a GPU would be divided into partitions", plan, true, false, chosen);
    setUpPlan(line, "set", "set the partitions that programs can join", setPartitions, true, true, chosen);
    setUpPlan(line, "clear", "give the GPU's memory back, once all programs have left", clear, false, true, chosen);
    setUpPlan(line, "keep", "keep the GPU's memory for those who join (started by set)", keep, false, true, chosen);
    setUpPlan(line, "list", "list the programs in each partition", list, false, true, chosen);
    setUpInside(line, chosen);
    setUpStop(line, chosen);
    setUpEvaluate(line, chosen);
    setUpCost(line, chosen);
    setUpBenchmark(line, chosen);
    return [chosen] { return (*chosen)(); };
}

}  // namespace bulkhead::cli
