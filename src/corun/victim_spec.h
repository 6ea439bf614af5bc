#pragma once

#include <string>
#include <vector>

#include "corun/placed_kernel.h"

namespace bulkhead::corun {

/// A program whose time is measured.
struct VictimSpec {
    std::string name = "random";  ///< random, sequential, latency, bandwidth, a workload, or a program
    Bytes bytes = 0;              ///< its working set; 0: what suits it. Of the first four.
    std::uint64_t accesses = 0;   ///< of a walk; 0: every element once
    Layout layout = {0, 0, {}};   ///< of the first four; no blocks: what suits it
    std::string size = "test";    ///< of a workload
    std::uint64_t seed = 1;
    bool cold = false;  ///< each run finds its working set out of the cache, as a process that was just started does
    bool wallClock = false;            ///< of a program on a real GPU: timed from its start to its end
    double limitSeconds = 60;          ///< of the GPU's time
    double programLimitSeconds = 600;  ///< of a program on a simulated GPU: of the wall clock's
};

/// Names of the victims that are neither workloads nor programs.
const std::vector<std::string>& ownVictims();
/// Whether it is a program: it has a slash.
bool isProgram(const std::string& victim);
/// Its name and arguments, which spaces separate where there are no "quotation marks" around them. Throws Error.
std::vector<std::string> wordsOf(const std::string& victim);

}  // namespace bulkhead::corun
