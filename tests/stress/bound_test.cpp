// Worst-case bounds: the tests before them, the fits behind them, and how often they hold. Samples are drawn from
// distributions whose tails are known (bench/known_tails.cpp); bench/coverage.cpp makes the same study at length.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"
#include "known_tails.h"
#include "stress/extreme_value.h"
#include "stress/iid_tests.h"
#include "stress/probability.h"
#include "stress/stored_samples.h"
#include "stress/stress.h"
#include "stress/tail_fit.h"

namespace bulkhead::stress {
namespace {

const KnownTail& known(const std::string& name) {
    for (const auto* kinds : {&singleKinds(), &mixtures(), &dependentRuns()})
        for (const KnownTail& tail : *kinds)
            if (tail.name == name) return tail;
    throw Error("no known tail {}", name);
}

std::vector<double> drawn(const std::string& name, std::size_t count, std::uint64_t seed = 1) {
    return known(name).draw(count, seed);
}

TEST(Probability, AgreesWithPublishedTables) {
    EXPECT_NEAR(studentQuantile(0.975, 1), 12.706, 1e-3);
    EXPECT_NEAR(studentQuantile(0.975, 30), 2.042, 1e-3);
    EXPECT_NEAR(chiSquaredQuantile(0.95, 10), 18.307, 1e-3);
    EXPECT_NEAR(chiSquaredAbove(18.307, 10), 0.05, 1e-5);
    EXPECT_NEAR(normalQuantile(0.975), 1.95996, 1e-5);
    EXPECT_NEAR(kolmogorovAbove(1.3581), 0.05, 1e-5);
    EXPECT_NEAR(kolmogorovAbove(1.6276), 0.01, 1e-5);
    // Critical values of Cramer and von Mises, and those that KPSS rounded.
    EXPECT_NEAR(cramerVonMisesAbove(0.46136), 0.05, 1e-5);
    EXPECT_NEAR(cramerVonMisesAbove(0.74346), 0.01, 1e-5);
    EXPECT_NEAR(cramerVonMisesAbove(0.347), 0.10, 1e-3);
}

TEST(Probability, FindsValleysAndRoots) {
    EXPECT_NEAR(minimise([](double x) { return (x - 2) * (x - 2) + 1; }, -10, 10).at, 2, 1e-6);
    EXPECT_NEAR(*rootAbove([](double x) { return x * x - 50; }, 1, 0.1, 100), std::sqrt(50.0), 1e-6);
    EXPECT_FALSE(rootAbove([](double x) { return x - 50; }, 1, 0.1, 20));
}

TEST(IidTests, RejectOneOfTwentyFineSamplesAtMost) {
    for (const char* name : {"normal", "exponential", "Pareto, shape 0.3", "1 in 100 slow"})
        for (const std::size_t count : {200u, 1000u}) {
            int rejected = 0;
            for (std::uint64_t seed = 1; seed <= 400; ++seed)
                for (const IidTest& test : testIid(drawn(name, count, seed)))
                    if (test.rejected()) {
                        ++rejected;
                        break;
                    }
            // 20 of 400 are expected at most; 34 by chance in one of a thousand tests.
            EXPECT_LE(rejected, 34) << name << ", " << count;
        }
}

TEST(IidTests, EachFindsWhatItIsFor) {
    EXPECT_TRUE(ljungBox(drawn("each 40th run slow", 1000)).rejected());
    EXPECT_TRUE(ljungBox(drawn("memory of 0.2", 1000)).rejected());
    EXPECT_LT(halves(drawn("a step half way", 200)).pValue, 1e-6);
    EXPECT_LT(runsTest(drawn("memory of 0.9", 200)).pValue, 1e-6);
    EXPECT_LT(runsTest(drawn("period of 2 runs", 200)).pValue, 1e-6);
    EXPECT_LT(kpss(drawn("drift", 200)).pValue, 1e-4);
}

TEST(IidTests, CountWhatTheyAreDefinedBy) {
    // Halves 1 2 3 4 and 3 4 5 6: at 2, half of the first lies below and none of the second.
    EXPECT_DOUBLE_EQ(halves(std::vector<double>{1, 2, 3, 4, 3, 4, 5, 6}).statistic, 0.5);
    // Median 3.5: below, below, above, above, below, above.
    EXPECT_DOUBLE_EQ(runsTest(std::vector<double>{1, 2, 5, 6, 3, 4}).statistic, 4);
    // Deviations -1 1 -1 1: a correlation of -3/4 at lag 1, so Q = 4 x 6 x (9/16) / 3.
    EXPECT_DOUBLE_EQ(ljungBox(std::vector<double>{0, 2, 0, 2}).statistic, 4.5);
}

TEST(GeneralizedPareto, FitFindsTheParametersThatSamplesWereDrawnWith) {
    for (const auto& [name, shape] : {std::pair{"Pareto, shape -0.2", -0.2}, {"Pareto, shape 0.3", 0.3}}) {
        const GeneralizedPareto fit = fitGeneralizedPareto(drawn(name, 20000));
        // The deviations of maximum likelihood are (1 + shape) / sqrt(n) and sqrt(2 (1 + shape) / n): four of them.
        EXPECT_NEAR(fit.shape, shape, 4 * (1 + shape) / std::sqrt(20000));
        EXPECT_NEAR(fit.scale, 1, 4 * std::sqrt(2 * (1 + shape) / 20000));
    }
}

TEST(GeneralizedPareto, FitIsTheLikeliest) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const std::vector<double> excesses = drawn("Pareto, shape 0.1", 60, seed);
        const GeneralizedPareto fit = fitGeneralizedPareto(excesses);
        const double best = logLikelihood(fit, excesses);
        for (const double scale : {0.98, 1.0, 1.02})
            for (const double shape : {-0.02, 0.0, 0.02})
                EXPECT_LE(logLikelihood(GeneralizedPareto{fit.scale * scale, fit.shape + shape}, excesses),
                          best + 1e-6);
    }
}

TEST(GeneralizedPareto, ExceededUndoesTheCumulativeDistribution) {
    for (const double shape : {-0.3, 0.0, 0.2}) {
        const double x = GeneralizedPareto{2, shape}.exceeded(0.01);
        EXPECT_NEAR(shape == 0 ? std::exp(-x / 2) : std::pow(1 + shape * x / 2, -1 / shape), 0.01, 1e-12);
    }
}

TEST(GeneralizedPareto, GoodnessOfFitAcceptsNineteenOfTwentySamples) {
    int accepted = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const std::vector<double> excesses = drawn("Pareto, shape 0.1", 50, seed);
        accepted += fitPValue(fitGeneralizedPareto(excesses), excesses) >= 0.05;
    }
    EXPECT_GT(accepted, 400 * 91 / 100);
    EXPECT_LT(accepted, 400 * 99 / 100);
}

TEST(GeneralizedPareto, GoodnessOfFitFindsOneExcessThatIsTooFarOut) {
    std::vector<double> excesses = drawn("exponential", 50);
    excesses.push_back(100);
    EXPECT_LT(fitPValue(fitGeneralizedPareto(excesses), excesses), 0.05);
}

/// Of limits at 95 %, how many are below what they limit.
int tooLow(const std::string& name, std::size_t count, int trials) {
    const double truth = known(name).exceeded(1e-5);
    int low = 0;
    for (int seed = 1; seed <= trials; ++seed) {
        const std::vector<double> excesses = drawn(name, count, static_cast<std::uint64_t>(seed));
        const std::optional<double> limit = upperLimit(fitGeneralizedPareto(excesses), excesses, 1e-5, 0.95);
        low += limit && *limit < truth;
    }
    return low;
}

TEST(GeneralizedPareto, UpperLimitsHoldAtTheirConfidence) {
    // 20 of 400 are expected; 34 by chance in one of a thousand tests.
    for (const char* name : {"Pareto, shape 0.1", "Pareto, shape 0.3"})
        for (const std::size_t count : {50u, 100u, 400u})
            EXPECT_LE(tooLow(name, count, 400), 34) << name << ", " << count;
}

TEST(ExponentialTail, UpperLimitIsExact) {
    int low = 0;
    for (std::uint64_t seed = 1; seed <= 4000; ++seed)
        low += exponentialUpperLimit(drawn("exponential", 20, seed), 1e-6, 0.95) < std::log(1e6);
    EXPECT_NEAR(low / 4000.0, 0.05, 0.011);
}

TEST(Gumbel, FitFindsTheParametersThatSamplesWereDrawnWith) {
    std::vector<double> maxima = drawn("Gumbel", 5000);
    for (double& x : maxima) x = 50 + 3 * x;
    const Gumbel fit = fitGumbel(maxima);
    EXPECT_NEAR(fit.location, 50, 0.2);
    EXPECT_NEAR(fit.scale, 3, 0.13);
}

TEST(Gumbel, ExceededUndoesTheCumulativeDistribution) {
    const double x = Gumbel{10, 2}.exceeded(0.01);
    EXPECT_NEAR(1 - std::exp(-std::exp(-(x - 10) / 2)), 0.01, 1e-12);
}

TEST(Gumbel, UpperLimitsHoldAtTheirConfidence) {
    const double truth = Gumbel{0, 1}.exceeded(1e-5);
    int low = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const std::vector<double> maxima = drawn("Gumbel", 40, seed);
        low += *upperLimit(fitGumbel(maxima), maxima, 1e-5, 0.95) < truth;
    }
    EXPECT_LE(low, 34);
    EXPECT_GE(low, 8);
}

TEST(Gumbel, GoodnessOfFitAcceptsNineteenOfTwentySamples) {
    int accepted = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const std::vector<double> maxima = drawn("Gumbel", 60, seed);
        accepted += andersonDarling(fitGumbel(maxima), maxima) <= kGumbelCritical;
    }
    EXPECT_GT(accepted, 400 * 91 / 100);
    EXPECT_LT(accepted, 400 * 99 / 100);
}

struct Tally {
    int given = 0, refused = 0, low = 0;
};

/// Bounds of a million runs that a distribution's samples got, and how many of these are too low.
Tally boundsOf(const KnownTail& tail, std::size_t count, int trials) {
    const double truth = tail.exceeded(1e-6);
    Tally tally;
    for (int seed = 1; seed <= trials; ++seed) {
        const std::vector<double> runs = tail.draw(count, static_cast<std::uint64_t>(seed));
        // Of slow runs that no sample shows, no method can know: docs/bounds.md.
        if (tail.slow > 0 && maximum(runs) < tail.slow) continue;
        const WorstCase w = boundWorstCase(runs, 0, 1e-6);
        ++(w.value ? tally.given : tally.refused);
        if (!w.value) continue;
        tally.low += *w.value < truth;
        EXPECT_GT(*w.value, maximum(runs)) << tail.name;
    }
    return tally;
}

/// How many of so many bounds at 95 % are too low in all but one of a thousand tests.
int allowed(int bounds) {
    double term = std::pow(0.95, bounds), below = term;
    int k = 0;
    for (; below < 0.999; ++k) {
        term *= static_cast<double>(bounds - k) / (k + 1) * 0.05 / 0.95;
        below += term;
    }
    return k;
}

TEST(Coverage, BoundsOfNormalTimesHoldTheMoreSamplesTheBetter) {
    for (const auto& [count, trials] : {std::pair<std::size_t, int>{200, 60}, {1000, 60}, {4000, 20}}) {
        const Tally t = boundsOf(known("normal"), count, trials);
        EXPECT_EQ(t.low, 0) << count;  // an exponential tail is heavier than theirs
        EXPECT_GT(t.given, trials * 85 / 100) << count;
    }
}

TEST(Coverage, BoundsOfOneKindOfTimesHoldAtTheirConfidence) {
    for (const KnownTail& tail : singleKinds())
        for (const auto& [count, trials] : {std::pair<std::size_t, int>{200, 60}, {1000, 30}}) {
            const Tally t = boundsOf(tail, count, trials);
            EXPECT_LE(t.low, allowed(t.given)) << tail.name << ", " << count;
            EXPECT_GT(t.given, trials * 60 / 100) << tail.name << ", " << count;
        }
}

TEST(Coverage, BoundsOfTimesWithRareSlowRunsHoldOrAreRefused) {
    for (const KnownTail& tail : mixtures())
        for (const std::size_t count : {200u, 1000u}) {
            const Tally t = boundsOf(tail, count, 25);
            EXPECT_LE(t.low, allowed(t.given)) << tail.name << ", " << count;
            EXPECT_GT(t.given + t.refused, 0) << tail.name << ", " << count;
        }
}

TEST(Coverage, BoundsOfRunsThatDependOnEachOtherHoldOrAreRefused) {
    for (const KnownTail& tail : dependentRuns()) {
        const Tally t = boundsOf(tail, 1000, 20);
        EXPECT_LE(t.low, allowed(t.given)) << tail.name;
        EXPECT_GT(t.refused, 17) << tail.name;
    }
}

TEST(WorstCase, ALightTailIsNotTakenToEnd) {
    // Uniform times end at 1. Nothing that samples show forbids a tail beyond.
    const WorstCase w = boundWorstCase(drawn("uniform", 4000), 0, 1e-6);
    ASSERT_TRUE(w.value) << w.refusal;
    EXPECT_LT(w.tails.front().pareto.shape, -0.4);
    EXPECT_NEAR(w.tails.front().variation, 1 / std::sqrt(3.0), 0.05);  // of uniform excesses
    // The exponential tail of the same mean: 0.9 + 0.05 ln(0.1 / 1e-6)
    EXPECT_GT(*w.value, 0.9 + 0.05 * std::log(1e5));
}

TEST(WorstCase, WhatSamplesShowNeedsNoTail) {
    // One run in fifty, of 1000: by order statistics, whatever the distribution.
    const double truth = known("1 in 100 slow").exceeded(0.02);
    int low = 0, given = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const std::vector<double> runs = drawn("1 in 100 slow", 1000, seed);
        const WorstCase w = boundWorstCase(runs, 0, 0.02);
        if (!w.value) continue;
        ++given;
        low += *w.value < truth;
        EXPECT_EQ(w.method, "order statistics");
        EXPECT_TRUE(std::find(runs.begin(), runs.end(), *w.value) != runs.end());
    }
    EXPECT_GT(given, 360);
    EXPECT_LE(low, allowed(given));
    EXPECT_GE(low, 3);  // 11 are expected: no rank higher than needed
}

TEST(WorstCase, RunsThatGaveNoTimeCountAgainstIt) {
    const std::vector<double> runs = drawn("normal", 1000);
    const WorstCase one = boundWorstCase(runs, 1, 1e-6);
    EXPECT_FALSE(one.value);
    EXPECT_NE(one.refusal.find("1 of 1001 runs gave no time"), std::string::npos) << one.refusal;
    // Where so many runs may exceed the bound anyway, the rest must keep to less.
    const WorstCase none = boundWorstCase(runs, 0, 0.03), some = boundWorstCase(runs, 5, 0.03);
    ASSERT_TRUE(none.value && some.value);
    EXPECT_GT(*some.value, *none.value);
    EXPECT_NE(boundWorstCase({}, 3, 1e-6).refusal, "");
}

TEST(WorstCase, RefusesTooFewSamplesAndOnesThatDoNotVary) {
    EXPECT_EQ(boundWorstCase(drawn("normal", 199), 0, 1e-6).refusal, "199 samples: a bound needs 200");
    EXPECT_EQ(boundWorstCase(std::vector<double>{1, 2, 3, 4, 5, 6, 7}, 0, 0.5).refusal, "7 samples: a bound needs 20");
    EXPECT_EQ(boundWorstCase(std::vector<double>(400, 1.0), 0, 1e-6).refusal, "the samples do not vary");
}

TEST(WorstCase, RefusalsSayWhichTestRejects) {
    const WorstCase w = boundWorstCase(drawn("a step half way", 400), 0, 1e-6);
    EXPECT_NE(w.refusal.find("Kolmogorov-Smirnov, p = "), std::string::npos) << w.refusal;
    EXPECT_EQ(w.tests.size(), 4u);
}

TEST(WorstCase, ATailTooHeavyToBeBoundedIsRefused) {
    Random random(5);
    std::vector<double> runs;
    for (int i = 0; i < 2000; ++i) runs.push_back(std::pow(1 - random.uniform(), -0.9));  // shape 0.9
    const WorstCase w = boundWorstCase(runs, 0, 1e-6);
    EXPECT_FALSE(w.value);
    EXPECT_NE(w.refusal.find("too heavy"), std::string::npos) << w.refusal;
}

TEST(WorstCase, StepsOfATimerDoNotMatter) {
    // Normal times of a deviation of four steps.
    const std::vector<double> exact = drawn("normal", 1000);
    std::vector<double> cut;
    for (const double x : exact) cut.push_back(std::floor(x * 4) / 4);
    const WorstCase whole = boundWorstCase(exact, 0, 1e-6), stepped = boundWorstCase(cut, 0, 1e-6);
    ASSERT_TRUE(whole.value && stepped.value) << stepped.refusal;
    EXPECT_NEAR(*stepped.value, *whole.value, 0.25 * *whole.value);
}

TEST(WorstCase, UnitsDoNotMatter) {
    const std::vector<double> runs = drawn("exponential", 400, 2);
    std::vector<double> nanoseconds;
    for (const double x : runs) nanoseconds.push_back(1e-9 * (x + 5));
    const WorstCase a = boundWorstCase(runs, 0, 1e-6), b = boundWorstCase(nanoseconds, 0, 1e-6);
    ASSERT_TRUE(a.value && b.value);
    EXPECT_NEAR(*b.value * 1e9 - 5, *a.value, 1e-3 * *a.value);
}

TEST(WorstCase, TellsHowManyRunsOfAnUnseenKindThereMayBe) {
    // The rule of three: none in n leaves 3 / n.
    EXPECT_NEAR(boundWorstCase(drawn("normal", 1000), 0, 1e-6).unseen, 3.0 / 1000, 1e-5);
}

TEST(WorstCase, LooksAtSeveralThresholdsAndBlocks) {
    const WorstCase w = boundWorstCase(drawn("normal", 4000), 0, 1e-6);
    std::vector<std::size_t> counts, blocks;
    for (const TailFit& t : w.tails) counts.push_back(t.count);
    for (const BlockFit& b : w.blocks) blocks.push_back(b.block);
    EXPECT_EQ(counts, (std::vector<std::size_t>{400, 200, 100, 50}));
    EXPECT_EQ(blocks, (std::vector<std::size_t>{10, 20, 50}));
}

TEST(Exceedance, CurveRisesToTheBound) {
    const std::vector<double> runs = drawn("gamma, shape 2", 1000, 3);
    const WorstCase w = boundWorstCase(runs, 0, 1e-6);
    ASSERT_TRUE(w.value) << w.refusal;
    const std::vector<Exceedance> curve = exceedanceCurve(runs, 0, w, 1e-6);
    ASSERT_GT(curve.size(), 20u);
    for (std::size_t i = 1; i < curve.size(); ++i) {
        EXPECT_LT(curve[i].probability, curve[i - 1].probability);
        EXPECT_GE(curve[i].bound, curve[i - 1].bound);
    }
    EXPECT_DOUBLE_EQ(curve.back().probability, 1e-6);
    EXPECT_DOUBLE_EQ(curve.back().bound, *w.value);
    for (const Exceedance& e : curve) EXPECT_GE(e.bound, known("gamma, shape 2").exceeded(e.probability));
}

TEST(Exceedance, MeasuredSharesAreThoseOfTheSamples) {
    const std::vector<Exceedance> curve = measuredExceedance(std::vector<double>{3, 1, 4, 2});
    ASSERT_EQ(curve.size(), 4u);
    EXPECT_DOUBLE_EQ(curve.front().bound, 1);
    EXPECT_DOUBLE_EQ(curve.front().probability, 1);
    EXPECT_DOUBLE_EQ(curve.back().bound, 4);
    EXPECT_DOUBLE_EQ(curve.back().probability, 0.25);
}

TEST(StoredSamples, AreBoundedAsTheyWereWhenTheyWereTaken) {
    Outcome measured;
    for (const char* aggressor : {"compute", "evict-random"}) {
        Cell& cell = measured.cells.emplace_back();
        cell.pair.victim.name = "latency";
        cell.pair.aggressor.kind = aggressor;
        cell.pairing.hung = measured.cells.size() == 2 ? 3 : 0;
        for (const double time : drawn("exponential", 300, 10 + measured.cells.size())) {
            corun::Pair pair;
            pair.alone.seconds = 1e-3;
            pair.together.seconds = (2 + time) * 1e-3;
            cell.pairing.pairs.push_back(pair);
        }
    }
    std::vector<Result> file = measured.results({});
    for (Result& more : measured.samples()) file.push_back(std::move(more));
    const Outcome stored{storedCells(file)};
    ASSERT_EQ(stored.cells.size(), 2u);
    EXPECT_EQ(stored.cells[1].pairing.lost(), 3u);
    const Result before = measured.bounds({}), after = stored.bounds({});
    ASSERT_TRUE(std::holds_alternative<double>(before.rows[0][6]));  // the bound, in ms
    EXPECT_NEAR(std::get<double>(after.rows[0][6]), std::get<double>(before.rows[0][6]), 1e-6);
    EXPECT_EQ(before.rows[1][6], Value());  // three runs gave no time
    EXPECT_EQ(after.rows[1].back(), before.rows[1].back());
}

TEST(StoredSamples, MustBeThere) {
    EXPECT_THROW(storedCells(std::vector<Result>(1)), Error);
}

TEST(Exceedance, IsDrawnForEachVictimAndWayOfSharing) {
    Outcome outcome;
    for (const char* sharing : {"streams", "mps"}) {
        Cell& cell = outcome.cells.emplace_back();
        cell.pair.victim.name = "latency";
        cell.pair.sharing = sharing;
        for (const double time : drawn("normal", 300)) {
            corun::Pair pair;
            pair.alone.seconds = 1;
            pair.together.seconds = 100 + time;
            cell.pairing.pairs.push_back(pair);
        }
    }
    std::vector<std::string> titles;
    for (const Result& r : outcome.statistics({}))
        for (const Chart& chart : r.charts) titles.push_back(chart.title);
    EXPECT_EQ(titles, (std::vector<std::string>{"How often a run of latency takes longer (sharing: streams)",
                                                "How often a run of latency takes longer (sharing: mps)"}));
}

}  // namespace
}  // namespace bulkhead::stress
