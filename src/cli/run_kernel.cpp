#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/files.h"
#include "base/result.h"
#include "base/schema.h"
#include "cli/counters_json.h"
#include "cli/kernel_arguments.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "gpu/sampled.h"
#include "metrics/metric_table.h"
#include "metrics/output.h"
#include "ptx/module.h"
#include "report/report.h"
#include "sim/machine.h"
#include "sim/timeline.h"

namespace bulkhead::cli {
namespace {

/// Buffers go to device memory; pointers and scalars go where the kernel's parameters are.
std::vector<std::uint8_t> placeArguments(const sim::Code& code, const std::vector<KernelArgument>& arguments,
                                         std::size_t ofTriton, sim::ContextMemory& memory,
                                         std::vector<sim::VirtualAddress>& addresses) {
    if (arguments.size() != code.params.size())
        throw Error("{} takes {} arguments{}, {} given", code.name, code.params.size(),
                    ofTriton ? fmt::format(", {} of which are Triton's own", ofTriton) : "",
                    arguments.size() - ofTriton);
    std::vector<std::uint8_t> params(code.kernelParamBytes);
    addresses.assign(arguments.size(), 0);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const KernelArgument& argument = arguments[i];
        const sim::Code::Param& param = code.params[i];
        if (argument.isBuffer) {
            if (param.bytes != 8)
                throw Error("--arg {}: parameter {} of {} is .{}, not a pointer", argument.text, i, code.name,
                            ptx::nameOf(param.type));
            addresses[i] = memory.allocate(argument.bytes.size());
            std::memcpy(memory.host(addresses[i], argument.bytes.size()), argument.bytes.data(), argument.bytes.size());
            std::memcpy(params.data() + param.offset, &addresses[i], 8);
        } else {
            if (param.bytes != argument.bytes.size())
                throw Error("--arg {}: parameter {} of {} is .{}, {} bytes, not {}", argument.text, i, code.name,
                            ptx::nameOf(param.type), param.bytes, argument.bytes.size());
            std::memcpy(params.data() + param.offset, argument.bytes.data(), argument.bytes.size());
        }
    }
    return params;
}

gpu::Sampled sampledOf(const sim::LaunchRecord& record) {
    return {1, record.sample->timedBlocks != 0, record.grid.count(), record.sample->timedBlocks,
            record.sample->halfWidth};
}

nlohmann::ordered_json toJson(const RunOptions& options, const sim::Machine& machine, sim::ContextId context,
                              const sim::LaunchRecord& record, double wall) {
    using json = nlohmann::ordered_json;
    const sim::Counters& c = machine.counters(record.id);
    const Cycles cycles = record.ended - record.started;
    const auto dims = [](const sim::Dim3& d) { return json{d.x, d.y, d.z}; };
    json warps = json::array();
    for (std::uint32_t slot = 0; slot < static_cast<std::uint32_t>(machine.profile().maxWarps()); ++slot) {
        sim::WarpCounters sum;
        for (std::uint32_t sm = 0; sm < static_cast<std::uint32_t>(machine.profile().sm.count); ++sm)
            sum += machine.sm(context, sm).warpCounters(slot);
        if (sum.instructions)
            warps.push_back({{"slot", slot},
                             {"instructions", sum.instructions},
                             {"l1_hits", sum.l1Hits},
                             {"l1_misses", sum.l1Misses}});
    }
    json out = schemas::kRun.begin();
    out.update({
        {"gpu", "sim:" + machine.profile().name},
        {"scheduler", options.scheduler},
        {"kernel", record.kernel},
        {"grid", dims(record.grid)},
        {"block", dims(record.block)},
        {"registers_per_thread", record.occupancy.needs.registers / (record.occupancy.needs.warps * sim::kLanes)},
        {"blocks_per_sm", record.occupancy.blocksPerSm},
        {"occupancy_limit", record.occupancy.limit},
    });
    if (options.sample) out["sample"] = sampledOf(record).json();
    out.update(countersJson(c, cycles, machine.seconds(cycles)));
    out.update({
        {"warps", warps},
        {"wall_seconds", wall},
        {"warp_instructions_per_second", static_cast<double>(c.warpInstructions) / wall},
        {"command", commandLine()},
        {"version", version()},
    });
    return out;
}

metrics::LaunchRow rowOf(const sim::Machine& machine, const sim::LaunchRecord& record) {
    const auto shape = [](const sim::Dim3& d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); };
    metrics::LaunchRow row = metrics::rowOf({record.kernel, shape(record.grid), shape(record.block),
                                             record.ended - record.started, machine.counters(record.id)},
                                            machine.profile());
    row.process = "bulkhead";
    return row;
}

std::string toText(const nlohmann::ordered_json& json, const std::optional<gpu::Sampled>& sampled) {
    Result r;
    r.title = fmt::format("{} on {}, {} scheduler", json["kernel"].get<std::string>(), json["gpu"].get<std::string>(),
                          json["scheduler"].get<std::string>());
    r.columns = {{"quantity", ""}, {"value", ""}, {"unit", ""}};
    const auto add = [&](const char* what, const nlohmann::ordered_json& value, const char* unit) {
        if (value.is_number_float()) {
            r.add({std::string(what), value.get<double>(), std::string(unit)});
        } else {
            r.add({std::string(what), value.get<std::int64_t>(), std::string(unit)});
        }
    };
    if (sampled)
        r.add({std::string("simulated time"), sampled->cycles(json["cycles"].get<Cycles>()),
               std::string("cycles (95 %)")});
    else
        add("simulated time", json["cycles"], "cycles");
    add("", json["microseconds"], "us");
    add("warp instructions", json["warp_instructions"], "");
    add("thread instructions", json["thread_instructions"], "");
    add("IPC", json["ipc"], "thread instructions/cycle");
    add("blocks per SM", json["blocks_per_sm"], "");
    add("L1D hit rate", json["l1"]["hit_rate"], "");
    add("L2 hit rate", json["l2"]["hit_rate"], "");
    add("DRAM traffic", json["dram"]["bytes"], "bytes");
    add("", json["dram"]["gb_per_s"], "GB/s");
    add("DRAM row hits", json["dram"]["row_hits"], "");
    add("DRAM row misses", json["dram"]["row_misses"], "");
    add("simulation speed", json["warp_instructions_per_second"], "warp instructions/s");
    return report::text(r) + (sampled ? fmt::format("sampled: {}\n", sampled->summary()) : "");
}

/// What a run needs from outside, read and checked before anything is simulated.
struct KernelRun {
    arch::DeviceProfile profile;
    Extent grid, block;
    std::vector<KernelArgument> arguments;
    std::vector<KernelDump> dumps;
    ptx::Module module;
    metrics::Output counters;
};

KernelRun readRun(const RunOptions& options) {
    KernelRun run;
    run.profile = arch::findProfile(options.gpu);
    arch::applySettings(run.profile, options.settings);
    run.grid = parseExtent(options.grid, "--grid");
    run.block = parseExtent(options.block, "--block");
    run.arguments = argumentsOf(options, run.grid, static_cast<Bytes>(run.profile.dram.bytes));
    run.dumps = parseDumps(options, run.arguments);
    if (!options.timeline.empty()) expectWritable(options.timeline);
    run.counters = metrics::parseOutput(options.metrics, "--metrics");
    expectOutputs({options.json, run.counters.file});
    run.module = ptx::parse(readFile(options.what), options.what);
    return run;
}

sim::LaunchSpec launchSpec(const RunOptions& options, const KernelRun& run, const sim::LoadedModule& loaded) {
    sim::LaunchSpec spec;
    spec.program = loaded.program;
    spec.code =
        loaded.program->kernel(chooseKernel(loaded.program->name, loaded.program->kernelNames(), options.kernel));
    spec.grid = {run.grid.x, run.grid.y, run.grid.z};
    spec.block = {run.block.x, run.block.y, run.block.z};
    spec.dynamicShared = options.shared;
    spec.maxCycles = options.maxCycles;
    spec.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    return spec;
}

void writeDumps(const KernelRun& run, const std::vector<sim::VirtualAddress>& addresses, sim::ContextMemory& memory) {
    for (const KernelDump& dump : run.dumps) {
        const std::size_t bytes = run.arguments[dump.argument].bytes.size();
        const auto* at = reinterpret_cast<const char*>(memory.host(addresses[dump.argument], bytes));
        writeFile(dump.file, {at, bytes});
    }
}

}  // namespace

int runKernel(const RunOptions& options) {
    const KernelRun run = readRun(options);
    std::optional<sim::Timeline> timeline;
    if (!options.timeline.empty()) timeline.emplace(1.0 / static_cast<double>(run.profile.clock.coreMHz), 1000);
    ProgressLine progress;
    sim::LaunchId launch = 0;
    sim::Machine::Options machineOptions;
    machineOptions.scheduler = options.scheduler;
    machineOptions.sample = options.sample;
    machineOptions.observer = timeline ? &*timeline : nullptr;
    machineOptions.heartbeat = [&](const sim::Machine& m) {
        progress.update(m.now(), m.counters(launch).warpInstructions, m.fractionDone(launch));
    };
    sim::Machine machine(run.profile, machineOptions);
    const sim::ContextId context = machine.createContext();
    sim::LaunchSpec spec = launchSpec(options, run, machine.load(context, run.module));
    std::vector<sim::VirtualAddress> addresses;
    spec.params =
        placeArguments(*spec.code, run.arguments, options.triton.scratch.size(), machine.memory(context), addresses);
    const sim::StreamId stream = machine.createStream(context);

    const auto begin = std::chrono::steady_clock::now();
    launch = machine.launch(stream, std::move(spec));
    const sim::LaunchRecord& record = machine.record(launch);
    if (timeline) timeline->nameLaunch(launch, record.kernel);
    machine.finishLaunch(launch);
    progress.clear();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (record.error) throw *record.error;

    metrics::write(run.counters, {rowOf(machine, record)});
    const nlohmann::ordered_json json = toJson(options, machine, context, record, wall);
    writeDumps(run, addresses, machine.memory(context));
    if (timeline) writeFile(options.timeline, timeline->json());
    if (options.json.empty() && run.counters.takesStandardOutput()) return kDone;
    if (options.json.empty()) {
        writeOutput("-", toText(json, options.sample ? std::optional(sampledOf(record)) : std::nullopt));
    } else {
        writeJson(options.json, json);
    }
    return kDone;
}

}  // namespace bulkhead::cli
