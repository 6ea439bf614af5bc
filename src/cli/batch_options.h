#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "compare/warp_limits.h"

namespace bulkhead::cli {

/// What every verb that does many simulated runs can be told.
struct BatchOptions {
    std::string store;  ///< empty: the user's cache
    unsigned jobs = 0;  ///< 0: a core each; on a cluster, as many as it likes
    std::string on = "local";
    std::string slurmOptions, slurmProgram;
};

void addBatchOptions(CommandLine, BatchOptions&);
/// Where runs are done: on this machine or by Slurm.
void addClusterOptions(CommandLine, BatchOptions&);
bool onSlurm(const BatchOptions&);

/// Where it keeps runs, and what tells apart builds of this program whose results may differ. A folder of the user's
/// choice must be one; where the usual one cannot be made, that is told and the name is empty: nothing is kept.
std::filesystem::path storeFolder(const BatchOptions&);
std::string thisProgram();
/// On standard error, a line each, and the same line once.
void warnOnce(const std::string& line);
/// On a terminal, in one line; for a program that reads it, as it likes.
void showProgress(const experiment::Progress&);

/// What does its runs, with progress on a terminal. Throws Error where that cannot be.
std::shared_ptr<experiment::Executor> executorOf(const BatchOptions&);
compare::RunBatch openBatch(const BatchOptions&);

void fillProvenance(Result&, const std::string& gpu, std::uint64_t seed);

}  // namespace bulkhead::cli
