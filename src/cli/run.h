#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/kernel_arguments.h"
#include "cli/triton_folder.h"
#include "metrics/watching.h"

namespace bulkhead::cli {

struct RunOptions {
    std::string what;  ///< a workload's name, or a PTX file
    std::string gpu = "sim:gtx480", scheduler = "gto", json, metrics;
    std::vector<std::string> settings;
    std::string timeline, observe;
    TimingOptions timing;
    bool gpgpusim = false;
    // A workload's:
    std::string size = "default";
    std::uint64_t seed = 1;
    // A kernel's:
    std::string kernel, grid = "1", block = "1";
    std::vector<std::string> arguments, dumps;
    std::uint32_t shared = 0;
    std::uint64_t maxCycles = 0;
    TritonKernel triton;  ///< where `what` is of such a folder
};

/// A kernel of a PTX file on a simulated GPU.
int runKernel(const RunOptions&);

/// Those of the command line, and those that Triton adds to them.
std::vector<KernelArgument> argumentsOf(const RunOptions&, const Extent& grid, Bytes mostBytes);

/// A buffer that is written to a file afterwards.
struct KernelDump {
    std::size_t argument;
    std::string file;
};
/// Throws Error if one is not of a buffer, or cannot be written.
std::vector<KernelDump> parseDumps(const RunOptions&, const std::vector<KernelArgument>&);

/// The only one, or that of the name given. Throws Error that lists them.
std::string chooseKernel(const std::string& file, const std::vector<std::string>& kernels, const std::string& name);
/// The same of a PTX file's text.
std::string chosenKernel(const std::string& ptx, const RunOptions&);

/// Writes what was asked for of a run that was watched.
void writeWatched(const RunOptions&, const metrics::Watching&, const std::string& run);

/// The same on a GPU that is not simulated.
int runRealKernel(const RunOptions&);

/// A workload on any GPU, checked against its CPU reference.
int runWorkload(const RunOptions&);

}  // namespace bulkhead::cli
