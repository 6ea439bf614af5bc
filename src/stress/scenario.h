#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stress/stress.h"

namespace bulkhead::stress {

/// Ways of sharing that victims and aggressors can be put into.
const std::vector<std::string>& placements();
/// The same name. Throws Error that lists them.
std::string placementOf(const std::string& name);

/// A JSON file that says everything of a run but where its results go. Throws Error, which begins with `where`.
Options scenarioFromJson(const nlohmann::json&, const std::string& where);
Options readScenario(const std::string& path);

/// Throws Error for names that do not exist and dials that no GPU can be turned to, before anything runs.
void validate(const Options&);

}  // namespace bulkhead::stress
