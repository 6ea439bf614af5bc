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

}  // namespace bulkhead::cli
