#pragma once

#include "experiment/executor.h"

namespace bulkhead::experiment {

/// Runs in processes of this machine, which end with this one.
class LocalExecutor : public Executor {
  public:
    /// `jobs`: how many at a time.
    explicit LocalExecutor(unsigned jobs, ShowProgress progress = {}) : jobs_(jobs), progress_(std::move(progress)) {}
    void execute(const RunList&) override;

  private:
    unsigned jobs_;
    ShowProgress progress_;
};

}  // namespace bulkhead::experiment
