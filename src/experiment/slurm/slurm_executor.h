#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiment/executor.h"

namespace bulkhead::experiment::slurm {

struct SlurmSettings {
    std::filesystem::path store;       ///< which nodes see under the same name
    std::string program;               ///< what tells builds apart
    std::string command;               ///< what runs this program on a node, as a shell takes it
    std::vector<std::string> options;  ///< for sbatch
    unsigned atOnce = 0;               ///< tasks; 0: as many as Slurm likes
    std::function<void(const std::string&)> notice = [](const std::string&) {};  ///< a line
};

/// Runs as job arrays of Slurm. Results come through the store, so that the jobs do not need this process: it can end
/// at any time, and the next one that wants the same runs goes on with those jobs. What the store has is done; who is
/// alive, squeue tells. Runs that are lost are submitted again, a few times.
class SlurmExecutor : public Executor {
  public:
    /// Throws Error where there is no Slurm, and for options that are none.
    explicit SlurmExecutor(SlurmSettings, ShowProgress progress = {});
    void execute(const RunList&) override;

  private:
    SlurmSettings settings_;
    ShowProgress progress_;
};

}  // namespace bulkhead::experiment::slurm
