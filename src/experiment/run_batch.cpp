#include "experiment/run_batch.h"

#include <chrono>

namespace bulkhead::experiment {

void inProcesses(std::size_t count, unsigned jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, const WorkResult&)>& ended,
                 const std::function<std::string(std::size_t)>& label, const ShowProgress& progress) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t done = 0;
    inProcesses(count, jobs, work, [&](std::size_t n, const WorkResult& result) {
        ++done;
        ended(n, result);
        if (!progress) return;
        const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        progress({done, count, elapsed / static_cast<double>(done) * static_cast<double>(count - done), label(n)});
    });
}

}  // namespace bulkhead::experiment
