#pragma once

#include <filesystem>
#include <memory>

#include "stress/child_process.h"

namespace bulkhead::stress {

/// NVIDIA's Multi-Process Service, started for this run alone, with directories of its own, and ended with this object
/// or with this process.
class MpsDaemon {
  public:
    /// Throws Error if it cannot be started.
    MpsDaemon();
    ~MpsDaemon();

    /// What makes a process a client of this daemon.
    ChildProcess::Environment environment() const;

  private:
    std::filesystem::path folder_;
    std::unique_ptr<ChildProcess> control_;
};

}  // namespace bulkhead::stress
