#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace bulkhead::cli {

/// What every verb returns. Bad usage and bad input leave as Error and become 2.
enum ExitCode : int { kDone = 0, kCheckFailed = 1, kBadInput = 2 };

using Action = std::function<int()>;

/// One word of the command line. `setup` declares the verb's options and returns what to do once they are parsed.
struct Verb {
    const char* name;
    const char* brief;
    Action (*setup)(CLI::App&);
};

/// All verbs, in the order in which help lists them.
const std::vector<Verb>& verbs();

/// What was typed, and the version: for the provenance of results.
std::string commandLine();
std::string version();

/// Writes to a file, or to standard output where the name is "-".
void writeOutput(const std::string& file, const std::string& bytes);

// One file each.
Action setUpGpus(CLI::App&);
Action setUpRun(CLI::App&);

}  // namespace bulkhead::cli
