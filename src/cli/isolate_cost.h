#pragma once

#include <memory>

#include "cli/verbs.h"

namespace bulkhead::cli {

/// Declares `isolate cost`, which becomes what is `chosen` when it is typed.
void setUpCost(CommandLine isolate, const std::shared_ptr<Action>& chosen);

}  // namespace bulkhead::cli
