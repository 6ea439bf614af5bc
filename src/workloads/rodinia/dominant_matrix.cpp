#include "workloads/rodinia/dominant_matrix.h"

#include "workloads/host_code.h"

namespace bulkhead::workloads {

std::vector<float> dominantMatrix(Random& random, std::size_t n) {
    std::vector<float> matrix = uniformFloats(random, n * n, -1, 1);
    for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += static_cast<float>(n);
    return matrix;
}

}  // namespace bulkhead::workloads
