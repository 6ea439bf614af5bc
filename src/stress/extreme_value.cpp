#include "stress/extreme_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/statistics.h"

namespace bulkhead::stress {
namespace {

constexpr std::size_t kLeastBlocks = 20, kBlock = 10;

/// Correlation of each sample with the next.
double lagCorrelation(std::span<const double> samples) {
    const double m = mean(samples);
    double covariance = 0, variance = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        variance += (samples[i] - m) * (samples[i] - m);
        if (i > 0) covariance += (samples[i] - m) * (samples[i - 1] - m);
    }
    return variance > 0 ? covariance / variance : 0;
}

}  // namespace

double Gumbel::cumulative(double x) const {
    return std::exp(-std::exp(-(x - location) / scale));
}

double Gumbel::exceeded(double probability) const {
    return location - scale * std::log(-std::log1p(-probability));
}

Gumbel fitGumbel(std::span<const double> maxima) {
    if (maxima.size() < 2) throw Error("{} maxima: a distribution needs at least two", maxima.size());
    std::vector<double> sorted(maxima.begin(), maxima.end());
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(sorted.size());
    double b0 = 0, b1 = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        b0 += sorted[i] / n;
        b1 += sorted[i] * static_cast<double>(i) / (n * (n - 1));
    }
    constexpr double kEuler = 0.57721566490153286;
    Gumbel fit;
    fit.scale = (2 * b1 - b0) / std::log(2.0);
    fit.location = b0 - kEuler * fit.scale;
    return fit;
}

double andersonDarling(const Gumbel& fit, std::span<const double> maxima) {
    std::vector<double> sorted(maxima.begin(), maxima.end());
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(sorted.size());
    double sum = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        // log F and log(1 - F), with care for the tails
        const double lower = -std::exp(-(sorted[i] - fit.location) / fit.scale);
        const double opposite = -std::exp(-(sorted[sorted.size() - 1 - i] - fit.location) / fit.scale);
        sum += (2 * static_cast<double>(i) + 1) * (lower + std::log(-std::expm1(opposite)));
    }
    return (-n - sum / n) * (1 + 0.2 / std::sqrt(n));
}

WorstCase boundWorstCase(std::span<const double> samples, double probability) {
    WorstCase w;
    w.blockSize = kBlock;
    w.blocks = samples.size() / kBlock;
    if (w.blocks < kLeastBlocks) {
        w.refusal = fmt::format("{} samples: a bound needs {}", samples.size(), kLeastBlocks * kBlock);
        return w;
    }
    const double correlation = lagCorrelation(samples), limit = 3 / std::sqrt(static_cast<double>(samples.size()));
    std::vector<double> maxima;
    for (std::size_t b = 0; b < w.blocks; ++b) maxima.push_back(maximum(samples.subspan(b * kBlock, kBlock)));
    w.fit = fitGumbel(maxima);
    if (!(w.fit.scale > 0)) {
        w.refusal = "the samples do not vary";
        return w;
    }
    w.distance = andersonDarling(w.fit, maxima);
    if (std::abs(correlation) > limit) {
        w.refusal = fmt::format("each sample depends on the one before it (correlation {:.2f})", correlation);
    } else if (!(w.distance <= kGumbelCritical)) {
        w.refusal = fmt::format("the maxima are not Gumbel distributed (Anderson-Darling {:.2f}, at most {})",
                                w.distance, kGumbelCritical);
    } else {
        // A block's maximum stays below x when all of its runs do: P(run > x) = 1 - F(x)^(1 / block).
        const double ofBlock = -std::expm1(static_cast<double>(kBlock) * std::log1p(-probability));
        w.bound = w.fit.exceeded(ofBlock);
    }
    return w;
}

}  // namespace bulkhead::stress
