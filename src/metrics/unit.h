#pragma once

#include <string_view>

namespace bulkhead::metrics {

/// What a number in this unit of Nsight Compute has to be multiplied with to be in bytes, seconds, hertz, or whatever
/// is counted: 1e6 for Mbyte, 1e-6 for us and usecond, 1e9 for Gbyte/s. 1 where the unit has no prefix, and for %.
double factorOf(std::string_view unit);

}  // namespace bulkhead::metrics
