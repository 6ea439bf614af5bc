#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "arch/device_profile.h"
#include "base/files.h"
#include "base/result.h"
#include "base/schema.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/counters_json.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "corun/corun.h"
#include "gpu/launch_timer.h"
#include "metrics/executed.h"
#include "metrics/output.h"
#include "metrics/simulated_launch.h"
#include "metrics/watching.h"
#include "report/report.h"
#include "workloads/measure.h"

namespace bulkhead::cli {
namespace {

Result kernelTable(const std::string& title, const workloads::Measurement& m, bool sampled) {
    Result r;
    r.title = title;
    r.columns = {{"kernel", ""},
                 {"launches", ""},
                 {"cycles", sampled ? "95 %" : ""},
                 {"warp instructions", ""},
                 {"IPC", ""},
                 {"L1D hit rate", ""},
                 {"L2 hit rate", ""},
                 {"DRAM", "MB"}};
    if (sampled) r.columns.insert(r.columns.begin() + 2, {{"timed", ""}, {"timed blocks", ""}});
    const auto add = [&](const std::string& name, const gpu::Sampled& s, Cycles cycles, const sim::Counters& c) {
        const double ipc = cycles ? static_cast<double>(c.threadInstructions) / static_cast<double>(cycles) : 0.0;
        std::vector<Value> row = {name, static_cast<std::int64_t>(s.launches)};
        if (sampled) {
            row.emplace_back(static_cast<std::int64_t>(s.timedLaunches));
            row.emplace_back(fmt::format("{} of {}", s.timedBlocks, s.blocks));
            row.emplace_back(s.cycles(cycles));
        } else {
            row.emplace_back(static_cast<std::int64_t>(cycles));
        }
        for (const Value& value : std::initializer_list<Value>{
                 static_cast<std::int64_t>(c.warpInstructions), ipc, sim::ratio(c.l1Hits, c.l1Misses),
                 sim::ratio(c.l2Hits, c.l2Misses), static_cast<double>(c.bytesDram) / 1e6})
            row.push_back(value);
        r.add(std::move(row));
    };
    for (const workloads::KernelMeasurement& k : m.kernels) add(k.kernel, k.sampled, k.cycles, k.counters);
    add("all", m.sampled, m.cycles, m.counters);
    return r;
}

Result executedTable(const std::string& title, const workloads::Measurement& m) {
    Result r = metrics::executedTable(title);
    for (const workloads::KernelMeasurement& k : m.kernels) metrics::addExecuted(r, k.kernel, k.sampled, k.counters);
    metrics::addExecuted(r, "all", m.sampled, m.counters);
    return r;
}

void addExecuted(nlohmann::ordered_json& json, const workloads::Measurement& m) {
    json["functional"] = true;
    json["total"] = metrics::executedJson(m.sampled, m.counters);
    for (const workloads::KernelMeasurement& k : m.kernels) {
        json["kernels"].push_back({{"kernel", k.kernel}, {"launches", k.launches}});
        json["kernels"].back().update(metrics::executedJson(k.sampled, k.counters));
    }
}

std::vector<metrics::LaunchRow> countedRows(const workloads::Measurement& m, const gpu::Gpu& gpu) {
    std::vector<metrics::LaunchRow> rows;
    for (const gpu::Launch& launch : m.launches) rows.push_back(metrics::rowOf(launch, *gpu.profile()));
    return rows;
}

/// "best-swl" alone means the number of warps that suits the workload, found by profiling.
std::string withWarpLimit(const RunOptions& options, workloads::Size size) {
    if (!gpu::capabilitiesOf(options.gpu).settable) return options.scheduler;
    compare::RunSpec spec;
    spec.workload = options.what;
    spec.size = size;
    spec.seed = options.seed;
    spec.gpu = options.gpu;
    spec.settings = options.settings;
    spec.scheduler = options.scheduler;
    compare::expectScheduler(spec.scheduler);
    if (!compare::lacksWarpLimit(spec.scheduler)) return spec.scheduler;
    compare::RunBatch batch = openBatch({});
    return compare::withWarpLimits(batch, {spec}).front().scheduler;
}

}  // namespace

int runWorkload(const RunOptions& given) {
    const workloads::Workload& workload = workloads::find(given.what);
    const workloads::Size size = workloads::parseSize(given.size);
    RunOptions options = given;
    options.scheduler = withWarpLimit(given, size);
    noteIneffective(options.gpu, options.settings, options.scheduler);
    const metrics::Output counters = metrics::parseOutput(options.metrics, "--metrics");
    expectOutputs({options.json, counters.place(), options.timeline, options.observe});
    gpu::SimulationOptions simulation;
    simulation.scheduler = options.scheduler;
    simulation.settings = options.settings;
    simulation.timing = options.timing.timing();
    std::optional<metrics::Watching> watching;
    if (!options.timeline.empty() || !options.observe.empty()) {
        arch::DeviceProfile profile = arch::findProfile(options.gpu);
        arch::applySettings(profile, options.settings);
        watching.emplace(profile, !options.timeline.empty(), !options.observe.empty());
        simulation.observer = &watching->observer();
    }
    if (counters.wanted) corun::loadModulesEagerly();  // so that the first launch is not timed with what it loads
    gpu::Gpu gpu = gpu::Gpu::open(options.gpu, simulation);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = workload.create(gpu.context(), size, options.seed);

    const auto begin = std::chrono::steady_clock::now();
    std::optional<gpu::LaunchTimer> timer;
    if (counters.wanted && !gpu.capabilities().launchCounters) timer.emplace(gpu.context());
    const workloads::Measurement m = workloads::measure(gpu, stream, *instance);
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    instance->check();
    const bool sampled = options.timing.sample, executed = options.timing.functional;
    const std::string title = fmt::format("{}, size {}, on {}, {}", workload.name, options.size, options.gpu,
                                          executed ? "executed without time" : options.scheduler + " scheduler");
    if (watching) {
        for (const gpu::Launch& launch : m.launches) watching->nameLaunch(launch.id, launch.kernel);
        writeWatched(options, *watching, title);
    }

    const bool counted = gpu.capabilities().launchCounters;
    if (counters.wanted) metrics::write(counters, timer ? metrics::timedRows(*timer, gpu.info()) : countedRows(m, gpu));
    if (options.json.empty() && counters.takesStandardOutput()) return kDone;
    const std::string answer =
        executed ? fmt::format("{} has a result equal to the CPU's, after {} warp instructions on {}.", workload.name,
                               m.counters.warpInstructions, gpu.info().name)
                 : fmt::format("{} takes {:.3f} us on {}, with a result equal to the CPU's.", workload.name,
                               m.seconds * 1e6, gpu.info().name);
    if (options.json.empty()) {
        std::string out;
        if (executed)
            out = tableText(executedTable(title, m)) + fmt::format("executed in {:.2f} s\n", wall);
        else if (counted)
            out = tableText(kernelTable(title, m, sampled)) +
                  fmt::format("APKI {:.3g}, shared memory used {:.0f} %, simulated in {:.2f} s\n", m.apki(),
                              100 * m.sharedMemoryShare(), wall);
        if (sampled) out += fmt::format("sampled: {}\n", m.sampled.summary());
        out += "Answer: " + answer + "\n";
        writeOutput("-", out);
        return kDone;
    }
    nlohmann::ordered_json json = schemas::kRun.begin();
    json.update({{"workload", workload.name},
                 {"size", options.size},
                 {"seed", options.seed},
                 {"gpu", options.gpu},
                 {"device", gpu.info().name},
                 {"footprint_bytes", instance->footprint()}});
    if (!executed) json["seconds"] = m.seconds;
    json["correct"] = true;
    if (executed) {
        addExecuted(json, m);
    } else if (counted) {
        json["scheduler"] = options.scheduler;
        json["apki"] = m.apki();
        json["shared_memory_share"] = m.sharedMemoryShare();
        if (sampled) json["sample"] = m.sampled.json();
        json["total"] = countersJson(m.counters, m.cycles, gpu.info().seconds(m.cycles));
        for (const workloads::KernelMeasurement& k : m.kernels) {
            nlohmann::ordered_json kernel = {{"kernel", k.kernel}, {"launches", k.launches}};
            if (sampled) kernel["sample"] = k.sampled.json();
            kernel.update(countersJson(k.counters, k.cycles, gpu.info().seconds(k.cycles)));
            json["kernels"].push_back(kernel);
        }
    }
    if (counted) json["wall_seconds"] = wall;
    json["answer"] = answer;
    json["command"] = commandLine();
    json["version"] = version();
    json["date"] = currentDate();
    writeJson(options.json, json);
    return kDone;
}

}  // namespace bulkhead::cli
