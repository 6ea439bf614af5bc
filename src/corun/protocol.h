#pragma once

#include <nlohmann/json_fwd.hpp>

#include "corun/actor.h"

// What the processes of one run tell each other. What was told wrongly is an Error, which begins with `where`.

namespace bulkhead::corun {

nlohmann::json toJson(const ActorRun&);
ActorRun runFromJson(const nlohmann::json&, const std::string& where);
nlohmann::json toJson(const ActorReport&);
ActorReport reportFromJson(const nlohmann::json&, const std::string& where);

}  // namespace bulkhead::corun
