#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "cli/batch_options.h"
#include "cli/run.h"
#include "ptx/module.h"

namespace bulkhead::cli {
namespace {

KernelDump parseDump(const std::string& text, const std::vector<KernelArgument>& arguments) {
    const std::size_t equals = text.find('=');
    std::size_t used = 0, index = 0;
    try {
        index = std::stoul(text.substr(0, equals), &used);
    } catch (const std::exception&) {
        used = std::string::npos;
    }
    if (equals == std::string::npos || used != equals || equals + 1 == text.size())
        throw Error("--dump {}: write N=FILE, where N is the index of an --arg option, from 0", text);
    if (index >= arguments.size())
        throw Error("--dump {}: there are only {} arguments, counted from 0", text, arguments.size());
    if (!arguments[index].isBuffer) throw Error("--dump {}: argument {} is not a buffer", text, index);
    return {index, text.substr(equals + 1)};
}

}  // namespace

std::vector<KernelArgument> argumentsOf(const RunOptions& options, const Extent& grid, Bytes mostBytes) {
    std::vector<KernelArgument> arguments;
    for (const std::string& text : options.arguments) arguments.push_back(parseKernelArgument(text, mostBytes));
    const Extent& cluster = options.triton.cluster;
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z * cluster.x * cluster.y * cluster.z;
    for (KernelArgument& argument : scratchArguments(options.triton, blocks, mostBytes))
        arguments.push_back(std::move(argument));
    return arguments;
}

std::vector<KernelDump> parseDumps(const RunOptions& options, const std::vector<KernelArgument>& arguments) {
    std::vector<KernelDump> dumps;
    for (const std::string& text : options.dumps) {
        dumps.push_back(parseDump(text, arguments));
        expectWritable(dumps.back().file);
    }
    return dumps;
}

std::string chooseKernel(const std::string& file, const std::vector<std::string>& kernels, const std::string& name) {
    if (kernels.empty()) throw Error("{} has no kernel", file);
    if (name.empty() && kernels.size() > 1)
        throw Error("{} has {} kernels: choose one with --kernel: {}", file, kernels.size(), fmt::join(kernels, ", "));
    if (name.empty()) return kernels.front();
    if (std::find(kernels.begin(), kernels.end(), name) != kernels.end()) return name;
    throw Error("{} has no kernel {}: choose from {}", file, name, fmt::join(kernels, ", "));
}

std::string chosenKernel(const std::string& ptx, const RunOptions& options) {
    std::vector<std::string> kernels;
    for (const ptx::Function& function : ptx::parse(ptx, options.what).functions)
        if (function.isKernel) kernels.push_back(function.name);
    return chooseKernel(options.what, kernels, options.kernel);
}

void writeWatched(const RunOptions& options, const metrics::Watching& watching, const std::string& run) {
    if (!options.timeline.empty()) writeFile(options.timeline, watching.timeline());
    if (options.observe.empty()) return;
    std::vector<Result> results = watching.insight(run);
    for (Result& result : results) fillProvenance(result, options.gpu, options.seed);
    metrics::writeInsight(options.observe, run, results, watching.timeline());
}

}  // namespace bulkhead::cli
