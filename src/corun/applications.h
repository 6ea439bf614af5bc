#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace bulkhead::corun {

/// What can run in a partition: a workload by its name, or
/// - "latency": one thread that follows a ring through memory and waits for each access
/// - "stream": all threads read and write memory that no cache holds; "stream-l2": that L2 holds
/// - "gather": all threads read words from all over memory that no cache holds
/// - "compute": all threads compute, and touch hardly any memory
/// - for measurements of tenants themselves: "empty" (a kernel that does nothing), "fault" (one that writes where
///   nothing is), "lasting" (one of 20 seconds).
/// Throws Error.
std::unique_ptr<workloads::Instance> makeInstance(gpu::Context&, const std::string& name, workloads::Size,
                                                  std::uint64_t seed);
/// The ones that are no workloads.
const std::vector<std::string>& ownApplications();
/// Throws Error if people cannot choose such an application.
void expectApplication(const std::string& name);

}  // namespace bulkhead::corun
