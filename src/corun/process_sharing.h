#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "corun/corun.h"
#include "experiment/mps_daemon.h"

namespace bulkhead::corun {

/// How processes share a real GPU: by turns, or as clients of an MPS daemon of their own, with limits or without, or in
/// partitions that are set for them. What was started for them ends with this.
class ProcessSharing {
  public:
    /// Throws Error.
    explicit ProcessSharing(const CoRunSpec&);
    ~ProcessSharing();
    ProcessSharing(const ProcessSharing&) = delete;
    ProcessSharing& operator=(const ProcessSharing&) = delete;

    /// This program's words that start one of its own verbs in a partition.
    std::vector<std::string> words(unsigned partition, const std::string& verb) const;
    experiment::ChildProcess::Environment environment() const;
    /// What a process in a partition calls the GPU.
    std::string gpuInside() const;
    /// Null where there is none.
    const experiment::MpsDaemon* daemon() const { return daemon_.get(); }
    /// Has the program in a partition stopped by isolate stop. False where nobody was set one.
    bool stop(unsigned partition) const;

  private:
    int isolate(std::vector<std::string> words) const;
    experiment::ChildProcess::Environment limits() const;

    std::string gpu_;
    SharingSpec sharing_;
    WallsAround walls_;
    std::unique_ptr<experiment::MpsDaemon> daemon_;
    std::optional<ScratchFolder> leases_;
};

}  // namespace bulkhead::corun
