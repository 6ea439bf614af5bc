#pragma once

#include <string>

namespace bulkhead::libcuda {

/// A kernel as the source has it: void scale<float>(float*, int).
std::string signatureOf(const std::string& kernel);
/// Without its parameters and the void that templates begin with, at most 60 letters of it, for a narrow column.
std::string shortName(const std::string& kernel);

}  // namespace bulkhead::libcuda
