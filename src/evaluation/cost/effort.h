#pragma once

#include "base/units.h"
#include "gpu/gpu.h"
#include "workloads/workload.h"

namespace bulkhead::evaluation::cost {

/// How much is measured. Times of a real GPU have noise; those of a simulated one have none, and take long.
struct Effort {
    unsigned warmUps;        ///< before a time is taken
    unsigned repeats;        ///< of a time, of which the median counts
    unsigned launches;       ///< of an empty kernel, one after the other, timed together
    unsigned waits;          ///< of launches that are waited for one by one
    unsigned together;       ///< launches of each tenant while all are at work
    unsigned rounds;         ///< with translation and without it, by turns
    unsigned pairs;          ///< of a victim's run alone and beside aggressors
    unsigned warmUpPairs;    ///< an idle GPU lowers its clock
    std::uint64_t accesses;  ///< of a latency-bound victim
    Bytes victimBytes;       ///< in L2 by far, with the list of its accesses, which is as large
    Bytes aggressorBytes;    ///< more than L2 keeps
    std::size_t samples;     ///< of addresses
    Bytes sampledBytes;      ///< that they are of, at most
    unsigned megabytes;      ///< of an array of a memory-bound kernel
    workloads::Size size;    ///< of workloads

    static Effort forGpu(gpu::Gpu&);
};

}  // namespace bulkhead::evaluation::cost
