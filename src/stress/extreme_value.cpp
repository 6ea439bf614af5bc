#include "stress/extreme_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/statistics.h"
#include "stress/order_statistics.h"
#include "stress/probability.h"

namespace bulkhead::stress {
namespace {

// What a bound may be wrong by: the tail, the share of runs above the threshold, the share that gave no time.
constexpr double kTailConfidence = 0.97, kShareConfidence = 0.99, kLostConfidence = 0.99;

constexpr std::size_t kLeastSamples = 200, kLeastForTests = 20;
constexpr std::size_t kLeastExcesses = 50, kManyExcesses = 100, kLeastMaxima = 20;
constexpr std::size_t kBlocks[] = {10, 20, 50};
constexpr double kFitLevel = 0.05;
constexpr double kHeaviestFitted = 0.5;
constexpr double kPointsPerDecade = 4;

/// A threshold with the excesses over it.
struct Tail {
    TailFit fit;
    std::vector<double> excesses;

    std::optional<double> limit(double probability) const {
        const double p = probability / fit.share;
        const std::optional<double> pareto = upperLimit(fit.pareto, excesses, p, kTailConfidence);
        if (!pareto) return std::nullopt;
        return fit.threshold + std::max(*pareto, exponentialUpperLimit(excesses, p, kTailConfidence));
    }
    /// A tail with an end is not taken at its word: where it ends is the least certain of all.
    double estimate(double probability, std::size_t samples) const {
        const double share = static_cast<double>(fit.count) / static_cast<double>(samples);
        const double exponential = mean(excesses) * std::log(share / probability);
        return fit.threshold + std::max(exponential, fit.pareto.exceeded(probability / share));
    }
};

/// Times that a timer cuts off at its steps, spread over them: distributions that are fitted know no steps. In
/// ascending order.
std::vector<double> spread(std::span<const double> samples) {
    std::vector<double> x = ascending(samples);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < x.size(); ++i)
        if (x[i] > x[i - 1]) step = std::min(step, x[i] - x[i - 1]);
    Random random(1);
    for (double& time : x) time += step * random.uniform();
    std::sort(x.begin(), x.end());
    return x;
}

Tail tailOf(const std::vector<double>& sorted, std::size_t count) {
    const std::size_t n = sorted.size();
    Tail tail;
    tail.fit.count = count;
    tail.fit.threshold = sorted[n - count - 1];
    // The share of runs above the sample of this rank has a beta distribution.
    tail.fit.share = betaQuantile(kShareConfidence, static_cast<double>(count + 1), static_cast<double>(n - count));
    for (std::size_t i = n - count; i < n; ++i) tail.excesses.push_back(sorted[i] - tail.fit.threshold);
    tail.fit.variation = coefficientOfVariation(tail.excesses);
    tail.fit.pareto = fitGeneralizedPareto(tail.excesses);
    tail.fit.pValue = fitPValue(tail.fit.pareto, tail.excesses);
    return tail;
}

/// From a tenth of the samples to ever fewer. A tenth of few samples says little: a quarter of them then.
std::vector<Tail> tailsOf(std::span<const double> samples) {
    const std::vector<double> sorted = spread(samples);
    std::vector<Tail> tails;
    for (std::size_t count = std::max(samples.size() / 10, std::min(samples.size() / 4, kManyExcesses));
         count >= kLeastExcesses; count /= 2)
        tails.push_back(tailOf(sorted, count));
    return tails;
}

BlockFit blockFitOf(std::span<const double> samples, std::size_t block, double probability) {
    std::vector<double> maxima;
    for (std::size_t first = 0; first + block <= samples.size(); first += block)
        maxima.push_back(maximum(samples.subspan(first, block)));
    BlockFit fit;
    fit.block = block;
    fit.count = maxima.size();
    if (minimum(maxima) == maximum(maxima)) {
        fit.distance = std::numeric_limits<double>::infinity();
        return fit;
    }
    fit.gumbel = fitGumbel(maxima);
    fit.distance = andersonDarling(fit.gumbel, maxima);
    // A block's maximum stays below x when all of its runs do: P(run > x) = 1 - F(x)^(1 / block).
    const double ofBlock = -std::expm1(static_cast<double>(block) * std::log1p(-probability));
    fit.estimate = fit.gumbel.exceeded(ofBlock);
    fit.limit = upperLimit(fit.gumbel, maxima, ofBlock, kTailConfidence);
    return fit;
}

/// What samples say of times that none of them shows, and of those that they do.
class Extrapolation {
  public:
    /// Down to this probability.
    Extrapolation(std::span<const double> samples, double probability) : sorted_(ascending(samples)) {
        if (!rankAbove(samples.size(), 1 - probability, kTailConfidence)) tails_ = tailsOf(samples);
    }

    const std::vector<Tail>& tails() const { return tails_; }

    /// What a run exceeds with this probability at most: by order statistics if they reach so far, or else by the first
    /// tail that fits. Where one further out estimates more than that one allows, by that. Nothing where none fits.
    std::optional<double> bound(double probability) const {
        if (const auto rank = rankAbove(sorted_.size(), 1 - probability, kTailConfidence)) return sorted_[*rank - 1];
        std::optional<double> bound;
        for (const Tail& tail : tails_) {
            if (!tail.fit.fits()) continue;
            if (bound && tail.estimate(probability, sorted_.size()) <= *bound) continue;
            const std::optional<double> limit = tail.limit(probability);
            if (!limit) return std::nullopt;
            bound = bound ? std::max(*bound, *limit) : *limit;
        }
        return bound;
    }

    std::optional<double> estimate(double probability) const {
        for (const Tail& tail : tails_)
            if (tail.fit.fits() &&
                probability * static_cast<double>(sorted_.size()) < static_cast<double>(tail.fit.count))
                return tail.estimate(probability, sorted_.size());
        return std::nullopt;
    }

  private:
    std::vector<double> sorted_;
    std::vector<Tail> tails_;
};

/// Why no tail will do.
std::string refusalOf(const std::vector<TailFit>& tails) {
    const TailFit& last = tails.back();
    if (last.pareto.shape >= kHeaviestFitted)
        return fmt::format("the tail is too heavy (shape {:.2f}, limit {})", last.pareto.shape, kHeaviestFitted);
    if (last.fits()) return "the samples set no limit to the tail";
    return fmt::format(
        "no tail fits the samples: above each threshold they are of several kinds, or one is too far out "
        "(p = {:.3g} for the highest)",
        last.pValue);
}

/// Of all runs, those that gave no time, at most. They took longer than any.
double lostShare(std::size_t samples, std::size_t lost) {
    if (lost == 0) return 0;
    return samples == 0 ? 1
                        : betaQuantile(kLostConfidence, static_cast<double>(lost + 1), static_cast<double>(samples));
}

std::string rejectionOf(const std::vector<IidTest>& tests) {
    std::string why;
    for (const IidTest& test : tests)
        if (test.rejected())
            why += fmt::format("{}{} ({}, p = {:.2g})", why.empty() ? "" : "; ", test.meaning, test.name, test.pValue);
    return why;
}

}  // namespace

bool TailFit::fits() const {
    if (pareto.shape >= kHeaviestFitted) return false;
    // The lightest that is fitted ends a little beyond the last sample, which is all that matters: none is far out.
    return pValue >= kFitLevel || pareto.shape <= kLightestShape + 0.05;
}

std::vector<Exceedance> measuredExceedance(std::span<const double> samples) {
    const std::vector<double> sorted = ascending(samples);
    const std::size_t n = sorted.size();
    std::vector<Exceedance> curve;
    // From the greatest: every sample at first, then ever fewer of them.
    for (std::size_t above = 0; above < n; above += 1 + above / 20)
        curve.push_back({static_cast<double>(above + 1) / static_cast<double>(n), {}, sorted[n - 1 - above]});
    std::reverse(curve.begin(), curve.end());
    return curve;
}

WorstCase boundWorstCase(std::span<const double> samples, std::size_t lost, double probability) {
    WorstCase w;
    const std::size_t n = samples.size();
    w.unseen = -std::expm1(std::log(1 - kConfidence) / static_cast<double>(n + lost));
    const double left = probability - lostShare(n, lost);
    if (left <= 0) {
        w.refusal = fmt::format("{} of {} runs gave no time: up to {:.2g} % of runs may take any", lost, n + lost,
                                100 * lostShare(n, lost));
        return w;
    }
    const bool shown = rankAbove(n, 1 - left, kTailConfidence).has_value();
    if (const std::size_t least = shown ? kLeastForTests : kLeastSamples; n < least) {
        w.refusal = fmt::format("{} samples: a bound needs {}", n, least);
        return w;
    }
    if (minimum(samples) == maximum(samples)) {
        w.refusal = "the samples do not vary";
        return w;
    }
    w.tests = testIid(samples);
    if (w.refusal = rejectionOf(w.tests); !w.refusal.empty()) return w;

    const Extrapolation extrapolation(samples, left);
    w.value = extrapolation.bound(left);
    if (shown) {
        w.method = "order statistics";
        return w;
    }
    for (const Tail& tail : extrapolation.tails()) {
        TailFit& fit = w.tails.emplace_back(tail.fit);
        fit.estimate = tail.estimate(left, n);
        fit.limit = tail.limit(left);
    }
    for (const std::size_t block : kBlocks)
        if (n / block >= kLeastMaxima) w.blocks.push_back(blockFitOf(samples, block, left));
    if (!w.value) {
        w.refusal = refusalOf(w.tails);
        return w;
    }
    w.method = "tail above a threshold";
    for (const BlockFit& block : w.blocks)
        if (block.fits() && block.limit && *block.limit > *w.value) {
            w.value = block.limit;
            w.method = fmt::format("maxima of blocks of {}", block.block);
        }
    return w;
}

std::vector<Exceedance> exceedanceCurve(std::span<const double> samples, std::size_t lost, const WorstCase& worst,
                                        double probability) {
    std::vector<Exceedance> curve;
    if (!worst.value) return curve;
    const double noTime = lostShare(samples.size(), lost);
    const Extrapolation extrapolation(samples, probability - noTime);
    for (double point = 1;; ++point) {
        const double p = std::pow(10, -point / kPointsPerDecade);
        if (p <= probability - noTime) break;
        // Where order statistics end and tails begin, the bound must not fall.
        if (const std::optional<double> bound = extrapolation.bound(p))
            curve.push_back({p + noTime, extrapolation.estimate(p),
                             std::min(std::max(*bound, curve.empty() ? *bound : curve.back().bound), *worst.value)});
    }
    curve.push_back({probability, extrapolation.estimate(probability - noTime), *worst.value});
    return curve;
}

}  // namespace bulkhead::stress
