#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corun/corun.h"

// Specs as JSON: of scenario files, and between the processes of one run. Keys that mean nothing are refused.

namespace bulkhead::corun {

nlohmann::json toJson(const CoRunSpec&);
CoRunSpec coRunFromJson(const nlohmann::json&, const std::string& where);

nlohmann::json toJson(const VictimSpec&);
nlohmann::json toJson(const AggressorSpec&);
/// What it says of a victim, into a spec that says the rest.
void readVictim(const nlohmann::json&, const std::string& where, VictimSpec&);
AggressorSpec readAggressor(const nlohmann::json&, const std::string& where);

}  // namespace bulkhead::corun
