#pragma once

#include <cstdint>
#include <span>

namespace bulkhead::stress {

struct Interval {
    double low = 0, high = 0;
};

/// What samples of a time say.
struct Summary {
    std::size_t count = 0;
    double minimum = 0, mean = 0, median = 0, p95 = 0, p99 = 0, maximum = 0, deviation = 0;
    Interval meanInterval;  ///< 95 %, by bootstrap
};
/// Throws Error if there are no samples.
Summary summarize(std::span<const double> samples, std::uint64_t seed);

/// How many times as long: mean of `together` over mean of `alone`, with a 95 % interval by bootstrap over pairs.
/// Throws Error unless there are as many of both, and some.
struct Slowdown {
    double factor = 1;
    Interval interval;
};
Slowdown slowdown(std::span<const double> alone, std::span<const double> together, std::uint64_t seed);

}  // namespace bulkhead::stress
