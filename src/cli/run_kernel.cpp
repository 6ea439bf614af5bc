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
#include "cli/counters_json.h"
#include "cli/kernel_arguments.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "ptx/module.h"
#include "report/report.h"
#include "sim/gpu.h"
#include "sim/timeline.h"

namespace bulkhead::cli {
namespace {

struct Dump {
    std::size_t argument;
    std::string file;
};

Dump parseDump(const std::string& text, const std::vector<KernelArgument>& arguments) {
    const std::size_t equals = text.find('=');
    std::size_t used = 0, index = 0;
    try {
        index = std::stoul(text.substr(0, equals), &used);
    } catch (const std::exception&) {
        used = std::string::npos;
    }
    if (equals == std::string::npos || used != equals || equals + 1 == text.size())
        throw Error("--dump {}: write N=FILE, where N counts the --arg options from 0", text);
    if (index >= arguments.size())
        throw Error("--dump {}: there are {} arguments, counted from 0", text, arguments.size());
    if (!arguments[index].isBuffer) throw Error("--dump {}: argument {} is no buffer", text, index);
    return {index, text.substr(equals + 1)};
}

const sim::Code& chooseKernel(const sim::Program& program, const std::string& name) {
    const std::vector<std::string> names = program.kernelNames();
    if (names.empty()) throw Error("{} holds no kernel", program.name);
    if (name.empty()) {
        if (names.size() > 1)
            throw Error("{} holds {} kernels: choose one with --kernel: {}", program.name, names.size(),
                        fmt::join(names, ", "));
        return *program.kernel(names.front());
    }
    if (const sim::Code* code = program.kernel(name)) return *code;
    throw Error("{} holds no kernel {}: there are {}", program.name, name, fmt::join(names, ", "));
}

/// Buffers go to device memory; pointers and scalars go where the kernel's parameters are.
std::vector<std::uint8_t> placeArguments(const sim::Code& code, const std::vector<KernelArgument>& arguments,
                                         sim::ContextMemory& memory, std::vector<sim::VirtualAddress>& addresses) {
    if (arguments.size() != code.params.size())
        throw Error("{} takes {} arguments, {} given", code.name, code.params.size(), arguments.size());
    std::vector<std::uint8_t> params(code.kernelParamBytes);
    addresses.assign(arguments.size(), 0);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const KernelArgument& argument = arguments[i];
        const sim::Code::Param& param = code.params[i];
        if (argument.isBuffer) {
            if (param.bytes != 8)
                throw Error("--arg {}: parameter {} of {} is .{}, no pointer", argument.text, i, code.name,
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

nlohmann::ordered_json toJson(const RunOptions& options, const sim::Gpu& gpu, sim::ContextId context,
                              const sim::LaunchRecord& record, double wall) {
    using json = nlohmann::ordered_json;
    const sim::Counters& c = gpu.counters(record.id);
    const Cycles cycles = record.ended - record.started;
    const auto dims = [](const sim::Dim3& d) { return json{d.x, d.y, d.z}; };
    json warps = json::array();
    for (std::uint32_t slot = 0; slot < static_cast<std::uint32_t>(gpu.profile().maxWarps()); ++slot) {
        sim::WarpCounters sum;
        for (std::uint32_t sm = 0; sm < static_cast<std::uint32_t>(gpu.profile().sm.count); ++sm)
            sum += gpu.sm(context, sm).warpCounters(slot);
        if (sum.instructions)
            warps.push_back({{"slot", slot},
                             {"instructions", sum.instructions},
                             {"l1_hits", sum.l1Hits},
                             {"l1_misses", sum.l1Misses}});
    }
    json out = {
        {"gpu", "sim:" + gpu.profile().name},
        {"scheduler", options.scheduler},
        {"kernel", record.kernel},
        {"grid", dims(record.grid)},
        {"block", dims(record.block)},
        {"registers_per_thread", record.occupancy.needs.registers / (record.occupancy.needs.warps * sim::kLanes)},
        {"blocks_per_sm", record.occupancy.blocksPerSm},
        {"occupancy_limit", record.occupancy.limit},
    };
    out.update(countersJson(c, cycles, gpu.seconds(cycles)));
    out.update({
        {"warps", warps},
        {"wall_seconds", wall},
        {"warp_instructions_per_second", static_cast<double>(c.warpInstructions) / wall},
        {"command", commandLine()},
        {"version", version()},
    });
    return out;
}

std::string toText(const nlohmann::ordered_json& json) {
    Result r;
    r.title = fmt::format("{} on {}, {} scheduler", json["kernel"].get<std::string>(), json["gpu"].get<std::string>(),
                          json["scheduler"].get<std::string>());
    r.columns = {{"what", ""}, {"value", ""}, {"unit", ""}};
    const auto add = [&](const char* what, const nlohmann::ordered_json& value, const char* unit) {
        if (value.is_number_float()) {
            r.add({std::string(what), value.get<double>(), std::string(unit)});
        } else {
            r.add({std::string(what), value.get<std::int64_t>(), std::string(unit)});
        }
    };
    add("simulated time", json["cycles"], "cycles");
    add("", json["microseconds"], "us");
    add("warp instructions", json["warp_instructions"], "");
    add("thread instructions", json["thread_instructions"], "");
    add("IPC", json["ipc"], "thread instructions a cycle");
    add("blocks on an SM", json["blocks_per_sm"], "");
    add("L1D hit rate", json["l1"]["hit_rate"], "");
    add("L2 hit rate", json["l2"]["hit_rate"], "");
    add("DRAM traffic", json["dram"]["bytes"], "bytes");
    add("", json["dram"]["gb_per_s"], "GB/s");
    add("row hits", json["dram"]["row_hits"], "");
    add("row misses", json["dram"]["row_misses"], "");
    add("speed", json["warp_instructions_per_second"], "warp instructions a second");
    return report::text(r);
}

}  // namespace

int runKernel(const RunOptions& options) {
    arch::DeviceProfile profile = arch::findProfile(options.gpu);
    arch::applySettings(profile, options.settings);
    const Extent grid = parseExtent(options.grid, "--grid"), block = parseExtent(options.block, "--block");
    std::vector<KernelArgument> arguments;
    for (const std::string& text : options.arguments)
        arguments.push_back(parseKernelArgument(text, static_cast<Bytes>(profile.dram.bytes)));
    std::vector<Dump> dumps;
    for (const std::string& text : options.dumps) {
        dumps.push_back(parseDump(text, arguments));
        expectWritable(dumps.back().file);
    }
    if (!options.timeline.empty()) expectWritable(options.timeline);
    expectOutputs({options.json});
    const ptx::Module module = ptx::parse(readFile(options.what), options.what);

    const double usPerCycle = 1.0 / static_cast<double>(profile.clock.coreMHz);
    std::optional<sim::Timeline> timeline;
    if (!options.timeline.empty()) timeline.emplace(usPerCycle, 1000);
    ProgressLine progress;
    sim::LaunchId launch = 0;
    sim::Gpu::Options gpuOptions;
    gpuOptions.scheduler = options.scheduler;
    gpuOptions.observer = timeline ? &*timeline : nullptr;
    gpuOptions.heartbeat = [&](const sim::Gpu& g) {
        progress.update(g.now(), g.counters(launch).warpInstructions, g.fractionDone(launch));
    };
    sim::Gpu gpu(profile, gpuOptions);
    const sim::ContextId context = gpu.createContext();
    const sim::LoadedModule loaded = gpu.load(context, module);
    const sim::Code& code = chooseKernel(*loaded.program, options.kernel);
    sim::LaunchSpec spec;
    spec.program = loaded.program;
    spec.code = &code;
    spec.grid = {grid.x, grid.y, grid.z};
    spec.block = {block.x, block.y, block.z};
    spec.dynamicShared = options.shared;
    spec.maxCycles = options.maxCycles;
    spec.print = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    std::vector<sim::VirtualAddress> addresses;
    spec.params = placeArguments(code, arguments, gpu.memory(context), addresses);
    const sim::StreamId stream = gpu.createStream(context);

    const auto begin = std::chrono::steady_clock::now();
    launch = gpu.launch(stream, std::move(spec));
    if (timeline) timeline->nameLaunch(launch, code.name);
    gpu.finishLaunch(launch);
    progress.clear();
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const sim::LaunchRecord& record = gpu.record(launch);
    if (record.error) throw *record.error;

    const nlohmann::ordered_json json = toJson(options, gpu, context, record, wall);
    for (const Dump& dump : dumps) {
        const std::size_t bytes = arguments[dump.argument].bytes.size();
        const auto* at = reinterpret_cast<const char*>(gpu.memory(context).host(addresses[dump.argument], bytes));
        writeFile(dump.file, {at, bytes});
    }
    if (timeline) writeFile(options.timeline, timeline->json());
    if (options.json.empty()) {
        writeOutput("-", toText(json));
    } else {
        writeJson(options.json, json);
    }
    return kDone;
}

}  // namespace bulkhead::cli
