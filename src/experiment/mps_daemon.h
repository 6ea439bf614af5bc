#pragma once

#include <filesystem>
#include <memory>

#include "experiment/child_process.h"

namespace bulkhead::experiment {

/// NVIDIA's Multi-Process Service, started for this run alone, with directories of its own. It ends with this object or
/// with this process, however that ends, and its directories go with it. Where both its guard and this process are
/// killed, it ends when another one is started.
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
    std::shared_ptr<void> owner_;  ///< says that somebody answers for the daemon
    std::unique_ptr<ChildProcess> guard_;
};

}  // namespace bulkhead::experiment
