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
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace bulkhead
