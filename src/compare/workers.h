#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace bulkhead::compare {

/// Does `count` pieces of work, at most `jobs` at a time, each in a process of its own: the simulated driver has one
/// lock a process. `work(i)` runs in the child and leaves what it found in a file; `ended(i, why)` is told here, as
/// each ends, `why` empty where it did without an exception. The children end with this process. No other thread may
/// run.
void inProcesses(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t, const std::string& why)>& ended);

/// As many as this process may use.
unsigned processors();

}  // namespace bulkhead::compare
