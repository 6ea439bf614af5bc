#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "experiment/process_pool.h"

namespace bulkhead::experiment {

/// How far a batch has come.
struct Progress {
    std::size_t done = 0, of = 0;
    std::optional<double> secondsLeft;  ///< once there is something to go by
    std::string last;                   ///< the run that ended, or what goes on
};
using ShowProgress = std::function<void(const Progress&)>;

/// A run as another process can do it: all of what it is, in words.
struct RunDescription {
    std::string kind;  ///< which of the types of runs
    std::string file;  ///< that holds its measurement, in the store
    nlohmann::ordered_json spec;
};

/// Runs that are to be done, as an executor sees them.
struct RunList {
    std::size_t count = 0;
    bool oneAtATime = false;                          ///< of one machine: they would disturb each other
    std::function<std::string(std::size_t)> label;    ///< for progress
    std::function<std::string(std::size_t)> execute;  ///< in this process: the text of its measurement
    std::function<RunDescription(std::size_t)> describe;
    /// Takes its measurement from the store, if that has it by now.
    std::function<bool(std::size_t)> recall;
    /// What became of one that was not recalled: told once.
    std::function<void(std::size_t, const WorkResult&)> finish;
};

/// Where and how runs are done.
class Executor {
  public:
    virtual ~Executor() = default;
    /// Returns when each run was recalled or finished. Throws Error if none can be done.
    virtual void execute(const RunList&) = 0;
};

/// Time left, if the rest takes as long as what is done.
class Estimate {
  public:
    Estimate();
    std::optional<double> secondsLeft(std::size_t done, std::size_t of) const;

  private:
    double begin_;
};

}  // namespace bulkhead::experiment
