#pragma once

#include <string>
#include <vector>

#include "arch/address_map.h"
#include "base/result.h"

namespace bulkhead::cli {

/// How a GPU spreads the beginning of its memory, as heat maps: slices and banks of lines, and colors of pages where
/// pages have any.
std::vector<Result> mapPictures(const arch::AddressMap&);

}  // namespace bulkhead::cli
