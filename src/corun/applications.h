#pragma once

#include <memory>
#include <string>

#include "workloads/workload.h"

namespace bulkhead::corun {

/// What can run in a partition: a workload by its name, "latency" (one thread that follows a ring through memory and
/// waits for each access), or "stream" (all threads read and write memory that no cache holds). Throws Error.
std::unique_ptr<workloads::Instance> makeInstance(gpu::Context&, const std::string& name, workloads::Size,
                                                  std::uint64_t seed);
/// Throws Error if there is no such application.
void expectApplication(const std::string& name);

}  // namespace bulkhead::corun
