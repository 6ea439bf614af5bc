#pragma once

#include <string>
#include <string_view>

namespace bulkhead::metrics {

/// The name of a kernel as both sides have it, whoever wrote it: demangled, without its parameters, the type that it
/// returns, and spaces. "_Z5scaleIfEvPT_", "void scale<float>(float *)" and "scale<float>" are all scale<float>.
std::string kernelName(std::string_view written);

}  // namespace bulkhead::metrics
