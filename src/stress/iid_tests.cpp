#include "stress/iid_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/statistics.h"
#include "stress/probability.h"

namespace bulkhead::stress {
namespace {

constexpr std::size_t kMostLags = 100;
constexpr int kFewShuffles = 119, kMostShuffles = 800, kEnoughGreater = 20;

std::vector<double> centred(std::span<const double> samples) {
    const double m = mean(samples);
    std::vector<double> d;
    d.reserve(samples.size());
    for (const double x : samples) d.push_back(x - m);
    return d;
}

double sumOfProducts(const std::vector<double>& d, std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < d.size(); ++i) sum += d[i] * d[i - lag];
    return sum;
}

struct Correlations {
    double q = 0, strongest = 0;
    std::size_t at = 1;
};

Correlations correlationsOf(const std::vector<double>& d, std::size_t lags) {
    const auto n = static_cast<double>(d.size());
    const double variance = sumOfProducts(d, 0);
    Correlations c;
    for (std::size_t lag = 1; lag <= lags; ++lag) {
        const double r = sumOfProducts(d, lag) / variance;
        c.q += n * (n + 2) * r * r / (n - static_cast<double>(lag));
        if (std::abs(r) > std::abs(c.strongest)) {
            c.strongest = r;
            c.at = lag;
        }
    }
    return c;
}

/// How often the same samples in another order have a greater q: whatever the distribution. A few samples far out make
/// it stray further than a chi-squared number.
double shuffledAbove(std::vector<double> d, std::size_t lags, double q) {
    Random random(1);
    int greater = 0, i = 1;
    for (; i < kMostShuffles; ++i) {
        for (std::size_t k = d.size() - 1; k > 0; --k) std::swap(d[k], d[random.below(k + 1)]);
        greater += correlationsOf(d, lags).q >= q;
        if (greater == kEnoughGreater) return static_cast<double>(greater) / i;
        if (greater == 0 && i == kFewShuffles) break;
    }
    return (greater + 1.0) / (i + 1.0);
}

}  // namespace

IidTest ljungBox(std::span<const double> samples) {
    std::vector<double> d = centred(samples);
    const std::size_t lags = std::min(samples.size() / 4, kMostLags);
    const Correlations found = correlationsOf(d, lags);
    double pValue = chiSquaredAbove(found.q, static_cast<double>(lags));
    if (pValue < kIidLevel) pValue = std::max(pValue, shuffledAbove(d, lags, found.q));
    return {"Ljung-Box",
            fmt::format("samples depend on ones before them (correlation {:.2f} at a distance of {})", found.strongest,
                        found.at),
            found.q, pValue};
}

IidTest halves(std::span<const double> samples) {
    const std::size_t half = samples.size() / 2;
    const std::vector<double> first = ascending(samples.first(half)), second = ascending(samples.subspan(half));
    const auto a = static_cast<double>(first.size()), b = static_cast<double>(second.size());
    double most = 0;
    for (std::size_t i = 0, j = 0; i < first.size() && j < second.size();) {
        const double x = std::min(first[i], second[j]);
        while (i < first.size() && first[i] == x) ++i;
        while (j < second.size() && second[j] == x) ++j;
        most = std::max(most, std::abs(static_cast<double>(i) / a - static_cast<double>(j) / b));
    }
    return {"Kolmogorov-Smirnov", "the first half of the samples and the second are distributed differently", most,
            kolmogorovAbove(std::sqrt(a * b / (a + b)) * most)};
}

IidTest runsTest(std::span<const double> samples) {
    const double median = percentile(samples, 50);
    double above = 0, below = 0, runs = 0;
    int side = 0;
    for (const double x : samples) {
        if (x == median) continue;
        const int now = x > median ? 1 : -1;
        (now > 0 ? above : below) += 1;
        runs += now != side;
        side = now;
    }
    const double n = above + below;
    const double expected = 2 * above * below / n + 1, variance = (expected - 1) * (expected - 2) / (n - 1);
    // Half of them are one value, or nearly: which side the others are on says nothing.
    if (!(variance > 0)) return {"runs", "", runs, 1};
    const double z = (runs - expected) / std::sqrt(variance);
    return {"runs",
            fmt::format("samples above and below the median come in {} rather than {:.0f} runs", runs, expected), runs,
            2 * normalCdf(-std::abs(z))};
}

IidTest kpss(std::span<const double> samples) {
    const std::vector<double> d = centred(samples);
    const auto n = static_cast<double>(samples.size());
    const auto lags = static_cast<std::size_t>(4 * std::pow(n / 100, 0.25));
    double variance = sumOfProducts(d, 0) / n;
    for (std::size_t lag = 1; lag <= lags; ++lag)
        variance += 2 * (1 - static_cast<double>(lag) / static_cast<double>(lags + 1)) * sumOfProducts(d, lag) / n;
    double sum = 0, squares = 0;
    for (const double x : d) {
        sum += x;
        squares += sum * sum;
    }
    const double statistic = squares / (n * n * variance);
    return {"KPSS", "the level of the samples drifts", statistic, cramerVonMisesAbove(statistic)};
}

std::vector<IidTest> testIid(std::span<const double> samples) {
    return {ljungBox(samples), halves(samples), runsTest(samples), kpss(samples)};
}

}  // namespace bulkhead::stress
