#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace bulkhead::cli {

/// A CUDA program on a simulated GPU, under one warp scheduler after the other.
struct ProgramPlan {
    std::string program;  ///< with its arguments, as a shell takes them
    std::string gpu;
    std::vector<std::string> settings, schedulers;  ///< the first scheduler is the baseline
};

/// Each run is a process of bulkhead exec, whose output is thrown away. How fast each kernel was, then what explains
/// it. Throws Error.
std::vector<Result> compareProgram(const ProgramPlan&);

}  // namespace bulkhead::cli
