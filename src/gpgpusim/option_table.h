#pragma once

#include <string_view>

namespace bulkhead::gpgpusim {

/// Whether GPGPU-Sim or Accel-Sim has an option of this name, where nothing of a profile corresponds to it.
bool hasNoCounterpart(std::string_view option);

}  // namespace bulkhead::gpgpusim
