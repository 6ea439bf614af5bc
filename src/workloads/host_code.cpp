#include "workloads/host_code.h"

namespace bulkhead::workloads {

std::vector<float> uniformFloats(Random& random, std::size_t count, float low, float high) {
    std::vector<float> out(count);
    for (float& value : out) value = low + static_cast<float>(random.uniform()) * (high - low);
    return out;
}

}  // namespace bulkhead::workloads
