#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stress/stress.h"

namespace bulkhead::stress {

/// Names of the ways in which a victim and an aggressor can share a GPU.
const std::vector<std::string>& waysOfSharing();
/// The same name. Throws Error that lists them.
std::string wayOfSharing(const std::string& name);

/// A JSON file that says everything of a run but where its results go. Throws Error, which begins with `where`.
Options scenarioFromJson(const nlohmann::json&, const std::string& where);
Options readScenario(const std::string& path);

/// Throws Error for names that do not exist and options that no GPU can satisfy, before anything runs.
void validate(const Options&);
/// Throws Error unless a run may exceed a bound with this probability.
void expectProbability(double exceedance);

}  // namespace bulkhead::stress
