#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "gpu/sampled.h"
#include "sim/counters.h"

namespace bulkhead::metrics {

// What kernels executed on a GPU that does not time them.

Result executedTable(std::string title);
void addExecuted(Result& table, const std::string& kernel, const gpu::Sampled&, const sim::Counters&);
nlohmann::ordered_json executedJson(const gpu::Sampled&, const sim::Counters&);

}  // namespace bulkhead::metrics
