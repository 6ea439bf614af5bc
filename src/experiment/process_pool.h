#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace bulkhead::experiment {

/// What became of a piece of work.
struct WorkResult {
    std::string found;  ///< what it returned
    std::string why;    ///< it returned nothing; empty if it did
    int signal = 0;     ///< that ended it; 0: none did
};

/// Does `count` pieces of work, at most `jobs` at a time, each in a process of its own: the simulated driver has one
/// lock a process. `work(i)` runs in the child; `ended(i, result)` is told here, as each ends. The children end with
/// this process. No other thread may run. Throws Interrupted.
void inProcesses(std::size_t count, unsigned jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, const WorkResult&)>& ended);

/// As many as this process may use.
unsigned processors();

}  // namespace bulkhead::experiment
