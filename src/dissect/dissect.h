#pragma once

#include "dissect/map_file.h"
#include "dissect/probe.h"

namespace bulkhead::dissect {

struct Options {
    std::uint64_t seed = 1;
    bool figures = true;          ///< figures 3, 4, 6 and 8 of Fractional GPUs
    std::size_t pairs = 6000;     ///< random ones that tell row conflicts, as in figure 4
    std::size_t trendPairs = 60;  ///< of figure 3
    bool allThreads = false;      ///< figure 8 at every number of them, not at some
    bool usePhysical = true;      ///< false: as on a real GPU, though physical addresses could be known
    std::size_t verifyAddresses = 1000;
    Bytes memory = 0;     ///< to probe; 0: all where physical addresses are known, else 4 GB
    TimingFilter filter;  ///< what tests make noise with
};

struct Dissection {
    std::vector<Finding> findings;
    std::optional<MapFile> file;  ///< where a map was found
    std::vector<Result> figures;
    double gpuSeconds = 0;
};

/// Finds out how a GPU spreads addresses, by timing alone. Throws Error where the GPU cannot be timed.
Dissection dissect(gpu::Gpu&, const Options&, Listener&);

/// How many fresh random addresses a map puts where they are. Throws Error if the map does not fit the GPU at all.
struct Verification {
    double side = 0, slice = 0, bank = 0, set = 0;  ///< shares that are right; negative: not in the map
    std::size_t addresses = 0;
    double gpuSeconds = 0;
};
Verification verify(gpu::Gpu&, const MapFile&, const Options&, Listener&);

}  // namespace bulkhead::dissect
