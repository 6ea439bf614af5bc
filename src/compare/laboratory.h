#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compare/store.h"

namespace bulkhead::compare {

/// How far a batch has come.
struct Progress {
    std::size_t done = 0, of = 0;
    double secondsLeft = 0;
    std::string last;  ///< the run that ended
};

/// What became of a run.
struct Outcome {
    RunFigures figures;
    std::string failure;  ///< why there are no figures
    bool ok() const { return failure.empty(); }
};

/// Does runs, each once: from the store where it has them, otherwise on the machine's cores, kept as they end.
class Laboratory {
  public:
    Laboratory(Store store, unsigned jobs, std::function<void(const Progress&)> progress = {});

    /// In the order of the specifications.
    std::vector<Outcome> run(const std::vector<RunSpec>&);
    Outcome run(const RunSpec& spec) { return run(std::vector<RunSpec>{spec}).front(); }

    std::size_t simulated() const { return simulated_; }  ///< runs that the store did not have

  private:
    Store store_;
    unsigned jobs_;
    std::function<void(const Progress&)> progress_;
    std::size_t simulated_ = 0;
};

/// Numbers of warps that profiling for Best-SWL tries on an SM with that many, the same for each scheduler: close
/// together where few warps run, since there each one more is a large share.
std::vector<int> warpLimits(int warps, int schedulers);

/// Specifications whose scheduler needs a number of warps and has none, such as "best-swl", get the one that suits
/// their workload: of the limits, the one under which best-swl has the most instructions a cycle. Tokens of statPCAL
/// are as many. All others stay as they are.
std::vector<RunSpec> withWarpLimits(Laboratory&, std::vector<RunSpec>);

/// Whether it is the name of a scheduler that needs a number of warps, without one.
bool lacksWarpLimit(const std::string& scheduler);

/// Throws Error unless it is a scheduler's name, with or without the number that it needs.
void expectScheduler(const std::string& name);

}  // namespace bulkhead::compare
