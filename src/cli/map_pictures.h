#pragma once

#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "base/result.h"

namespace bulkhead::cli {

/// The GPU as it is, and how it spreads the beginning of its memory: where each line lies, and colors of pages where
/// pages have any.
std::vector<Result> mapPictures(const arch::DeviceProfile&);

}  // namespace bulkhead::cli
