#pragma once

#include <filesystem>
#include <memory>

#include "stress/child_process.h"

namespace bulkhead::stress {

/// NVIDIA's Multi-Process Service, started for this run alone, with directories of its own. It ends with this object or
/// with this process, however that ends, and its directories go with it.
class MpsDaemon {
  public:
    /// Throws Error if it cannot be started.
    MpsDaemon();
    ~MpsDaemon();

    /// What makes a process a client of this daemon.
    ChildProcess::Environment environment() const;
    /// A client would wait for ever for a daemon that somebody ended. Throws Error then.
    void throwIfEnded() const;

  private:
    void end();

    std::filesystem::path folder_;
    std::unique_ptr<ChildProcess> guard_;
};

}  // namespace bulkhead::stress
