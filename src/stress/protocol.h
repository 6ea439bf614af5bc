#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stress/aggressor.h"
#include "stress/victim.h"

// What the processes of one run tell each other.

namespace bulkhead::stress {

nlohmann::json toJson(const VictimRun&);
VictimRun runFromJson(const nlohmann::json&);
nlohmann::json toJson(const AggressorReport&);
AggressorReport reportFromJson(const nlohmann::json&);

}  // namespace bulkhead::stress
