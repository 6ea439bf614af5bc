#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace bulkhead::serve {

/// The page itself, with its scripts and styles. What it shows comes later; `setup` is what does not change.
std::string page(const nlohmann::ordered_json& setup);

}  // namespace bulkhead::serve
