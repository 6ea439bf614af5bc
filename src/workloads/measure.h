#pragma once

#include <string>
#include <vector>

#include "sim/counters.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {

/// What one kernel of a run did on a simulated GPU, all its launches together.
struct KernelFigures {
    std::string kernel;
    std::uint64_t launches = 0;
    Cycles cycles = 0;  ///< from each launch's start to its end
    sim::Counters counters;
    double sharedMemoryShare = 0;  ///< of an SM's shared memory, taken by as many blocks as it holds
};

/// One run of a workload.
struct Measurement {
    double seconds = 0;  ///< from before its first kernel to after its last, on the GPU's clock
    // Of simulated GPUs only:
    Cycles cycles = 0;  ///< of its kernels
    sim::Counters counters;
    std::vector<KernelFigures> kernels;  ///< in order of their first launch

    double ipc() const {
        return cycles ? static_cast<double>(counters.threadInstructions) / static_cast<double>(cycles) : 0;
    }
    /// L1D accesses, loads and stores, for a thousand thread instructions.
    double apki() const;
    /// The largest of its kernels.
    double sharedMemoryShare() const;
};

/// Runs it once and waits for its end. Throws Error if a kernel fails; the result is not checked.
Measurement measure(gpu::Gpu&, gpu::Stream&, Instance&);

}  // namespace bulkhead::workloads
