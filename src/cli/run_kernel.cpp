#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/files.h"
#include "base/phrases.h"
#include "base/result.h"
#include "base/schema.h"
#include "cli/common_options.h"
#include "cli/counters_json.h"
#include "cli/kernel_arguments.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "gpu/sampled.h"
#include "metrics/executed.h"
#include "metrics/metric_table.h"
#include "metrics/output.h"
#include "metrics/watching.h"
#include "ptx/module.h"
#include "report/report.h"
#include "sim/machine.h"

namespace bulkhead::cli {
namespace {

/// Buffers go to device memory; pointers and scalars go where the kernel's parameters are.
class Arguments {
  public:
    Arguments(const sim::Code& code, const TritonKernel& triton, sim::ContextMemory& memory)
        : code_(code), triton_(triton), memory_(memory), params_(code.kernelParamBytes) {}

    /// Where the buffers are; 0 for what is none.
    std::vector<sim::VirtualAddress> place(const std::vector<KernelArgument>& arguments) {
        const std::size_t ofTriton = triton_.scratch.size();
        std::vector<sim::VirtualAddress> addresses;
        std::vector<std::pair<const KernelArgument*, std::vector<std::uint8_t>>> values;
        for (const KernelArgument& argument : arguments) {
            addresses.push_back(argument.isBuffer ? buffer(argument) : 0);
            for (std::vector<std::uint8_t>& value : valuesOf(argument, addresses.back()))
                values.emplace_back(&argument, std::move(value));
        }
        if (values.size() != code_.params.size())
            throw Error("{} takes {} arguments{}, {} given", code_.name, code_.params.size(),
                        ofTriton ? fmt::format(", {} of which are Triton's own", ofTriton) : "",
                        values.size() - ofTriton);
        for (std::size_t i = 0; i < values.size(); ++i) put(i, *values[i].first, values[i].second);
        return addresses;
    }
    std::vector<std::uint8_t> take() { return std::move(params_); }

  private:
    sim::VirtualAddress buffer(const KernelArgument& argument) {
        const sim::VirtualAddress at = memory_.allocate(argument.bytes.size());
        std::memcpy(memory_.host(at, argument.bytes.size()), argument.bytes.data(), argument.bytes.size());
        return at;
    }
    std::vector<std::vector<std::uint8_t>> valuesOf(const KernelArgument& argument, sim::VirtualAddress at) {
        if (!argument.isBuffer) return {argument.bytes};
        if (!argument.shape.empty() && !triton_.file.empty())
            return tensorParameters(triton_, argument, tensors_++, at);
        std::vector<std::uint8_t> pointer(sizeof at);
        std::memcpy(pointer.data(), &at, sizeof at);
        return {pointer};
    }
    void put(std::size_t index, const KernelArgument& argument, const std::vector<std::uint8_t>& value) {
        const sim::Code::Param& param = code_.params[index];
        if (param.bytes != value.size())
            throw Error("--arg {}: parameter {} of {} is .{}, {}", argument.text, index, code_.name,
                        ptx::nameOf(param.type),
                        argument.isBuffer && argument.shape.empty()
                            ? std::string("not a pointer")
                            : fmt::format("{} bytes, not {}", param.bytes, value.size()));
        std::memcpy(params_.data() + param.offset, value.data(), value.size());
    }

    const sim::Code& code_;
    const TritonKernel& triton_;
    sim::ContextMemory& memory_;
    std::vector<std::uint8_t> params_;
    std::size_t tensors_ = 0;  ///< so far
};

gpu::Sampled sampledOf(const sim::LaunchRecord& record) {
    return {1, record.sample->timedBlocks != 0, record.grid.count(), record.sample->timedBlocks,
            record.sample->halfWidth};
}

/// Whether it was not timed, nor estimated.
bool isExecutedOnly(const sim::Machine& machine, const sim::LaunchRecord& record) {
    return machine.timing() == sim::Timing::functional && record.sample;
}

/// What the warps in each slot did, on all SMs together.
nlohmann::ordered_json warpsJson(const sim::Machine& machine, sim::ContextId context) {
    auto warps = nlohmann::ordered_json::array();
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
    return warps;
}

nlohmann::ordered_json toJson(const RunOptions& options, const sim::Machine& machine, sim::ContextId context,
                              const sim::LaunchRecord& record, double wall) {
    using json = nlohmann::ordered_json;
    const sim::Counters& c = machine.counters(record.id);
    const Cycles cycles = record.ended - record.started;
    const auto dims = [](const sim::Dim3& d) { return json{d.x, d.y, d.z}; };
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
    if (options.timing.sample) out["sample"] = sampledOf(record).json();
    if (isExecutedOnly(machine, record)) {
        out["functional"] = true;
        out.update(metrics::executedJson({.launches = 1}, c));
    } else {
        out.update(countersJson(c, cycles, machine.seconds(cycles)));
        out["warps"] = warpsJson(machine, context);
    }
    out.update({
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

std::string answerOf(const nlohmann::ordered_json& json) {
    if (json.contains("functional"))
        return fmt::format("{} ends, after {} warp instructions; how long it takes was not asked.",
                           json["kernel"].get<std::string>(), json["warp_instructions"].get<std::uint64_t>());
    return fmt::format("{} takes {} on {}, at {} instructions per cycle; {} % of its accesses to the L2 hit.",
                       json["kernel"].get<std::string>(), duration(json["microseconds"].get<double>() * 1e-6),
                       json["gpu"].get<std::string>(), brief(json["ipc"].get<double>()),
                       brief(100 * json["l2"]["hit_rate"].get<double>()));
}

std::string toText(const nlohmann::ordered_json& json, const std::optional<gpu::Sampled>& sampled) {
    Result r;
    const bool timed = !json.contains("functional");
    r.title = fmt::format("{} on {}, {}", json["kernel"].get<std::string>(), json["gpu"].get<std::string>(),
                          timed ? json["scheduler"].get<std::string>() + " scheduler" : "executed without time");
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
    else if (timed)
        add("simulated time", json["cycles"], "cycles");
    if (timed) add("", json["microseconds"], "us");
    add("warp instructions", json["warp_instructions"], "");
    add("thread instructions", json["thread_instructions"], "");
    if (timed) add("IPC", json["ipc"], "thread instructions/cycle");
    add("blocks per SM", json["blocks_per_sm"], "");
    if (timed) {
        add("L1D hit rate", json["l1"]["hit_rate"], "");
        add("L2 hit rate", json["l2"]["hit_rate"], "");
        add("DRAM traffic", json["dram"]["bytes"], "bytes");
        add("", json["dram"]["gb_per_s"], "GB/s");
        add("DRAM row hits", json["dram"]["row_hits"], "");
        add("DRAM row misses", json["dram"]["row_misses"], "");
    } else {
        add("memory instructions", json["memory_instructions"], "");
    }
    add("simulation speed", json["warp_instructions_per_second"], "warp instructions/s");
    r.answer = json["answer"];
    return tableText(r) + (sampled ? fmt::format("sampled: {}\n", sampled->summary()) : "") + answerText(r);
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
    if (!options.observe.empty()) expectWritable(options.observe);
    run.counters = metrics::parseOutput(options.metrics, "--metrics");
    expectOutputs({options.json, run.counters.place()});
    run.module = ptx::parse(readFile(options.what), options.what);
    return run;
}

/// In a direction, where a program is a cluster of blocks.
std::uint32_t blocksOf(std::uint32_t programs, std::uint32_t cluster) {
    constexpr std::uint32_t kMost = 0x7fff'ffff;
    if (programs > kMost / cluster) throw Error("--grid {}: more than {} blocks", programs, kMost);
    return programs * cluster;
}

sim::LaunchSpec launchSpec(const RunOptions& options, const KernelRun& run, const sim::LoadedModule& loaded) {
    sim::LaunchSpec spec;
    spec.program = loaded.program;
    spec.code =
        loaded.program->kernel(chooseKernel(loaded.program->name, loaded.program->kernelNames(), options.kernel));
    const Extent& cluster = options.triton.cluster;
    spec.grid = {blocksOf(run.grid.x, cluster.x), blocksOf(run.grid.y, cluster.y), blocksOf(run.grid.z, cluster.z)};
    spec.cluster = {cluster.x, cluster.y, cluster.z};
    if (const auto& required = spec.code->requiredCluster; required[0] && options.triton.file.empty())
        spec.cluster = {required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
    spec.explicitCluster = spec.cluster.count() > 1;
    spec.block = {run.block.x, run.block.y, run.block.z};
    spec.dynamicShared = options.shared;
    spec.maxCycles = options.maxCycles;
    // Beside what somebody reads from standard output, what the kernel prints is of no use there.
    std::FILE* const to = options.json == "-" || run.counters.takesStandardOutput() ? stderr : stdout;
    spec.print = [to](std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); };
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
    noteIneffective(options.gpu, options.settings, options.scheduler);
    const bool watched = !options.timeline.empty() || !options.observe.empty();
    metrics::Watching watching(run.profile, !options.timeline.empty(), !options.observe.empty());
    ProgressLine progress;
    sim::LaunchId launch = 0;
    sim::Machine::Options machineOptions;
    machineOptions.scheduler = options.scheduler;
    machineOptions.timing = options.timing.timing();
    machineOptions.observer = watched ? &watching.observer() : nullptr;
    machineOptions.heartbeat = [&](const sim::Machine& m) {
        progress.update(m.now(), m.counters(launch).warpInstructions, m.fractionDone(launch));
    };
    sim::Machine machine(run.profile, machineOptions);
    const sim::ContextId context = machine.createContext();
    sim::LaunchSpec spec = launchSpec(options, run, machine.load(context, run.module));
    Arguments arguments(*spec.code, options.triton, machine.memory(context));
    const std::vector<sim::VirtualAddress> addresses = arguments.place(run.arguments);
    spec.params = arguments.take();
    const sim::StreamId stream = machine.createStream(context);

    const auto begin = std::chrono::steady_clock::now();
    launch = machine.launch(stream, std::move(spec));
    const sim::LaunchRecord& record = machine.record(launch);
    watching.nameLaunch(launch, record.kernel);
    machine.finishLaunch(launch);
    progress.clear();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (record.error) throw *record.error;

    metrics::write(run.counters, {rowOf(machine, record)});
    nlohmann::ordered_json json = toJson(options, machine, context, record, wall);
    json["answer"] = answerOf(json);
    writeDumps(run, addresses, machine.memory(context));
    writeWatched(options, watching,
                 fmt::format("{} on {}, {} scheduler", record.kernel, options.gpu, options.scheduler));
    if (options.json.empty() && run.counters.takesStandardOutput()) return kDone;
    if (options.json.empty()) {
        writeOutput("-", toText(json, options.timing.sample ? std::optional(sampledOf(record)) : std::nullopt));
    } else {
        writeJson(options.json, json);
    }
    return kDone;
}

}  // namespace bulkhead::cli
