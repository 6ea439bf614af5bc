#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace bulkhead::workloads {

/// A query's attention to keys, one after the other, in double precision. Scores are small enough to need no largest
/// one taken off.
template <std::size_t size>
class Attended {
  public:
    Attended(const float* query, double scale) : query_(query), scale_(scale) {}

    void add(const float* key, const float* value) {
        double score = 0;
        for (std::size_t i = 0; i < size; ++i) score += static_cast<double>(query_[i]) * key[i];
        const double weight = std::exp(score * scale_);
        total_ += weight;
        for (std::size_t i = 0; i < size; ++i) sums_[i] += weight * value[i];
    }
    void store(float* out) const {
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<float>(sums_[i] / total_);
    }

  private:
    const float* query_;
    double scale_, total_ = 0;
    std::array<double, size> sums_ = {};
};

}  // namespace bulkhead::workloads
