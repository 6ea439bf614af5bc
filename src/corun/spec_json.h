#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/json.h"
#include "corun/arena.h"

// Specs as JSON: of scenario files, and between the processes of one run. Keys that mean nothing are refused.

namespace bulkhead::corun {

nlohmann::json toJson(const ArenaSpec&);
ArenaSpec arenaFromJson(const nlohmann::json&, const std::string& where);

AggressorSpec readAggressor(const nlohmann::json&, const std::string& where);
/// All but its placement and its aggressor.
void readCommon(JsonObject&, ArenaSpec&);

}  // namespace bulkhead::corun
