#include "stress/summary.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"

namespace bulkhead::stress {
namespace {

constexpr int kResamples = 1000;

/// The middle 95 % of what a statistic gives on resampled indices.
Interval bootstrap(std::size_t count, std::uint64_t seed,
                   const std::function<double(const std::vector<std::size_t>&)>& statistic) {
    Random random(seed);
    std::vector<double> values;
    std::vector<std::size_t> chosen(count);
    for (int i = 0; i < kResamples; ++i) {
        for (std::size_t& c : chosen) c = random.below(count);
        values.push_back(statistic(chosen));
    }
    return {percentile(values, 2.5), percentile(values, 97.5)};
}

double meanOf(std::span<const double> samples, const std::vector<std::size_t>& chosen) {
    double sum = 0;
    for (const std::size_t i : chosen) sum += samples[i];
    return sum / static_cast<double>(chosen.size());
}

}  // namespace

Summary summarize(std::span<const double> samples, std::uint64_t seed) {
    Summary s;
    s.count = samples.size();
    s.minimum = minimum(samples);
    s.mean = mean(samples);
    s.median = percentile(samples, 50);
    s.p95 = percentile(samples, 95);
    s.p99 = percentile(samples, 99);
    s.maximum = maximum(samples);
    s.deviation = standardDeviation(samples);
    s.meanInterval = bootstrap(samples.size(), seed, [&](const auto& chosen) { return meanOf(samples, chosen); });
    return s;
}

Slowdown slowdown(std::span<const double> alone, std::span<const double> together, std::uint64_t seed) {
    if (alone.size() != together.size() || alone.empty())
        throw Error("{} samples alone and {} together: they come in pairs", alone.size(), together.size());
    return {mean(together) / mean(alone), bootstrap(alone.size(), seed, [&](const auto& chosen) {
                return meanOf(together, chosen) / meanOf(alone, chosen);
            })};
}

}  // namespace bulkhead::stress
