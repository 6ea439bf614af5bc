#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/result.h"
#include "base/schema.h"
#include "cli/kernel_arguments.h"
#include "cli/run.h"
#include "cli/verbs.h"
#include "corun/corun.h"
#include "gpu/launch_timer.h"
#include "metrics/metric_table.h"
#include "metrics/output.h"
#include "metrics/simulated_launch.h"

namespace bulkhead::cli {
namespace {

/// Buffers go to device memory, and their addresses to the kernel.
std::vector<std::vector<std::uint8_t>> placeArguments(const std::vector<KernelArgument>& arguments,
                                                      gpu::Context& context, std::vector<gpu::Buffer>& buffers) {
    std::vector<std::vector<std::uint8_t>> placed;
    for (const KernelArgument& argument : arguments) {
        buffers.emplace_back();
        placed.push_back(argument.bytes);
        if (!argument.isBuffer) continue;
        buffers.back() = context.allocate(argument.bytes.size());
        buffers.back().copyIn(argument.bytes.data(), argument.bytes.size());
        const driver::CUdeviceptr address = buffers.back().address();
        placed.back().resize(sizeof address);
        std::memcpy(placed.back().data(), &address, sizeof address);
    }
    return placed;
}

void writeDumps(const std::vector<KernelDump>& dumps, const std::vector<gpu::Buffer>& buffers) {
    for (const KernelDump& dump : dumps) {
        std::string bytes(buffers[dump.argument].bytes(), '\0');
        buffers[dump.argument].copyOut(bytes.data(), bytes.size());
        writeFile(dump.file, bytes);
    }
}

}  // namespace

int runRealKernel(const RunOptions& options) {
    const metrics::Output counters = metrics::parseOutput(options.metrics, "--metrics");
    expectOutputs({options.json, counters.place()});
    const Extent grid = parseExtent(options.grid, "--grid"), block = parseExtent(options.block, "--block");
    const std::string ptx = readFile(options.what);
    const std::string name = chosenKernel(ptx, options);
    corun::loadModulesEagerly();  // so that the launch is not timed with what it loads
    gpu::Gpu gpu = gpu::Gpu::open(options.gpu);
    const std::vector<KernelArgument> arguments = argumentsOf(options, grid, gpu.info().memoryBytes);
    const Extent& cluster = options.triton.cluster;
    if (cluster.x * cluster.y * cluster.z != 1 || !options.triton.tensors.empty())
        throw Error("{}: clusters and descriptors of tensors are for simulated GPUs (--gpu sim:NAME)", options.what);
    const std::vector<KernelDump> dumps = parseDumps(options, arguments);
    gpu::Kernel kernel = gpu.context().load(ptx.c_str()).kernel(name);
    std::vector<gpu::Buffer> buffers;
    const std::vector<std::vector<std::uint8_t>> placed = placeArguments(arguments, gpu.context(), buffers);
    gpu::Stream stream = gpu.context().createStream();
    gpu::LaunchTimer timer(gpu.context());
    kernel.launchBytes(stream, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, options.shared, placed);
    const std::vector<metrics::LaunchRow> rows = metrics::timedRows(timer, gpu.info());
    writeDumps(dumps, buffers);
    metrics::write(counters, rows);
    const double microseconds = rows.front().value(metrics::names::kTime).value_or(0) * 1e6;
    if (!options.json.empty()) {
        nlohmann::ordered_json json = schemas::kRun.begin();
        json.update({{"gpu", options.gpu},
                     {"device", gpu.info().name},
                     {"kernel", name},
                     {"grid", {grid.x, grid.y, grid.z}},
                     {"block", {block.x, block.y, block.z}},
                     {"microseconds", microseconds},
                     {"command", commandLine()},
                     {"version", version()},
                     {"date", currentDate()}});
        writeJson(options.json, json);
    } else if (!counters.takesStandardOutput()) {
        writeOutput("-", fmt::format("Answer: {} takes {:.3f} us on {}.\n", name, microseconds, gpu.info().name));
    }
    return kDone;
}

}  // namespace bulkhead::cli
