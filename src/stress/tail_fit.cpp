#include "stress/tail_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"
#include "stress/probability.h"

namespace bulkhead::stress {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kExponential = 1e-8;  // shapes closer to 0 than that are 0
constexpr int kReplicates = 199, kEnough = 10, kPlenty = 59;
constexpr double kWidest = 50;  // upper limits are looked for up to e^50 times the estimate
// Shapes are estimated too low, so the signed root of the likelihood ratio is not normal around 0: for 50 to 1000
// excesses of shapes from -0.1 to 0.45, its 96th percentile is beyond the normal one by 1.1 / sqrt(n) to 3.6 / sqrt(n),
// by simulation. Without that, limits at 95 % hold in 87 % of samples of 20 excesses and in 92 % of 100.
constexpr double kBias = 3.5;

double sumOf(std::span<const double> values) {
    return mean(values) * static_cast<double>(values.size());
}

/// Excess over scale that is exceeded with this probability.
double standardQuantile(double shape, double probability) {
    const double log = -std::log(probability);
    return std::abs(shape) < kExponential ? log : std::expm1(shape * log) / shape;
}

/// log(1 - F) of an excess.
double logSurvival(const GeneralizedPareto& fit, double excess) {
    const double y = excess / fit.scale;
    if (std::abs(fit.shape) < kExponential) return -y;
    const double inside = fit.shape * y;
    return inside > -1 ? -std::log1p(inside) / fit.shape : -kInfinity;
}

/// Mean of log(1 + slope y): the shape that is most likely where shape / scale is `slope`.
double shapeOf(std::span<const double> excesses, double slope) {
    double sum = 0;
    for (const double y : excesses) sum += std::log1p(slope * y);
    return sum / static_cast<double>(excesses.size());
}

/// The slope, shape over scale, at which the likeliest shape is this one.
double slopeOf(std::span<const double> excesses, double shape, double low, double high) {
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (shapeOf(excesses, middle) < shape ? low : high) = middle;
    }
    return high;
}

}  // namespace

double GeneralizedPareto::exceeded(double probability) const {
    return scale * standardQuantile(shape, probability);
}

double logLikelihood(const GeneralizedPareto& fit, std::span<const double> excesses) {
    if (!(fit.scale > 0)) return -kInfinity;
    const auto n = static_cast<double>(excesses.size());
    if (std::abs(fit.shape) < kExponential) return -n * std::log(fit.scale) - sumOf(excesses) / fit.scale;
    const double slope = fit.shape / fit.scale;
    if (slope * maximum(excesses) <= -1) return -kInfinity;
    return -n * std::log(fit.scale) - (1 + 1 / fit.shape) * n * shapeOf(excesses, slope);
}

GeneralizedPareto fitGeneralizedPareto(std::span<const double> excesses) {
    if (excesses.size() < 2) throw Error("{} excesses: a distribution needs at least two", excesses.size());
    const double average = mean(excesses), most = maximum(excesses);
    if (!(most > 0)) throw Error("excesses that are all 0 have no distribution");
    // In units of the mean, so that steps mean the same whatever the unit of time.
    const double end = -1 / most;
    const double low = slopeOf(excesses, kLightestShape, end, 0);
    double high = 1 / average;
    while (shapeOf(excesses, high) < kHeaviestShape) high *= 2;
    high = slopeOf(excesses, kHeaviestShape, 0, high);
    const auto scaleOf = [&](double slope, double shape) {
        return std::abs(shape) < kExponential ? average : shape / slope;
    };
    // Of what is likeliest for a slope, the logarithm of the likelihood is -n (log(scale) + shape + 1).
    const Extremum best = minimise(
        [&](double slope) {
            const double shape = shapeOf(excesses, slope);
            return std::log(scaleOf(slope, shape)) + shape;
        },
        low, high);
    const double shape = shapeOf(excesses, best.at);
    return {scaleOf(best.at, shape), shape};
}

std::optional<double> upperLimit(const GeneralizedPareto& fit, std::span<const double> excesses, double probability,
                                 double confidence) {
    const double best = logLikelihood(fit, excesses);
    const double root = normalQuantile(confidence) + kBias / std::sqrt(static_cast<double>(excesses.size()));
    const double lost = root * root / 2;
    const auto shortOf = [&](double logExcess) {
        const double excess = std::exp(logExcess);
        const Extremum left = minimise(
            [&](double shape) {
                return -logLikelihood(GeneralizedPareto{excess / standardQuantile(shape, probability), shape},
                                      excesses);
            },
            kLightestShape, 2 * kHeaviestShape);
        return best + left.value - lost;
    };
    const double from = std::log(std::max(fit.exceeded(probability), maximum(excesses)));
    if (shortOf(from) >= 0) return std::exp(from);
    const std::optional<double> limit = rootAbove(shortOf, from, 0.2, from + kWidest);
    return limit ? std::optional(std::exp(*limit)) : std::nullopt;
}

double exponentialUpperLimit(std::span<const double> excesses, double probability, double confidence) {
    const auto n = static_cast<double>(excesses.size());
    return 2 * sumOf(excesses) / chiSquaredQuantile(1 - confidence, 2 * n) * -std::log(probability);
}

double upperTailDistance(const GeneralizedPareto& fit, std::span<const double> excesses) {
    const auto n = static_cast<double>(excesses.size());
    double distance = n / 2, rank = 1;
    for (const double y : ascending(excesses)) {
        const double log = logSurvival(fit, y);
        distance += 2 * std::expm1(log) - (2 - (2 * rank - 1) / n) * log;
        ++rank;
    }
    return distance;
}

double fitPValue(const GeneralizedPareto& fit, std::span<const double> excesses) {
    const double distance = upperTailDistance(fit, excesses);
    Random random(1);
    std::vector<double> drawn(excesses.size());
    int further = 0, i = 1;
    for (; i <= kReplicates; ++i) {
        for (double& y : drawn) y = fit.exceeded(1 - random.uniform());
        further += upperTailDistance(fitGeneralizedPareto(drawn), drawn) >= distance;
        if (further == kEnough) return static_cast<double>(kEnough) / i;
        if (further == 0 && i == kPlenty) break;
    }
    return (further + 1.0) / (std::min(i, kReplicates) + 1.0);
}

double coefficientOfVariation(std::span<const double> excesses) {
    return standardDeviation(excesses) / mean(excesses);
}

double Gumbel::exceeded(double probability) const {
    return location - scale * std::log(-std::log1p(-probability));
}

namespace {

/// The location that is most likely with a scale: exp(-location / scale) is the mean of exp(-x / scale).
Gumbel gumbelOf(std::span<const double> maxima, double scale) {
    const double least = minimum(maxima);
    double sum = 0;
    for (const double x : maxima) sum += std::exp(-(x - least) / scale);
    return {least - scale * std::log(sum / static_cast<double>(maxima.size())), scale};
}

}  // namespace

double logLikelihood(const Gumbel& fit, std::span<const double> maxima) {
    if (!(fit.scale > 0)) return -kInfinity;
    double sum = 0;
    for (const double x : maxima) {
        const double z = (x - fit.location) / fit.scale;
        sum -= z + std::exp(-z);
    }
    return sum - static_cast<double>(maxima.size()) * std::log(fit.scale);
}

Gumbel fitGumbel(std::span<const double> maxima) {
    if (maxima.size() < 2) throw Error("{} maxima: a distribution needs at least two", maxima.size());
    const double deviation = standardDeviation(maxima);
    if (!(deviation > 0)) throw Error("maxima that are all the same have no distribution");
    // The scale of a Gumbel distribution is 0.78 of its deviation; that of samples strays from it.
    const Extremum best = minimise([&](double log) { return -logLikelihood(gumbelOf(maxima, std::exp(log)), maxima); },
                                   std::log(deviation / 20), std::log(deviation * 5));
    return gumbelOf(maxima, std::exp(best.at));
}

std::optional<double> upperLimit(const Gumbel& fit, std::span<const double> maxima, double probability,
                                 double confidence) {
    const double best = logLikelihood(fit, maxima);
    const double lost = chiSquaredQuantile(2 * confidence - 1, 1) / 2;
    const double reach = -std::log(-std::log1p(-probability));
    const auto shortOf = [&](double value) {
        const Extremum left = minimise(
            [&](double log) {
                const double scale = std::exp(log);
                return -logLikelihood(Gumbel{value - reach * scale, scale}, maxima);
            },
            std::log(fit.scale / 10), std::log(fit.scale * 10));
        return best + left.value - lost;
    };
    return rootAbove(shortOf, fit.exceeded(probability), fit.scale, fit.exceeded(probability) + 1e4 * fit.scale);
}

double andersonDarling(const Gumbel& fit, std::span<const double> maxima) {
    const std::vector<double> x = ascending(maxima);
    const std::size_t n = x.size();
    // Logarithms of F and of 1 - F keep their digits in the tails.
    const auto logLower = [&](std::size_t i) { return -std::exp(-(x[i] - fit.location) / fit.scale); };
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
        sum += (2 * static_cast<double>(i) + 1) * (logLower(i) + std::log(-std::expm1(logLower(n - 1 - i))));
    const auto count = static_cast<double>(n);
    return (-count - sum / count) * (1 + 0.2 / std::sqrt(count));
}

}  // namespace bulkhead::stress
