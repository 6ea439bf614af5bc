// Bootstrap intervals and extreme-value bounds, against distributions that the tests draw from.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "stress/extreme_value.h"
#include "stress/summary.h"

namespace bulkhead::stress {
namespace {

double normal(Random& random) {
    return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(6.283185307179586 * random.uniform());
}

std::vector<double> gumbelSamples(double location, double scale, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> samples;
    for (std::size_t i = 0; i < count; ++i)
        samples.push_back(location - scale * std::log(-std::log(1 - random.uniform())));
    return samples;
}

TEST(Summary, IntervalOfTheMeanHasTheWidthOfTheStandardError) {
    Random random(1);
    std::vector<double> samples;
    for (int i = 0; i < 400; ++i) samples.push_back(100 + 10 * normal(random));
    const Summary s = summarize(samples, 1);
    // 2 x 1.96 x 10 / sqrt(400), within a region
    EXPECT_NEAR(s.mean.interval.high - s.mean.interval.low, 1.96, 0.5);
    EXPECT_LT(s.mean.interval.low, s.mean.value);
    EXPECT_GT(s.mean.interval.high, s.mean.value);
}

TEST(Summary, IntervalsHoldTheTruthNineteenTimesOfTwenty) {
    // Normal: the median is 0, the deviation 1, the 95th percentile 1.645.
    int median = 0, deviation = 0, p95 = 0;
    double medianWidth = 0;
    constexpr int kTrials = 60;
    const auto holds = [](const Estimate& e, double truth) {
        return e.interval.low <= truth && truth <= e.interval.high;
    };
    for (int trial = 0; trial < kTrials; ++trial) {
        Random random(static_cast<std::uint64_t>(100 + trial));
        std::vector<double> samples;
        for (int i = 0; i < 200; ++i) samples.push_back(normal(random));
        const Summary s = summarize(samples, 1);
        median += holds(s.median, 0);
        medianWidth += s.median.interval.high - s.median.interval.low;
        deviation += holds(s.deviation, 1);
        p95 += holds(s.p95, 1.645);
    }
    for (const int held : {median, deviation, p95}) EXPECT_GT(held, kTrials * 85 / 100);
    // 2 x 1.96 x sqrt(pi / 2 / 200): no wider than they have to be
    EXPECT_NEAR(medianWidth / kTrials, 0.347, 0.07);
}

TEST(Summary, SlowdownIsTheRatioOfMeans) {
    const Estimate s = slowdown(std::vector<double>{1, 3}, std::vector<double>{4, 8}, 1);
    EXPECT_DOUBLE_EQ(s.value, 3);
    EXPECT_LE(s.interval.low, 3);
    EXPECT_GE(s.interval.high, 3);
}

TEST(Summary, SlowdownNeedsPairs) {
    EXPECT_THROW(slowdown(std::vector<double>{1, 2}, std::vector<double>{1}, 1), Error);
}

TEST(ExtremeValue, FitFindsTheParametersThatSamplesWereDrawnWith) {
    const Gumbel fit = fitGumbel(gumbelSamples(50, 3, 5000, 7));
    EXPECT_NEAR(fit.location, 50, 0.3);
    EXPECT_NEAR(fit.scale, 3, 0.15);
}

TEST(ExtremeValue, ExceededUndoesTheCumulativeDistribution) {
    const double x = Gumbel{10, 2}.exceeded(0.01);
    EXPECT_NEAR(1 - std::exp(-std::exp(-(x - 10) / 2)), 0.01, 1e-12);
}

TEST(ExtremeValue, GoodnessOfFitAcceptsNineteenOfTwentyGumbelSamples) {
    int accepted = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const std::vector<double> maxima = gumbelSamples(0, 1, 60, 1000 + seed);
        accepted += andersonDarling(fitGumbel(maxima), maxima) <= kGumbelCritical;
    }
    EXPECT_GT(accepted, 400 * 92 / 100);
    EXPECT_LT(accepted, 400 * 98 / 100);
}

TEST(ExtremeValue, BoundOfExponentialTimesIsTheirQuantile) {
    Random random(3);
    std::vector<double> samples;
    for (int i = 0; i < 4000; ++i) samples.push_back(100 - std::log(1 - random.uniform()));
    const WorstCase w = boundWorstCase(samples, 1e-6);
    // P(X > 100 + t) = exp(-t)
    ASSERT_TRUE(w.gumbel.value) << w.gumbel.refusal;
    EXPECT_NEAR(*w.gumbel.value, 100 + std::log(1e6), 2.5);
    ASSERT_TRUE(w.pareto.value) << w.pareto.refusal;
    EXPECT_NEAR(*w.pareto.value, 100 + std::log(1e6), 5);  // its shape is fitted as well
    EXPECT_EQ(w.value(), std::max(*w.gumbel.value, *w.pareto.value));
}

std::vector<double> paretoSamples(const GeneralizedPareto& distribution, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> samples;
    // x = scale / shape ((1 - u)^-shape - 1)
    for (std::size_t i = 0; i < count; ++i)
        samples.push_back(distribution.scale / distribution.shape *
                          (std::pow(1 - random.uniform(), -distribution.shape) - 1));
    return samples;
}

TEST(GeneralizedPareto, FitFindsTheParametersThatSamplesWereDrawnWith) {
    for (const double shape : {-0.3, 0.2}) {
        const GeneralizedPareto fit = fitGeneralizedPareto(paretoSamples({2, shape}, 20000, 3));
        EXPECT_NEAR(fit.shape, shape, 0.05);
        EXPECT_NEAR(fit.scale, 2, 0.1);
    }
}

TEST(GeneralizedPareto, ExceededUndoesTheCumulativeDistribution) {
    for (const double shape : {-0.3, 0.0, 0.2}) {
        const double x = GeneralizedPareto{2, shape}.exceeded(0.01);
        EXPECT_NEAR(shape == 0 ? std::exp(-x / 2) : std::pow(1 + shape * x / 2, -1 / shape), 0.01, 1e-12);
    }
}

TEST(GeneralizedPareto, GoodnessOfFitAcceptsNineteenOfTwentySamples) {
    const GeneralizedPareto truth{1, 0.1};
    const double critical = paretoCritical(truth, 50);
    int accepted = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const std::vector<double> excesses = paretoSamples(truth, 50, 1000 + seed);
        accepted += andersonDarling(fitGeneralizedPareto(excesses), excesses) <= critical;
    }
    EXPECT_GT(accepted, 400 * 91 / 100);
    EXPECT_LT(accepted, 400 * 99 / 100);
}

TEST(GeneralizedPareto, ATailTooHeavyToBeFittedIsRefused) {
    const WorstCase w = boundWorstCase(paretoSamples({1, 0.9}, 2000, 5), 1e-6);
    EXPECT_FALSE(w.pareto.value);
    EXPECT_NE(w.pareto.refusal.find("too heavy"), std::string::npos) << w.pareto.refusal;
}

TEST(ExtremeValue, RefusesTimesOfTwoKinds) {
    Random random(3);
    std::vector<double> samples;
    // One in ten of the blocks of ten has a run that takes far longer.
    for (int i = 0; i < 2000; ++i)
        samples.push_back(random.below(100) == 0 ? 1000 + random.uniform() : 100 + random.uniform());
    const WorstCase w = boundWorstCase(samples, 1e-6);
    EXPECT_FALSE(w.gumbel.value);
    EXPECT_NE(w.gumbel.refusal.find("Gumbel"), std::string::npos) << w.gumbel.refusal;
    EXPECT_FALSE(w.pareto.value);
    EXPECT_FALSE(w.value());
}

TEST(GeneralizedPareto, ExcessesOfTwoKindsAreRefused) {
    Random random(3);
    std::vector<double> samples;
    // What exceeds the 90th percentile lies in two narrow bands.
    for (int i = 0; i < 2000; ++i)
        samples.push_back(random.below(20) == 0 ? 110 + 0.1 * random.uniform() : 100 + random.uniform());
    const WorstCase w = boundWorstCase(samples, 1e-6);
    EXPECT_FALSE(w.pareto.value);
    EXPECT_NE(w.pareto.refusal.find("Pareto"), std::string::npos) << w.pareto.refusal;
}

TEST(ExtremeValue, RefusesTooFewSamplesAndOnesThatDoNotVary) {
    EXPECT_NE(boundWorstCase(std::vector<double>(30, 1.0), 1e-6).gumbel.refusal.find("needs 200"), std::string::npos);
    const WorstCase same = boundWorstCase(std::vector<double>(400, 1.0), 1e-6);
    EXPECT_EQ(same.gumbel.refusal, "the samples do not vary");
    EXPECT_EQ(same.pareto.refusal, "the samples do not vary");
}

TEST(ExtremeValue, RefusesSamplesThatDependOnEachOther) {
    Random random(5);
    std::vector<double> samples;
    double level = 0;
    for (int i = 0; i < 1000; ++i) samples.push_back(level = 0.9 * level + normal(random));
    EXPECT_NE(boundWorstCase(samples, 1e-6).pareto.refusal.find("depends"), std::string::npos);
}

}  // namespace
}  // namespace bulkhead::stress
