#include "stress/summary.h"

#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"

namespace bulkhead::stress {
namespace {

constexpr int kResamples = 1000;

/// Calls with the indices of each resample.
void resample(std::size_t count, std::uint64_t seed, const std::function<void(const std::vector<std::size_t>&)>& use) {
    Random random(seed);
    std::vector<std::size_t> chosen(count);
    for (int i = 0; i < kResamples; ++i) {
        for (std::size_t& c : chosen) c = random.below(count);
        use(chosen);
    }
}

Interval middle(std::span<const double> values) {
    return {percentile(values, 2.5), percentile(values, 97.5)};
}

std::vector<double> pick(std::span<const double> samples, const std::vector<std::size_t>& chosen) {
    std::vector<double> picked;
    picked.reserve(chosen.size());
    for (const std::size_t i : chosen) picked.push_back(samples[i]);
    return picked;
}

}  // namespace

Summary summarize(std::span<const double> samples, std::uint64_t seed) {
    using Statistic = double (*)(std::span<const double>);
    Summary s;
    s.count = samples.size();
    s.minimum = minimum(samples);
    s.maximum = maximum(samples);
    const std::pair<Estimate*, Statistic> statistics[] = {
        {&s.mean, mean},
        {&s.median, [](std::span<const double> v) { return percentile(v, 50); }},
        {&s.p95, [](std::span<const double> v) { return percentile(v, 95); }},
        {&s.p99, [](std::span<const double> v) { return percentile(v, 99); }},
        {&s.deviation, standardDeviation},
    };
    std::vector<double> resampled[std::size(statistics)];
    resample(samples.size(), seed, [&](const std::vector<std::size_t>& chosen) {
        const std::vector<double> picked = pick(samples, chosen);
        for (std::size_t i = 0; i < std::size(statistics); ++i) resampled[i].push_back(statistics[i].second(picked));
    });
    for (std::size_t i = 0; i < std::size(statistics); ++i)
        *statistics[i].first = {statistics[i].second(samples), middle(resampled[i])};
    return s;
}

Estimate slowdown(std::span<const double> alone, std::span<const double> together, std::uint64_t seed) {
    if (alone.size() != together.size() || alone.empty())
        throw Error("{} samples alone and {} together: they come in pairs", alone.size(), together.size());
    std::vector<double> factors;
    resample(alone.size(), seed, [&](const std::vector<std::size_t>& chosen) {
        factors.push_back(mean(pick(together, chosen)) / mean(pick(alone, chosen)));
    });
    return {mean(together) / mean(alone), middle(factors)};
}

}  // namespace bulkhead::stress
