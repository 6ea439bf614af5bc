#pragma once

#include <string_view>
#include <vector>

namespace bulkhead::arch {

struct EmbeddedProfile {
    std::string_view name, json;
};

/// The files of profiles/, as they were when the program was built, sorted by name.
const std::vector<EmbeddedProfile>& embeddedProfiles();

}  // namespace bulkhead::arch
