#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "sim/timing.h"

namespace bulkhead::cli {

// Options that several verbs have, described in the same words.

/// sim:NAME, sim:FILE.json or cuda:N.
Option addGpuOption(CommandLine, std::string& gpu);
Option addSimulatedGpuOption(CommandLine, std::string& gpu);
/// --gpgpusim: the variant of a simulated GPU that has GPGPU-Sim's figures.
void addGpgpusimOption(CommandLine, bool& wanted);
/// The name of that variant of a GPU if it is wanted; throws Error if there is none.
std::string gpgpusimVariant(const std::string& gpu, bool wanted);
/// --threads N, of a simulated GPU.
void addThreadsOption(CommandLine);
/// --sample and --functional, of a simulated GPU.
struct TimingOptions {
    bool sample = false, functional = false;

    sim::Timing timing() const;
    /// Throws Error where they do not go with each other, or with what else was asked for.
    void check(const std::string& gpu, const std::string& scheduler, const std::string& timeline,
               const std::string& observe, const std::string& metrics) const;
};
void addTimingOptions(CommandLine, TimingOptions&);
/// --set KEY=VALUE.
void addSettings(CommandLine, std::vector<std::string>& settings);
Option addSizeOption(CommandLine, std::string& size);
void addSeedOption(CommandLine, std::uint64_t& seed);
void addMapOption(CommandLine, std::string& map);

/// --timeline FILE and --observe FILE, of a simulated GPU.
void addWatchOptions(CommandLine, std::string& timeline, std::string& observe);

/// Says on standard error if a scheduler cannot do on a simulated GPU what it is for.
void noteIneffective(const std::string& gpu, const std::vector<std::string>& settings, const std::string& scheduler);

/// --metrics ncu[:FILE].
void addMetricsOption(CommandLine, std::string& metrics);

/// `what`: "a row for each run".
void addJsonOption(CommandLine, std::string& file, const std::string& what = "JSON");
void addCsvOption(CommandLine, std::string& file, const std::string& what);
void addHtmlOption(CommandLine, std::string& file, const std::string& what = "an HTML report");

}  // namespace bulkhead::cli
