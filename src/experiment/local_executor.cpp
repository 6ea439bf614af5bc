#include "experiment/local_executor.h"

namespace bulkhead::experiment {

void LocalExecutor::execute(const RunList& runs) {
    const Estimate estimate;
    std::size_t done = 0;
    inProcesses(runs.count, runs.oneAtATime ? 1 : jobs_, runs.execute, [&](std::size_t n, const WorkResult& result) {
        ++done;
        runs.finish(n, result);
        if (progress_) progress_({done, runs.count, estimate.secondsLeft(done, runs.count), runs.label(n)});
    });
}

}  // namespace bulkhead::experiment
