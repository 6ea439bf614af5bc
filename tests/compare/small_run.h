#pragma once

#include <memory>
#include <string>

#include "compare/run.h"
#include "experiment/local_executor.h"

namespace bulkhead::compare {

/// A run of a workload's smallest input.
inline RunSpec small(const std::string& workload, const std::string& scheduler = "gto") {
    RunSpec spec;
    spec.workload = workload;
    spec.scheduler = scheduler;
    spec.size = workloads::Size::test;
    return spec;
}

inline std::shared_ptr<experiment::Executor> local(unsigned jobs, experiment::ShowProgress progress = {}) {
    return std::make_shared<experiment::LocalExecutor>(jobs, std::move(progress));
}

}  // namespace bulkhead::compare
