#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace bulkhead::stress {

/// Each limit by itself is wrong once in forty times. Nothing where so few samples set none.
struct Interval {
    std::optional<double> low, high;
};

/// With a 95 % interval.
struct Estimate {
    double value = 0;
    Interval interval;
};

/// What samples of a time say. The least and the greatest have no interval: nothing is known beyond them.
///
/// - mean: Student's t, exact where times are normal and near it where there are some tens of samples.
/// - median, p95, p99: order statistics, whatever the distribution. 6 samples give the median both limits, 72 the 95th
///   percentile, 368 the 99th.
/// - deviation: Bonett's interval (2006), which allows for the kurtosis of the samples; from 10 samples on.
struct Summary {
    std::size_t count = 0;
    double minimum = 0, maximum = 0;
    Estimate mean, median, p95, p99, deviation;
};
/// Throws Error if there are no samples.
Summary summarize(std::span<const double> samples);

/// How many times as long: mean of `together` over mean of `alone`, with Fieller's interval of a ratio of paired means.
/// Throws Error unless there are as many of both, and some.
Estimate slowdown(std::span<const double> alone, std::span<const double> together);

}  // namespace bulkhead::stress
