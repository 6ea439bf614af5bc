#pragma once

#include <string>
#include <vector>

#include "gpu/sampled.h"
#include "sim/counters.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {

/// What one kernel of a run did on a GPU that counts launches, all of its together.
struct KernelMeasurement {
    std::string kernel;
    std::uint64_t launches = 0;
    Cycles cycles = 0;  ///< from each launch's start to its end
    sim::Counters counters;
    double sharedMemoryShare = 0;  ///< of an SM's shared memory, taken by as many blocks as it holds
    gpu::Sampled sampled;
};

/// One run of a workload.
struct Measurement {
    double seconds = 0;    ///< from before its first kernel to after its last, on the GPU's clock
    bool limited = false;  ///< ended by its limit: there is no result to check
    // Of GPUs that count launches only:
    Cycles cycles = 0;  ///< of its kernels
    sim::Counters counters;
    std::vector<KernelMeasurement> kernels;  ///< in order of their first launch
    gpu::Sampled sampled;
    std::vector<gpu::Launch> launches;  ///< in order

    double ipc() const {
        return cycles ? static_cast<double>(counters.threadInstructions) / static_cast<double>(cycles) : 0;
    }
    /// Lines that loads ask L1D for, for a thousand thread instructions: the definition under which the paper's figures
    /// fit best. With stores CORR, which writes 32 lines at a time, would have ten times its figure.
    double apki() const;
    /// The largest of its kernels.
    double sharedMemoryShare() const;
};

/// Runs it once and waits for its end. Throws Error if a kernel fails; the result is not checked. Architects look at
/// the beginning of workloads that would take hours: a simulated GPU can stop after that many warp instructions (0: it
/// does not), and is then of no use for another run.
Measurement measure(gpu::Gpu&, gpu::Stream&, Instance&, std::uint64_t warpInstructions = 0);

}  // namespace bulkhead::workloads
