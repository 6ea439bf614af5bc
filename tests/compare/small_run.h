#pragma once

#include <string>

#include "compare/run.h"

namespace bulkhead::compare {

/// A run of a workload's smallest input.
inline RunSpec small(const std::string& workload, const std::string& scheduler = "gto") {
    RunSpec spec;
    spec.workload = workload;
    spec.scheduler = scheduler;
    spec.size = workloads::Size::test;
    return spec;
}

}  // namespace bulkhead::compare
