#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"

namespace bulkhead::workloads {

/// A matrix of the host, row by row.
struct Matrix {
    std::size_t rows = 0, columns = 0;
    std::vector<float> values;

    const float* row(std::size_t i) const { return values.data() + i * columns; }
    std::size_t bytes() const { return values.size() * sizeof(float); }
};

/// Entries uniform from 0 to 1.
Matrix uniformMatrix(Random&, std::size_t rows, std::size_t columns);

// CPU references, computed in double precision.

/// a . x
std::vector<double> product(const Matrix& a, const std::vector<double>& x);
/// a transposed . x
std::vector<double> transposedProduct(const Matrix& a, const std::vector<double>& x);
/// a . b, row by row
std::vector<double> product(const Matrix& a, const Matrix& b);
Matrix transposed(const Matrix&);

std::vector<double> widened(const std::vector<float>&);
std::vector<float> rounded(const std::vector<double>&);

/// How far a sum of that many terms of one sign, added one after the other in single precision, may be from the exact
/// one, as a share of it. Rounding errors add up as a random walk does: this is several standard deviations, and still
/// less than an average term while there are fewer than 26 000.
double sumTolerance(std::size_t terms);

}  // namespace bulkhead::workloads
