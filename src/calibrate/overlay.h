#pragma once

#include <string>
#include <vector>

#include "calibrate/calibrate.h"

namespace bulkhead::calibrate {

/// Puts figures into a profile, each with its source, which ends with `where`: a GPU and its driver. One that the
/// profile cannot have beside the others is left out and says why.
void overlay(arch::DeviceProfile&, std::vector<Figure>&, const std::string& where);

}  // namespace bulkhead::calibrate
