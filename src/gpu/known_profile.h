#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/device_profile.h"

namespace bulkhead::gpu {

/// Everything about a GPU that need not be open, with some parameters set to KEY=VALUE; nothing where nobody knows it.
/// Throws Error: no such profile or parameter.
std::optional<arch::DeviceProfile> knownProfile(std::string_view gpu, const std::vector<std::string>& settings);

}  // namespace bulkhead::gpu
