#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bulkhead {

std::vector<double> ascending(std::span<const double>);

// Of samples; every one throws Error if there are none.
double mean(std::span<const double>);
double geometricMean(std::span<const double>);  ///< throws Error if a sample is not positive
double minimum(std::span<const double>);
double maximum(std::span<const double>);
double standardDeviation(std::span<const double>);  ///< of the population they are a sample of; 0 for a single one
/// The value that `percent` of the samples do not exceed, interpolated between neighbours.
double percentile(std::span<const double>, double percent);
/// Student's t: the factor of a standard error that makes a two-sided interval of 95 % of it. Throws Error if there is
/// no degree of freedom.
double studentT95(std::size_t degreesOfFreedom);

}  // namespace bulkhead
