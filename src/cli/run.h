#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::cli {

struct RunOptions {
    std::string what;  ///< a workload's name or a PTX file
    std::string gpu = "sim:gtx480", scheduler = "gto", json;
    std::vector<std::string> settings;
    bool sample = false;
    // A workload's:
    std::string size = "default";
    std::uint64_t seed = 1;
    // A kernel's:
    std::string kernel, grid = "1", block = "1", timeline;
    std::vector<std::string> arguments, dumps;
    std::uint32_t shared = 0;
    std::uint64_t maxCycles = 0;
};

/// A kernel of a PTX file on a simulated GPU.
int runKernel(const RunOptions&);

/// A workload on any GPU, checked against its CPU reference.
int runWorkload(const RunOptions&);

}  // namespace bulkhead::cli
