#pragma once

#include "base/result.h"
#include "isolate/plan.h"

namespace bulkhead::isolate {

/// Every SM and every L2 slice of a GPU with the partition that has it, drawn as the GPU is.
Result pictureOf(const Plan&);

}  // namespace bulkhead::isolate
