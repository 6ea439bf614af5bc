#pragma once

#include <vector>

#include "compare/store.h"

namespace bulkhead::compare {

/// Each specification with the carve-out of shared memory (sm.carveout) under which it has the most instructions a
/// cycle: of those that its GPU has, and of none, which gives blocks what they need and L1D the rest. That is none
/// where it is as good. GPUs that have no choice keep what they have.
std::vector<RunSpec> withBestCarveouts(RunBatch&, std::vector<RunSpec>);

}  // namespace bulkhead::compare
