#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/result.h"
#include "cli/batch_options.h"
#include "cli/counters_json.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "report/report.h"
#include "sim/gpu.h"
#include "workloads/measure.h"

namespace bulkhead::cli {
namespace {

Result kernelTable(const std::string& title, const workloads::Measurement& m) {
    Result r;
    r.title = title;
    r.columns = {{"kernel", ""}, {"launches", ""},     {"cycles", ""},      {"warp instructions", ""},
                 {"IPC", ""},    {"L1D hit rate", ""}, {"L2 hit rate", ""}, {"DRAM", "MB"}};
    const auto add = [&](const std::string& name, std::uint64_t launches, Cycles cycles, const sim::Counters& c) {
        const double ipc = cycles ? static_cast<double>(c.threadInstructions) / static_cast<double>(cycles) : 0.0;
        r.add({name, static_cast<std::int64_t>(launches), static_cast<std::int64_t>(cycles),
               static_cast<std::int64_t>(c.warpInstructions), ipc, sim::ratio(c.l1Hits, c.l1Misses),
               sim::ratio(c.l2Hits, c.l2Misses), static_cast<double>(c.bytesDram) / 1e6});
    };
    std::uint64_t launches = 0;
    for (const workloads::KernelFigures& k : m.kernels) {
        add(k.kernel, k.launches, k.cycles, k.counters);
        launches += k.launches;
    }
    add("all", launches, m.cycles, m.counters);
    return r;
}

/// "best-swl" alone means the number of warps that suits the workload, found by profiling.
std::string withWarpLimit(const RunOptions& options, workloads::Size size) {
    if (options.gpu.starts_with("cuda:")) return options.scheduler;
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
    expectOutputs({options.json});
    gpu::SimulationOptions simulation;
    simulation.scheduler = options.scheduler;
    simulation.settings = options.settings;
    gpu::Gpu gpu = gpu::Gpu::open(options.gpu, simulation);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = workload.create(gpu.context(), size, options.seed);

    const auto begin = std::chrono::steady_clock::now();
    const workloads::Measurement m = workloads::measure(gpu, stream, *instance);
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    instance->check();

    const bool simulated = gpu.simulator() != nullptr;
    if (options.json.empty()) {
        std::string out;
        if (simulated)
            out = report::text(kernelTable(fmt::format("{}, size {}, on {}, {} scheduler", workload.name, options.size,
                                                       options.gpu, options.scheduler),
                                           m)) +
                  fmt::format("APKI {:.3g}, shared memory used {:.0f} %, simulated in {:.2f} s\n", m.apki(),
                              100 * m.sharedMemoryShare(), wall);
        out += fmt::format("{} on {}: {:.3f} us, the result equals the CPU's\n", workload.name, gpu.info().name,
                           m.seconds * 1e6);
        writeOutput("-", out);
        return kDone;
    }
    nlohmann::ordered_json json = {{"workload", workload.name}, {"size", options.size},
                                   {"seed", options.seed},      {"gpu", options.gpu},
                                   {"device", gpu.info().name}, {"footprint_bytes", instance->footprint()},
                                   {"seconds", m.seconds},      {"correct", true}};
    if (simulated) {
        json["scheduler"] = options.scheduler;
        json["apki"] = m.apki();
        json["shared_memory_share"] = m.sharedMemoryShare();
        json["total"] = countersJson(m.counters, m.cycles, gpu.simulator()->seconds(m.cycles));
        for (const workloads::KernelFigures& k : m.kernels) {
            nlohmann::ordered_json kernel = {{"kernel", k.kernel}, {"launches", k.launches}};
            kernel.update(countersJson(k.counters, k.cycles, gpu.simulator()->seconds(k.cycles)));
            json["kernels"].push_back(kernel);
        }
        json["wall_seconds"] = wall;
    }
    json["command"] = commandLine();
    json["version"] = version();
    json["date"] = currentDate();
    writeJson(options.json, json);
    return kDone;
}

}  // namespace bulkhead::cli
