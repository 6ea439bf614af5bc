#pragma once

#include <string>
#include <vector>

#include "compare/store.h"

namespace bulkhead::compare {

/// Numbers of warps that profiling for Best-SWL tries on an SM with that many, the same for each scheduler: close
/// together where few warps run, since there each one more is a large share.
std::vector<int> warpLimits(int warps, int schedulers);

/// Specifications whose scheduler needs a number of warps and has none, such as "best-swl", get the one that suits
/// their workload: of the limits, the one under which best-swl has the most instructions a cycle. Tokens of statPCAL
/// are as many. All others stay as they are.
std::vector<RunSpec> withWarpLimits(RunBatch&, std::vector<RunSpec>);

/// Whether it is the name of a scheduler that needs a number of warps, without one.
bool lacksWarpLimit(const std::string& scheduler);

/// Throws Error unless it is a scheduler's name, with or without the number that it needs.
void expectScheduler(const std::string& name);

}  // namespace bulkhead::compare
