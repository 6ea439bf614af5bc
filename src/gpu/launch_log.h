#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "gpu/gpu.h"
#include "sim/counters.h"

namespace bulkhead::gpu {

/// A launch of a kernel, as the GPU counted it.
struct Launch {
    std::uint32_t id = 0;  ///< of this one on its GPU
    std::string kernel;
    bool failed = false;
    Cycles started = 0, ended = 0;
    sim::Counters counters;
    double sharedMemoryShare = 0;               ///< of an SM's shared memory, taken by as many blocks as it holds
    std::uint64_t blocks = 0, timedBlocks = 0;  ///< equal where the GPU does not sample
    double halfWidth = 0;                       ///< of the confidence interval (95 %) of its cycles
    Dim3 grid, block;

    Cycles cycles() const { return ended - started; }
};

/// The counters of a GPU that has some (Capabilities::launchCounters), for as long as that is open.
class LaunchCounters {
  public:
    const arch::DeviceProfile& profile() const;
    sim::Timing timing() const;
    Cycles now() const;
    double seconds(Cycles) const;
    /// Of any context.
    Launch launch(std::uint32_t id) const;
    /// Share of a launch's blocks that have ended.
    double fractionDone(std::uint32_t id) const;

  private:
    friend class Gpu;
    friend LaunchCounters addDevice(const std::string&, const SimulationOptions&);
    explicit LaunchCounters(const sim::Machine& machine) : machine_(&machine) {}
    const sim::Machine* machine_;
};

/// The launches of a context since a moment.
class LaunchLog {
  public:
    /// Begins now. Throws Error where the GPU counts none.
    LaunchLog(Gpu&, const Context&);
    ~LaunchLog();
    LaunchLog(const LaunchLog&) = delete;
    LaunchLog& operator=(const LaunchLog&) = delete;
    /// All so far, in order.
    std::vector<Launch> launches();

  private:
    std::vector<std::uint32_t> idsOfContext();
    LaunchCounters counters_;
    Context context_;
    std::size_t before_ = 0;
};

}  // namespace bulkhead::gpu
