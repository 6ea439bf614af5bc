#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/child_process.h"
#include "metrics/launch_row.h"

namespace bulkhead::correlate {

/// Metrics that hardware counts in one pass, so that no launch is repeated over caches that it has warmed itself.
struct MetricGroup {
    std::string_view name;
    std::vector<std::string> metrics;
};
const std::vector<MetricGroup>& metricGroups();

/// Nsight Compute's program on the PATH; nothing where there is none.
std::optional<std::filesystem::path> findProfiler();

/// A command that is to be profiled.
struct Profiling {
    std::vector<std::string> command;
    experiment::ChildProcess::Environment environment;
    std::filesystem::path folder;  ///< for its files, one a group: NAME.GROUP.csv
    std::string name;
    double limitSeconds = 3600;  ///< of each run
};

/// Runs the command under Nsight Compute once for each group, with caches and clocks as they are. Throws Error with
/// what the profiler said where it counts nothing.
std::vector<std::vector<metrics::LaunchRow>> profile(const std::filesystem::path& profiler, const Profiling&);

}  // namespace bulkhead::correlate
