#pragma once

#include <memory>

#include "cli/verbs.h"

namespace bulkhead::cli {

/// Declares `isolate benchmark`, which becomes what is `chosen` when it is typed.
void setUpBenchmark(CommandLine isolate, const std::shared_ptr<Action>& chosen);

}  // namespace bulkhead::cli
