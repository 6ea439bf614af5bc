#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "cli/batch_options.h"
#include "cli/command_line.h"
#include "correlate/kernel_pair.h"

namespace bulkhead::cli {

/// What is to run on both sides, and how.
struct SidesOptions {
    std::vector<std::string> words;  ///< workloads, PTX files, or a program and its arguments
    bool all = false;                ///< every workload
    std::string gpu = "cuda:0", twin = "sim:h200";
    std::vector<std::string> ncu;  ///< files of hardware's counters, instead of a GPU
    std::string keep;              ///< folder for those that are made
    std::string size = "default", scheduler = "gto";
    std::uint64_t seed = 1;
    std::vector<std::string> settings;
    // Of PTX files:
    std::string kernel, grid = "1", block = "1";
    std::vector<std::string> arguments;
    std::uint32_t shared = 0;
    BatchOptions batch;
};
void addSidesOptions(CommandLine, SidesOptions&);

struct Sides {
    std::vector<correlate::Subject> subjects;
    std::string hardware;               ///< where its counters are from
    arch::DeviceProfile profile;        ///< of the twin
    std::vector<std::string> failures;  ///< what could not be run, a line each
    /// Of which hardware counted something in several passes: later ones found caches as earlier ones had left them.
    std::vector<std::string> severalPasses;
};

/// Runs everything on both sides, or takes hardware's counters from files. Throws Error.
Sides measureSides(const SidesOptions&, const CommandLine&);

}  // namespace bulkhead::cli
