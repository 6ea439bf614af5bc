#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corun/placed_kernel.h"
#include "corun/rings.h"
#include "experiment/child_process.h"
#include "gpu/gpu.h"
#include "sim/counters.h"

namespace bulkhead::corun {

class MachineWatch;

struct CacheShape;

struct VictimSpec {
    std::string name = "random";  ///< random, sequential, latency, bandwidth, or a workload
    Bytes bytes = 0;              ///< its working set; 0: what suits it. Of the first four.
    std::uint64_t accesses = 0;   ///< of a walk; 0: every element once
    Layout layout = {0, 0, {}};   ///< of the first four; no blocks: what suits it
    std::string size = "test";    ///< of a workload
    std::uint64_t seed = 1;
    bool cold = false;  ///< each run finds its working set out of the cache, as a process that was just started does
    double limitSeconds = 60;          ///< of the GPU's time
    double programLimitSeconds = 600;  ///< of a program on a simulated GPU: of the wall clock's
};

/// One run of a victim.
struct VictimRun {
    double seconds = 0;
    std::uint64_t cycles = 0;              ///< of its multiprocessor; 0 where it does not tell
    std::uint64_t startNs = 0, endNs = 0;  ///< on the GPU's timer; 0 where it does not tell
    std::vector<unsigned> multiprocessors;
    sim::Counters counters;  ///< of its kernels, on a simulated GPU
    Cycles awayCycles = 0;   ///< likewise: in which its context did not have the GPU
};

/// A program whose time is measured.
class Victim {
  public:
    virtual ~Victim() = default;
    /// Nothing if it did not end within its limit; it may then still be running. Throws Error if it failed.
    virtual std::optional<VictimRun> run() = 0;
    /// Waits, without a limit, for a run that did not end within it.
    virtual void settle() = 0;
    /// Before a run: brings its working set into the cache, or out of it.
    virtual void prepare() { run(); }
    /// Lines of its working set, where they are known.
    virtual Ring lines() const { return {}; }
    /// Accesses of one run, one after the other; 0 where they are not.
    virtual std::uint64_t dependentAccesses() const { return 0; }
};

/// Any program, run as a process of its own and timed from its start to its end.
bool isProgram(const std::string& victim);
/// Its name and arguments, which spaces separate where there are no "quotation marks" around them. Throws Error.
std::vector<std::string> wordsOf(const std::string& victim);
std::unique_ptr<Victim> makeProgramVictim(std::vector<std::string> command,
                                          const experiment::ChildProcess::Environment&, double limitSeconds);

/// `watch`: that of a simulated GPU.
std::unique_ptr<Victim> makeVictim(gpu::Gpu&, gpu::Context, const CacheShape&, const VictimSpec&,
                                   const MachineWatch* watch = nullptr);
/// Names of the victims that are no workloads.
const std::vector<std::string>& ownVictims();

}  // namespace bulkhead::corun
