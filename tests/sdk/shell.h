#pragma once

#include <string>
#include <vector>

namespace bulkhead {

struct Outcome {
    int exitCode = -1;   ///< -1 if a signal ended it
    std::string output;  ///< both streams
};

/// Runs a program and waits for it.
Outcome run(const std::vector<std::string>& command);

/// NVIDIA's compiler along PATH or in its usual place; empty where there is none.
std::string findNvcc();

}  // namespace bulkhead
