#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bulkhead::workloads {

/// Runs a workload at test size, and then damages each of its arrays in device memory, one element at a time: the first
/// and the middle one, by a thousandth. Sizes of the arrays in which the check noticed both.
std::vector<std::size_t> bytesOfCaught(const std::string& workload);

}  // namespace bulkhead::workloads
