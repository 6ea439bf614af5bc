#pragma once

#include <vector>

#include "workloads/caffe/network.h"

namespace bulkhead::workloads::caffe {

/// The output of every layer, computed on the CPU in double precision.
std::vector<std::vector<double>> referenceOutputs(const std::vector<Layer>&, std::uint64_t seed,
                                                  const std::vector<float>& image);

}  // namespace bulkhead::workloads::caffe
