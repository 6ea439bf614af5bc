#include "stress/extreme_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"

namespace bulkhead::stress {
namespace {

constexpr std::size_t kLeastSamples = 200, kBlock = 10;
constexpr double kThresholdPercentile = 90;
constexpr double kHeaviestShape = 0.5;
constexpr int kReplicates = 400;

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

std::vector<double> sorted(std::span<const double> samples) {
    std::vector<double> all(samples.begin(), samples.end());
    std::sort(all.begin(), all.end());
    return all;
}

/// From the logarithms of F and of 1 - F at the samples in ascending order, which keep their digits in the tails.
double andersonDarling(const std::vector<double>& logLower, const std::vector<double>& logUpper) {
    const std::size_t n = logLower.size();
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += (2 * static_cast<double>(i) + 1) * (logLower[i] + logUpper[n - 1 - i]);
    return -static_cast<double>(n) - sum / static_cast<double>(n);
}

/// log(1 - F) of an excess.
double logSurvival(const GeneralizedPareto& fit, double excess) {
    const double y = excess / fit.scale;
    if (std::abs(fit.shape) < 1e-9) return -y;
    const double inside = fit.shape * y;
    return inside > -1 ? -std::log1p(inside) / fit.shape : -std::numeric_limits<double>::infinity();
}

std::string badFit(const char* name, const Bound& bound) {
    return fmt::format("samples do not follow a {} distribution (Anderson-Darling distance {:.2f}, limit {:.3g})", name,
                       bound.distance, bound.critical);
}

/// Why no distribution can be fitted; empty where one may be.
std::string unfit(std::span<const double> samples) {
    if (samples.size() < kLeastSamples)
        return fmt::format("{} samples: a bound needs {}", samples.size(), kLeastSamples);
    if (minimum(samples) == maximum(samples)) return "the samples do not vary";
    const double correlation = lagCorrelation(samples);
    if (std::abs(correlation) > 3 / std::sqrt(static_cast<double>(samples.size())))
        return fmt::format("each sample depends on the one before it (lag-1 correlation {:.2f})", correlation);
    return {};
}

Bound boundByGumbel(std::span<const double> samples, double probability) {
    std::vector<double> maxima;
    for (std::size_t first = 0; first + kBlock <= samples.size(); first += kBlock)
        maxima.push_back(maximum(samples.subspan(first, kBlock)));
    Bound bound;
    bound.count = maxima.size();
    bound.critical = kGumbelCritical;
    const Gumbel fit = fitGumbel(maxima);
    if (!(fit.scale > 0)) {
        bound.refusal = "the maxima do not vary";
        return bound;
    }
    bound.distance = andersonDarling(fit, maxima);
    if (!(bound.distance <= bound.critical)) {
        bound.refusal = badFit("Gumbel", bound);
        return bound;
    }
    // A block's maximum stays below x when all of its runs do: P(run > x) = 1 - F(x)^(1 / block).
    bound.value = fit.exceeded(-std::expm1(static_cast<double>(kBlock) * std::log1p(-probability)));
    return bound;
}

Bound boundByPareto(std::span<const double> samples, double probability) {
    const double threshold = percentile(samples, kThresholdPercentile);
    std::vector<double> excesses;
    for (const double x : samples)
        if (x > threshold) excesses.push_back(x - threshold);
    Bound bound;
    bound.count = excesses.size();
    const double share = static_cast<double>(excesses.size()) / static_cast<double>(samples.size());
    if (excesses.size() < kLeastSamples / 20 || probability >= share) {
        bound.refusal = fmt::format("only {} samples exceed the 90th percentile", excesses.size());
        return bound;
    }
    const GeneralizedPareto fit = fitGeneralizedPareto(excesses);
    if (!(fit.scale > 0) || !(fit.shape < kHeaviestShape)) {
        bound.refusal = fmt::format("the tail is too heavy (shape {:.2f}, limit {})", fit.shape, kHeaviestShape);
        return bound;
    }
    bound.distance = andersonDarling(fit, excesses);
    bound.critical = paretoCritical(fit, excesses.size());
    if (!std::isfinite(bound.distance) || bound.distance > bound.critical) {
        bound.refusal = badFit("Pareto", bound);
        return bound;
    }
    bound.value = threshold + fit.exceeded(probability / share);
    return bound;
}

}  // namespace

double Gumbel::exceeded(double probability) const {
    return location - scale * std::log(-std::log1p(-probability));
}

Gumbel fitGumbel(std::span<const double> maxima) {
    if (maxima.size() < 2) throw Error("{} maxima: a distribution needs at least two", maxima.size());
    const std::vector<double> x = sorted(maxima);
    const auto n = static_cast<double>(x.size());
    double b0 = 0, b1 = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        b0 += x[i] / n;
        b1 += x[i] * static_cast<double>(i) / (n * (n - 1));
    }
    constexpr double kEuler = 0.57721566490153286;
    Gumbel fit;
    fit.scale = (2 * b1 - b0) / std::log(2.0);
    fit.location = b0 - kEuler * fit.scale;
    return fit;
}

double andersonDarling(const Gumbel& fit, std::span<const double> maxima) {
    std::vector<double> lower, upper;
    for (const double x : sorted(maxima)) {
        lower.push_back(-std::exp(-(x - fit.location) / fit.scale));
        upper.push_back(std::log(-std::expm1(lower.back())));
    }
    return andersonDarling(lower, upper) * (1 + 0.2 / std::sqrt(static_cast<double>(maxima.size())));
}

double GeneralizedPareto::exceeded(double probability) const {
    const double log = std::log(probability);
    return std::abs(shape) < 1e-9 ? -scale * log : scale * std::expm1(-shape * log) / shape;
}

GeneralizedPareto fitGeneralizedPareto(std::span<const double> excesses) {
    if (excesses.size() < 2) throw Error("{} excesses: a distribution needs at least two", excesses.size());
    const std::vector<double> x = sorted(excesses);
    const auto n = static_cast<double>(x.size());
    double a0 = 0, a1 = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double rank = (static_cast<double>(i) + 0.65) / n;
        a0 += x[i] / n;
        a1 += (1 - rank) * x[i] / n;
    }
    return {2 * a0 * a1 / (a0 - 2 * a1), 2 - a0 / (a0 - 2 * a1)};
}

double andersonDarling(const GeneralizedPareto& fit, std::span<const double> excesses) {
    std::vector<double> lower, upper;
    for (const double x : sorted(excesses)) {
        upper.push_back(logSurvival(fit, x));
        if (std::isinf(upper.back())) return std::numeric_limits<double>::infinity();
        lower.push_back(std::log(-std::expm1(upper.back())));
    }
    return andersonDarling(lower, upper);
}

double paretoCritical(const GeneralizedPareto& fit, std::size_t count) {
    Random random(1);
    std::vector<double> distances, drawn(count);
    for (int i = 0; i < kReplicates; ++i) {
        for (double& x : drawn) x = fit.exceeded(1 - random.uniform());
        const double distance = andersonDarling(fitGeneralizedPareto(drawn), drawn);
        if (std::isfinite(distance)) distances.push_back(distance);
    }
    return distances.empty() ? 0 : percentile(distances, 95);
}

std::optional<double> WorstCase::value() const {
    if (!gumbel.value) return pareto.value;
    return pareto.value ? std::max(*gumbel.value, *pareto.value) : gumbel.value;
}

WorstCase boundWorstCase(std::span<const double> samples, double probability) {
    WorstCase w;
    if (const std::string why = unfit(samples); !why.empty()) {
        w.gumbel.refusal = w.pareto.refusal = why;
        return w;
    }
    w.gumbel = boundByGumbel(samples, probability);
    w.pareto = boundByPareto(samples, probability);
    return w;
}

}  // namespace bulkhead::stress
