#include "stress/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "corun/spec_json.h"
#include "experiment/local_executor.h"
#include "stress/stress.h"

namespace bulkhead::stress {
namespace {

using corun::AggressorSpec;

AggressorSpec kindOf(const std::string& kind) {
    AggressorSpec spec;
    spec.kind = kind;
    return spec;
}

SearchSpace space() {
    SearchSpace s;
    s.sms = 8;
    s.cacheBytes = 1 << 20;
    s.targets = [](const std::string& kind) -> std::uint64_t { return kind == "bank" ? 32 : 0; };
    return s;
}

/// Worst with 8 lanes, 5 SMs and half of the cache; the kinds that are given do next to nothing.
double made(const AggressorSpec& a) {
    if (!a.kind.starts_with("evict-")) return 1.01;
    double slowdown = 1.02;
    slowdown += 1 / (1 + std::abs(std::log2(a.lanes / 8.0)));
    slowdown += 1 / (1 + std::abs(static_cast<double>(a.sms) - 5));
    slowdown += a.bytes == 0 ? 0 : 1 / (1 + std::abs(std::log2(static_cast<double>(a.bytes) / (1 << 19))));
    return slowdown;
}

struct Recorder {
    std::vector<std::string> tried = {};
    std::vector<std::size_t> atOnce = {};
    TryAll all() {
        return [this](const std::vector<AggressorSpec>& specs) {
            std::vector<std::optional<double>> slowdowns;
            atOnce.push_back(specs.size());
            for (const AggressorSpec& spec : specs) {
                tried.push_back(knobsOf(spec));
                slowdowns.emplace_back(made(spec));
            }
            return slowdowns;
        };
    }
};

TEST(Search, climbsToTheWorstThatThereIs) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Recorder recorder;
        const std::vector<Trial> trials =
            searchWorst({kindOf("compute"), kindOf("evict-random")}, space(), 200, seed, recorder.all());
        const Trial* const worst = worstOf(trials);
        ASSERT_NE(worst, nullptr);
        EXPECT_EQ(worst->aggressor.lanes, 8u) << seed;
        EXPECT_EQ(worst->aggressor.sms, 5u) << seed;
        EXPECT_EQ(worst->aggressor.bytes, Bytes{1} << 19) << seed;
    }
}

TEST(Search, keepsToItsBudgetAndTriesNothingTwice) {
    for (const unsigned budget : {1u, 2u, 13u, 50u}) {
        Recorder recorder;
        searchWorst({kindOf("compute"), kindOf("evict-random"), kindOf("bank")}, space(), budget, 1, recorder.all());
        EXPECT_EQ(recorder.tried.size(), budget);
        EXPECT_EQ(std::set<std::string>(recorder.tried.begin(), recorder.tried.end()).size(), budget);
    }
}

TEST(Search, isTheSameForTheSameSeedAndAnotherForAnother) {
    const auto with = [](std::uint64_t seed) {
        Recorder recorder;
        searchWorst({kindOf("evict-random")}, space(), 40, seed, recorder.all());
        return recorder.tried;
    };
    EXPECT_EQ(with(1), with(1));
    EXPECT_NE(with(1), with(2));
}

TEST(Search, offersSeveralAtOnce) {
    Recorder recorder;
    searchWorst({kindOf("evict-random")}, space(), 33, 1, recorder.all());
    EXPECT_EQ(recorder.atOnce, (std::vector<std::size_t>{1, 8, 8, 8, 8}));
}

TEST(Search, endsWhereNothingIsLeftToTry) {
    SearchSpace one;
    one.choosesSms = false;
    Recorder recorder;
    // Of compute only the number of warps can differ: the usual one and six others.
    searchWorst({kindOf("compute")}, one, 100, 1, recorder.all());
    EXPECT_EQ(recorder.tried.size(), 7u);
}

TEST(Search, goesOnWhereSomeGiveNoSample) {
    const auto half = [](const std::vector<AggressorSpec>& specs) {
        std::vector<std::optional<double>> slowdowns;
        for (const AggressorSpec& spec : specs)
            slowdowns.push_back(spec.layout.warps > 8 ? std::nullopt : std::optional(made(spec)));
        return slowdowns;
    };
    const std::vector<Trial> trials = searchWorst({kindOf("evict-random")}, space(), 60, 1, half);
    ASSERT_NE(worstOf(trials), nullptr);
    EXPECT_LE(worstOf(trials)->aggressor.layout.warps, 8u);
    EXPECT_EQ(trials.size(), 60u);
}

TEST(Search, findsAWorseNeighbourThanThoseGivenOnASimulatedGpu) {
    Options options;
    options.pair.gpu = "sim:tx2";
    options.pair.victim.accesses = 256;
    options.pair.victim.limitSeconds = 0.25;
    options.samples = 1;
    options.explained = 0;
    options.searchBudget = 12;
    options.aggressors = {kindOf("evict-sequential")};
    options.aggressors[0].layout.warps = 1;
    options.aggressors[0].lanes = 1;
    SampleBatch batch({{}, "1"}, std::make_shared<experiment::LocalExecutor>(2));
    Outcome outcome;
    search(options, outcome, batch);
    ASSERT_EQ(outcome.searches.size(), 1u);
    const Search& found = outcome.searches[0];
    EXPECT_EQ(found.trials.size(), 12u);
    EXPECT_GT(*worstOf(found.trials)->slowdown, 1.1 * *found.trials[0].slowdown);
    // Measured again, in full and elsewhere in memory, it is about as bad.
    ASSERT_EQ(outcome.cells.size(), 1u);
    ASSERT_EQ(outcome.cells[0].pairing.pairs.size(), 1u) << outcome.cells[0].pairing.why;
    const corun::Pair& pair = outcome.cells[0].pairing.pairs[0];
    EXPECT_NEAR(pair.together.seconds / pair.alone.seconds / *worstOf(found.trials)->slowdown, 1, 0.25);
}

}  // namespace
}  // namespace bulkhead::stress
