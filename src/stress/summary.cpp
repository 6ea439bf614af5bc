#include "stress/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"
#include "stress/order_statistics.h"
#include "stress/probability.h"

namespace bulkhead::stress {
namespace {

constexpr double kLimit = 0.975;  // of each limit of an interval of 95 %
constexpr std::size_t kLeastForDeviation = 10;

Interval intervalOfMean(std::span<const double> samples) {
    if (samples.size() < 2) return {};
    const double m = mean(samples);
    const double half = studentQuantile(kLimit, samples.size() - 1) * standardDeviation(samples) /
                        std::sqrt(static_cast<double>(samples.size()));
    return {m - half, m + half};
}

Estimate quantileOf(const std::vector<double>& sorted, double percent) {
    Estimate e;
    e.value = percentile(sorted, percent);
    // Between few samples, the value may lie beyond a limit that is right; a wider one is right as well.
    if (const auto rank = rankBelow(sorted.size(), percent / 100, kLimit))
        e.interval.low = std::min(sorted[*rank - 1], e.value);
    if (const auto rank = rankAbove(sorted.size(), percent / 100, kLimit))
        e.interval.high = std::max(sorted[*rank - 1], e.value);
    return e;
}

/// Without the greatest and the least, 1 / (2 sqrt(n - 4)) of the samples at each end.
double trimmedMean(const std::vector<double>& sorted) {
    const auto n = static_cast<double>(sorted.size());
    const auto cut = static_cast<std::size_t>(n / (2 * std::sqrt(n - 4)));
    return mean(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

Interval intervalOfDeviation(const std::vector<double>& sorted) {
    const double deviation = standardDeviation(sorted);
    if (sorted.size() < kLeastForDeviation || !(deviation > 0)) return {};
    const auto n = static_cast<double>(sorted.size());
    const double z = normalQuantile(kLimit), middle = trimmedMean(sorted);
    double fourth = 0;
    for (const double x : sorted) fourth += std::pow(x - middle, 4);
    const double squares = (n - 1) * deviation * deviation;
    const double kurtosis = n * fourth / (squares * squares);
    const double c = n / (n - z);
    const double error = c * std::sqrt((kurtosis - (n - 3) / n) / (n - 1));
    return {deviation * std::sqrt(c * std::exp(-z * error)), deviation * std::sqrt(c * std::exp(z * error))};
}

double covariance(std::span<const double> a, std::span<const double> b) {
    const double meanA = mean(a), meanB = mean(b);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - meanA) * (b[i] - meanB);
    return sum / static_cast<double>(a.size() - 1);
}

}  // namespace

Summary summarize(std::span<const double> samples) {
    Summary s;
    s.count = samples.size();
    s.minimum = minimum(samples);
    s.maximum = maximum(samples);
    const std::vector<double> sorted = ascending(samples);
    s.mean = {mean(samples), intervalOfMean(samples)};
    s.median = quantileOf(sorted, 50);
    s.p95 = quantileOf(sorted, 95);
    s.p99 = quantileOf(sorted, 99);
    s.deviation = {standardDeviation(samples), intervalOfDeviation(sorted)};
    return s;
}

Estimate slowdown(std::span<const double> alone, std::span<const double> together) {
    if (alone.size() != together.size() || alone.empty())
        throw Error("{} samples alone and {} together: they come in pairs", alone.size(), together.size());
    const double a = mean(alone), b = mean(together);
    Estimate e{b / a, {}};
    if (alone.size() < 2) return e;
    // Ratios r for which the mean of together - r alone is not told from 0: (b - r a)^2 <= t^2 var(b - r a) / n.
    const double t = studentQuantile(kLimit, alone.size() - 1), share = t * t / static_cast<double>(alone.size());
    const double square = a * a - share * covariance(alone, alone);
    const double half = a * b - share * covariance(alone, together);
    const double rest = b * b - share * covariance(together, together);
    // Where the mean alone is not told from 0, any ratio may be.
    if (!(square > 0)) return e;
    const double root = std::sqrt(std::max(0.0, half * half - square * rest));
    e.interval = {(half - root) / square, (half + root) / square};
    return e;
}

}  // namespace bulkhead::stress
