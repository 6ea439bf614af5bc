#pragma once

#include <nlohmann/json_fwd.hpp>

namespace bulkhead::arch {

/// The JSON schema of a profile's file, from the table of parameters that reads it.
nlohmann::ordered_json profileSchema();

}  // namespace bulkhead::arch
