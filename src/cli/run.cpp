#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "arch/device_profile.h"
#include "base/error.h"
#include "base/files.h"
#include "base/result.h"
#include "cli/kernel_arguments.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "ptx/module.h"
#include "report/report.h"
#include "sim/gpu.h"
#include "sim/timeline.h"

namespace bulkhead::cli {
namespace {

struct Options {
    std::string file, kernel, grid = "1", block = "1", gpu = "sim:gtx480", scheduler = "gto";
    std::string json, timeline;
    std::vector<std::string> arguments, settings, dumps;
    std::uint32_t shared = 0;
    std::uint64_t maxCycles = 0;
};

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

/// A run may take hours: an output that cannot be written is refused before it, and then leaves no other behind.
void expectWritable(const std::string& file) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (fs::is_directory(status)) throw Error("{}: is a directory, not a file", file);
    // A file is replaced by another of its directory; a device or a pipe is written itself.
    const bool replaced = !fs::exists(status) || fs::is_regular_file(status);
    const std::string place = replaced ? fs::absolute(file).parent_path().string() : file;
    if (::access(place.c_str(), W_OK) != 0)
        throw Error("{}: cannot be written: {}", file, std::generic_category().message(errno));
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

nlohmann::ordered_json toJson(const Options& options, const sim::Gpu& gpu, sim::ContextId context,
                              const sim::LaunchRecord& record, double wall) {
    using json = nlohmann::ordered_json;
    const sim::Counters& c = gpu.counters(record.id);
    const auto cycles = static_cast<double>(record.ended - record.started);
    const auto dims = [](const sim::Dim3& d) { return json{d.x, d.y, d.z}; };
    json stalls;
    for (int i = 0; i < sim::kStalls; ++i) stalls[std::string(sim::kStallNames[i])] = c.stalls[i];
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
    return {
        {"gpu", "sim:" + gpu.profile().name},
        {"scheduler", options.scheduler},
        {"kernel", record.kernel},
        {"grid", dims(record.grid)},
        {"block", dims(record.block)},
        {"registers_per_thread", record.occupancy.needs.registers / (record.occupancy.needs.warps * sim::kLanes)},
        {"blocks_per_sm", record.occupancy.blocksPerSm},
        {"occupancy_limit", record.occupancy.limit},
        {"cycles", record.ended - record.started},
        {"microseconds", gpu.seconds(record.ended - record.started) * 1e6},
        {"warp_instructions", c.warpInstructions},
        {"thread_instructions", c.threadInstructions},
        {"ipc", static_cast<double>(c.threadInstructions) / cycles},
        {"warp_ipc", static_cast<double>(c.warpInstructions) / cycles},
        {"l1",
         {{"hits", c.l1Hits},
          {"misses", c.l1Misses},
          {"hit_rate", sim::ratio(c.l1Hits, c.l1Misses)},
          {"merges", c.l1Merges},
          {"bypasses", c.l1Bypasses},
          {"evictions", c.l1Evictions},
          {"bytes", c.bytesL1},
          {"stall_cycles", {{"mshr", c.l1StallMshr}, {"port", c.l1StallQueue}, {"line", c.l1StallLine}}}}},
        {"shared", {{"accesses", c.sharedAccesses}, {"bank_conflicts", c.sharedConflicts}}},
        {"constant", {{"hits", c.constantHits}, {"misses", c.constantMisses}}},
        {"l2",
         {{"hits", c.l2Hits},
          {"misses", c.l2Misses},
          {"hit_rate", sim::ratio(c.l2Hits, c.l2Misses)},
          {"merges", c.l2Merges},
          {"evictions", c.l2Evictions},
          {"writebacks", c.l2Writebacks},
          {"atomics", c.l2Atomics},
          {"bytes", c.bytesL2},
          {"stall_cycles",
           {{"mshr", c.l2StallMshr},
            {"response", c.l2StallResponse},
            {"dram", c.l2StallDram},
            {"line", c.l2StallLine}}},
          {"port_wait_cycles", c.portWait}}},
        {"dram",
         {{"reads", c.dramReads},
          {"writes", c.dramWrites},
          {"row_hits", c.dramRowHits},
          {"row_misses", c.dramRowMisses + c.dramRowConflicts},
          {"row_conflicts", c.dramRowConflicts},
          {"bytes", c.bytesDram},
          {"gb_per_s", static_cast<double>(c.bytesDram) / (gpu.seconds(record.ended - record.started) * 1e9)}}},
        {"stall_cycles", stalls},
        {"warps", warps},
        {"wall_seconds", wall},
        {"warp_instructions_per_second", static_cast<double>(c.warpInstructions) / wall},
        {"command", commandLine()},
        {"version", version()},
    };
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

int run(const Options& options) {
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
    if (!options.json.empty() && options.json != "-") expectWritable(options.json);
    const ptx::Module module = ptx::parse(readFile(options.file), options.file);

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
        // The command may hold bytes that are no UTF-8, such as those of a file's name.
        writeOutput(options.json, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    }
    return kDone;
}

}  // namespace

Action setUpRun(CLI::App& app) {
    const auto o = std::make_shared<Options>();
    app.add_option("FILE", o->file, "a PTX file")->required();
    app.add_option("--kernel", o->kernel, "which kernel, if there are several");
    app.add_option("--grid", o->grid, "blocks: X, XxY or XxYxZ")->capture_default_str();
    app.add_option("--block", o->block, "threads of a block, likewise")->capture_default_str();
    app.add_option("--arg", o->arguments,
                   "an argument, in order: i32:5, f32:1.5, or a buffer, f32[1024]=random:7, =zero, =iota, =file:PATH")
        ->allow_extra_args(false);
    app.add_option("--shared", o->shared, "bytes of dynamic shared memory");
    app.add_option("--gpu", o->gpu, "sim:NAME or sim:FILE.json")->capture_default_str();
    app.add_option("--scheduler", o->scheduler, "warp scheduler: lrr or gto")->capture_default_str();
    app.add_option("--set", o->settings, "change a figure of the GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--max-cycles", o->maxCycles, "end the kernel with an error after that many cycles");
    app.add_option("--dump", o->dumps, "write a buffer back: N=FILE, arguments counted from 0")
        ->type_name("N=FILE")
        ->allow_extra_args(false);
    app.add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");
    app.add_option("--timeline", o->timeline, "write a trace for Perfetto or chrome://tracing")->type_name("FILE");
    return [o] { return run(*o); };
}

}  // namespace bulkhead::cli
