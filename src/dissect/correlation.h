#pragma once

#include <cmath>
#include <numeric>

namespace bulkhead::dissect {

/// Of two rows of as many numbers, from -1 to 1; 0 where one of them does not vary.
template <class Row>
double correlation(const Row& a, const Row& b) {
    const auto n = static_cast<double>(a.size());
    const double meanA = std::accumulate(a.begin(), a.end(), 0.0) / n,
                 meanB = std::accumulate(b.begin(), b.end(), 0.0) / n;
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a[i] - meanA, y = b[i] - meanB;
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return aa == 0 || bb == 0 ? 0 : ab / std::sqrt(aa * bb);
}

}  // namespace bulkhead::dissect
