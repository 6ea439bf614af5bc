#pragma once

#include <cstdint>

#include "arch/device_profile.h"

namespace bulkhead::arch {

/// Of the profiles that ship, that whose compute capability is nearest to this one, then whose SMs are nearest in
/// number.
DeviceProfile nearestProfile(int major, int minor, std::int64_t sms);

}  // namespace bulkhead::arch
