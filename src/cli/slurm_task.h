#pragma once

#include <string>

namespace bulkhead::cli {

/// On a node of a cluster: a task of the job array whose folder this is. Returns an exit code.
int doSlurmTask(const std::string& submission, const std::string& task);

}  // namespace bulkhead::cli
