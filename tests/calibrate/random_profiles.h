#pragma once

#include <string>

#include "arch/device_profile.h"

namespace bulkhead::calibrate {

/// A GPU that nobody built: what calibrate can measure is drawn at random, within what a profile may have and so that
/// one parameter does not hide another. What it cannot measure, and takes from its base, follows from `structure`
/// alone: schedulers, units, widths of ports, the address map.
arch::DeviceProfile randomProfile(std::uint64_t structure, std::uint64_t seed);

/// Writes a profile; what opens its GPU.
std::string writtenProfile(const arch::DeviceProfile&, const std::string& file);

}  // namespace bulkhead::calibrate
