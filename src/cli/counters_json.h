#pragma once

#include <nlohmann/json.hpp>

#include "sim/counters.h"

namespace bulkhead::cli {

/// Counters with the rates that follow from them, as all results of simulated runs show them.
nlohmann::ordered_json countersJson(const sim::Counters&, Cycles cycles, double seconds);

}  // namespace bulkhead::cli
