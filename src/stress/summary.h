#pragma once

#include <cstdint>
#include <span>

namespace bulkhead::stress {

struct Interval {
    double low = 0, high = 0;
};

/// With a 95 % interval, by bootstrap.
struct Estimate {
    double value = 0;
    Interval interval;
};

/// What samples of a time say. The least and the greatest have no interval: resampling never goes beyond them.
struct Summary {
    std::size_t count = 0;
    double minimum = 0, maximum = 0;
    Estimate mean, median, p95, p99, deviation;
};
/// Throws Error if there are no samples.
Summary summarize(std::span<const double> samples, std::uint64_t seed);

/// How many times as long: mean of `together` over mean of `alone`, resampled by pairs. Throws Error unless there are
/// as many of both, and some.
Estimate slowdown(std::span<const double> alone, std::span<const double> together, std::uint64_t seed);

}  // namespace bulkhead::stress
