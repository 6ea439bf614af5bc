// Intervals of means, percentiles and slowdowns: how often they hold what is known of the distributions that the tests
// draw from.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "stress/order_statistics.h"
#include "stress/summary.h"

namespace bulkhead::stress {
namespace {

constexpr int kTrials = 4000;

double normal(Random& random) {
    return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(6.283185307179586 * random.uniform());
}

double exponential(Random& random) {
    return -std::log(1 - random.uniform());
}

std::vector<double> drawn(double (*draw)(Random&), std::size_t count, Random& random) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < count; ++i) samples.push_back(draw(random));
    return samples;
}

bool holds(const Interval& interval, double truth) {
    return (!interval.low || *interval.low <= truth) && (!interval.high || *interval.high >= truth);
}

/// Percent of trials in which the interval of `statistic` holds the truth.
double coverage(double (*draw)(Random&), std::size_t count, Estimate Summary::*statistic, double truth) {
    Random random(count);
    int held = 0;
    for (int i = 0; i < kTrials; ++i) held += holds((summarize(drawn(draw, count, random)).*statistic).interval, truth);
    return 100.0 * held / kTrials;
}

// Of 4000 trials, 95 % is 94 % to 96 % in 996 of 1000 tests.
constexpr double kChance = 1;

TEST(Summary, IntervalsOfMeansHoldTheTruthNineteenTimesOfTwentyFromTwoSamplesOn) {
    for (const std::size_t count : {2u, 3u, 5u, 10u, 30u})
        EXPECT_NEAR(coverage(normal, count, &Summary::mean, 0), 95, kChance) << count;
    // The mean of exponential times is 1. They are as skewed as times get, so it takes more of them.
    EXPECT_GT(coverage(exponential, 100, &Summary::mean, 1), 93);
}

TEST(Summary, IntervalsOfPercentilesHoldTheTruthWhateverTheDistribution) {
    struct Case {
        double (*draw)(Random&);
        double median, p95, p99;
    };
    for (const Case& c :
         {Case{normal, 0, 1.6448536, 2.3263479}, Case{exponential, std::log(2), std::log(20), std::log(100)}})
        for (const std::size_t count : {2u, 5u, 10u, 100u}) {
            EXPECT_GT(coverage(c.draw, count, &Summary::median, c.median), 95 - kChance) << count;
            EXPECT_GT(coverage(c.draw, count, &Summary::p95, c.p95), 95 - kChance) << count;
            EXPECT_GT(coverage(c.draw, count, &Summary::p99, c.p99), 95 - kChance) << count;
        }
}

TEST(Summary, IntervalsOfDeviationsHoldTheTruth) {
    for (const std::size_t count : {10u, 30u, 200u})
        EXPECT_GT(coverage(normal, count, &Summary::deviation, 1), 94) << count;
    EXPECT_GT(coverage(exponential, 200, &Summary::deviation, 1), 90);
}

TEST(Summary, AnIntervalIsNoWiderThanItHasToBe) {
    Random random(1);
    const Summary s = summarize(drawn(normal, 400, random));
    // 2 x 1.96 / sqrt(400) of the mean, sqrt(pi / 2) times that of the median
    EXPECT_NEAR(*s.mean.interval.high - *s.mean.interval.low, 0.196, 0.02);
    EXPECT_NEAR(*s.median.interval.high - *s.median.interval.low, 0.246, 0.08);
    // 2 x 1.96 / sqrt(2 x 400)
    EXPECT_NEAR(*s.deviation.interval.high - *s.deviation.interval.low, 0.139, 0.03);
}

TEST(Summary, SamplesThatAreTooFewSetNoLimit) {
    // A percentile q is above all of n samples with probability q^n: 0.5^5 and 0.95^71 exceed 2.5 %, 0.5^6 and 0.95^72
    // do not.
    const std::vector<double> times = {1, 2, 3, 4, 5, 6};
    EXPECT_FALSE(summarize(std::vector<double>{1}).mean.interval.high);
    EXPECT_FALSE(summarize(std::span(times).first(5)).median.interval.high);
    EXPECT_EQ(*summarize(times).median.interval.low, 1);
    EXPECT_EQ(*summarize(times).median.interval.high, 6);
    EXPECT_FALSE(summarize(times).deviation.interval.low);
    std::vector<double> many;
    for (int i = 1; i <= 72; ++i) many.push_back(i);
    EXPECT_EQ(*summarize(many).p95.interval.high, 72);
    EXPECT_FALSE(summarize(std::span(many).first(71)).p95.interval.high);
    EXPECT_TRUE(summarize(std::span(many).first(71)).p95.interval.low);
}

TEST(OrderStatistics, RanksAreThoseOfTheBinomialDistribution) {
    // Of 10 samples at least 2 lie on each side of the median with probability 1 - 2 (1 + 10) / 1024 = 0.979, and 3
    // with 0.891: the third would not do at 97.5 % a side.
    EXPECT_EQ(rankBelow(10, 0.5, 0.975), 2u);
    EXPECT_EQ(rankAbove(10, 0.5, 0.975), 9u);
    // (1 - p)^n <= 5 %: 59 samples for the 95th percentile
    EXPECT_EQ(rankAbove(59, 0.95, 0.95), 59u);
    EXPECT_FALSE(rankAbove(58, 0.95, 0.95));
    EXPECT_FALSE(rankAbove(0, 0.5, 0.5));
}

TEST(Summary, SlowdownIsTheRatioOfMeans) {
    const Estimate s = slowdown(std::vector<double>{1, 3}, std::vector<double>{4, 8});
    EXPECT_DOUBLE_EQ(s.value, 3);
    EXPECT_FALSE(slowdown(std::vector<double>{1}, std::vector<double>{2}).interval.low);
}

TEST(Summary, IntervalsOfSlowdownsHoldTheTruthFromTwoPairsOn) {
    for (const std::size_t count : {2u, 3u, 10u}) {
        Random random(count);
        int held = 0;
        for (int i = 0; i < kTrials; ++i) {
            std::vector<double> alone, together;
            for (std::size_t k = 0; k < count; ++k) {
                // What both runs of a pair share, and what each has of its own.
                const double pair = normal(random);
                alone.push_back(1000 + pair + normal(random));
                together.push_back(2000 + 2 * pair + 3 * normal(random));
            }
            held += holds(slowdown(alone, together).interval, 2);
        }
        EXPECT_NEAR(100.0 * held / kTrials, 95, kChance) << count;
    }
}

TEST(Summary, SlowdownOfTimesThatMayBeNoneHasNoInterval) {
    // Means of 1 and -1 in two samples: neither is told from 0.
    EXPECT_FALSE(slowdown(std::vector<double>{-9, 11}, std::vector<double>{1, 2}).interval.high);
}

TEST(Summary, SlowdownNeedsPairs) {
    EXPECT_THROW(slowdown(std::vector<double>{1, 2}, std::vector<double>{1}), Error);
}

}  // namespace
}  // namespace bulkhead::stress
