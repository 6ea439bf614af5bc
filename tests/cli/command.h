#pragma once

#include <string>
#include <vector>

namespace bulkhead::cli {

struct Outcome {
    int exitCode = -1;  ///< -1 if a signal ended it
    std::string out, err;
};

/// Runs the program with these arguments and waits for it.
Outcome run(const std::vector<std::string>& arguments);

/// Bad usage or input: exit code 2, nothing on standard output, one line on standard error that holds `part`.
void expectRefused(const std::vector<std::string>& arguments, const std::string& part);

}  // namespace bulkhead::cli
