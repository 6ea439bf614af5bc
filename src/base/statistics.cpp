#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace bulkhead {

namespace {

void requireSamples(std::span<const double> samples) {
    if (samples.empty()) throw Error("statistics of no samples");
}

}  // namespace

std::vector<double> ascending(std::span<const double> samples) {
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

double mean(std::span<const double> samples) {
    requireSamples(samples);
    // A running mean does not lose small samples beside a large sum, and does not overflow.
    double m = 0;
    double n = 0;
    for (double x : samples) m += (x - m) / ++n;
    return m;
}

double geometricMean(std::span<const double> samples) {
    std::vector<double> logarithms;
    for (double x : samples) {
        if (!(x > 0)) throw Error("geometric mean of {}: samples must be positive", x);
        logarithms.push_back(std::log(x));
    }
    return std::exp(mean(logarithms));
}

double minimum(std::span<const double> samples) {
    requireSamples(samples);
    return *std::min_element(samples.begin(), samples.end());
}

double maximum(std::span<const double> samples) {
    requireSamples(samples);
    return *std::max_element(samples.begin(), samples.end());
}

double standardDeviation(std::span<const double> samples) {
    const double m = mean(samples);
    if (samples.size() == 1) return 0;
    double squares = 0;
    for (double x : samples) squares += (x - m) * (x - m);
    return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

double percentile(std::span<const double> samples, double percent) {
    requireSamples(samples);
    if (!(percent >= 0 && percent <= 100)) throw Error("percentile {}: must be from 0 to 100", percent);
    const std::vector<double> sorted = ascending(samples);
    const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double studentT95(std::size_t degreesOfFreedom) {
    static constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                        2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                        2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (degreesOfFreedom == 0) throw Error("a confidence interval of a single sample");
    if (degreesOfFreedom <= std::size(kTable)) return kTable[degreesOfFreedom - 1];
    // The beginning of the quantile's expansion around the normal one: right to three digits from here on.
    const auto n = static_cast<double>(degreesOfFreedom);
    return 1.95996 + 2.3723 / n + 2.8225 / (n * n);
}

}  // namespace bulkhead
