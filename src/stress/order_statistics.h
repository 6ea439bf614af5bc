#pragma once

#include <cstddef>
#include <optional>

namespace bulkhead::stress {

// Limits of a quantile that hold whatever the distribution: how many of n independent samples lie below it is binomial.

/// The least rank, from 1, whose sample is at or above the quantile with this confidence. Nothing where n samples are
/// too few for any.
std::optional<std::size_t> rankAbove(std::size_t n, double quantile, double confidence);
/// The greatest rank whose sample is at or below it.
std::optional<std::size_t> rankBelow(std::size_t n, double quantile, double confidence);

}  // namespace bulkhead::stress
