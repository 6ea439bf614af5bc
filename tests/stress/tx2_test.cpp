// The figures of "Towards Demystifying Cache Interference on NVIDIA GPUs", from the model of its machine. Applications
// make fewer accesses than the paper's; bulkhead reproduce interference makes them all.

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/statistics.h"
#include "corun/passes.h"
#include "reproduce/interference.h"
#include "sim/machine.h"
#include "stress/stress.h"

namespace bulkhead::stress {
namespace {

double number(const Result& r, std::size_t row, std::size_t column) {
    return std::get<double>(r.rows.at(row).at(column));
}

corun::PairSpec arena(const std::string& sharing, const std::string& victim, const std::string& aggressor,
                      std::uint64_t accesses) {
    corun::PairSpec spec;
    spec.gpu = "sim:tx2";
    spec.sharing = sharing;
    spec.victim.name = victim;
    spec.victim.accesses = accesses;
    spec.aggressor.kind = aggressor;
    return spec;
}

Cell measure(const corun::PairSpec& spec, unsigned samples = 1) {
    Options options;
    options.samples = samples;
    return measureCell(spec, options);
}

double factor(const Cell& cell) {
    return mean(cell.pairing.together()) / mean(cell.pairing.alone());
}

TEST(Tx2, TableOneIsWithinATenthOfThePaper) {
    reproduce::InterferenceOptions options;
    options.samples = 1;
    const std::vector<Result> results = reproduce::accessTimes(options);
    const Result& r = results.at(0);
    EXPECT_NEAR(number(r, 0, 1), 519, 51.9);
    EXPECT_GT(number(r, 0, 2), 450);  // "at least 450 cycles"
    EXPECT_NEAR(number(r, 1, 1), 116, 11.6);
    // The histogram beside it has every access of both passes, each once.
    for (const std::size_t pass : {2, 3}) {
        std::int64_t accesses = 0;
        for (const auto& bin : results.at(1).rows) accesses += std::get<std::int64_t>(bin.at(pass));
        EXPECT_EQ(accesses, 512 * 1024 / 128);
    }
}

TEST(Tx2, BetweenAThirdAndAHalfOfACacheSizedArrayStaysInTheCache) {
    const std::vector<Result> results = reproduce::warmHits({});
    const Result& r = results.at(0);
    ASSERT_EQ(r.rows.size(), 8u);
    for (std::size_t array = 0; array < 8; ++array)
        for (const std::size_t pattern : {1, 2}) {
            EXPECT_GE(number(r, array, pattern), 36);
            EXPECT_LE(number(r, array, pattern), 55);
        }
    // The cumulative distribution says the same between hits and misses, which take "at least 450 cycles".
    const Result& distribution = results.at(1);
    for (std::size_t row = 0; row < distribution.rows.size(); ++row)
        if (number(distribution, row, 0) > 200 && number(distribution, row, 0) < 450) {
            for (std::size_t array = 0; array < 8; ++array)
                EXPECT_DOUBLE_EQ(number(distribution, row, array + 1), number(r, array, 1));
        }
    EXPECT_GT(number(distribution, distribution.rows.size() - 1, 1), 99.5);
}

TEST(Tx2, AMapFindsLinesThatCoverTheCache) {
    const Result r = reproduce::guidedCoverage({}).at(0);
    EXPECT_LT(number(r, 0, 2), 56);
    for (const std::size_t order : {1, 2}) {
        EXPECT_GE(number(r, order, 2), 99);
        EXPECT_EQ(std::get<std::int64_t>(r.rows[order][1]), 512 * 1024 / 128);
    }
}

TEST(Tx2, EvictionDoublesTheTimeOfARandomApplication) {
    const Cell cell = measure(arena("streams", "random", "evict-random", 16384));
    ASSERT_EQ(cell.pairing.pairs.size(), 1u) << cell.refusal << cell.pairing.why;
    EXPECT_NEAR(factor(cell), 64.59 / 30.72, 0.1 * 64.59 / 30.72);
    EXPECT_EQ(cell.pairing.onDisjointSms(), true);
    // What it loses is what was pushed out of the cache, most of all.
    EXPECT_GT(cell.causes.of(sim::Resource::l2), 0.5 * cell.causes.total());
    EXPECT_EQ(cell.causes.timeSlicing, 0);
}

TEST(Tx2, EvictionHurtsASequentialApplicationLess) {
    const Cell cell = measure(arena("streams", "sequential", "evict-random", 32768));
    ASSERT_EQ(cell.pairing.pairs.size(), 1u) << cell.refusal << cell.pairing.why;
    EXPECT_NEAR(factor(cell), 23.25 / 17.15, 0.1 * 23.25 / 17.15);
}

TEST(Tx2, ComputingBesideAnApplicationDoesNotSlowItDown) {
    const Cell cell = measure(arena("streams", "random", "compute", 4096));
    ASSERT_EQ(cell.pairing.pairs.size(), 1u) << cell.refusal << cell.pairing.why;
    EXPECT_NEAR(factor(cell), 1, 0.02);
}

TEST(Tx2, TimeSlicingDoublesTheTimeWhateverTheOtherProcessDoes) {
    // Half of the array: five slices of each process.
    const auto sliced = [](const std::string& kind) {
        corun::PairSpec spec = arena("processes", "sequential", kind, 65536);
        spec.victim.cold = true;
        spec.aggressor.layout = {1, 1, {}};
        return measure(spec);
    };
    const Cell compute = sliced("compute"), eviction = sliced("evict-random");
    ASSERT_EQ(compute.pairing.pairs.size(), 1u) << compute.refusal << compute.pairing.why;
    ASSERT_EQ(eviction.pairing.pairs.size(), 1u) << eviction.refusal << eviction.pairing.why;
    EXPECT_NEAR(factor(compute), 2.12, 0.212);
    EXPECT_NEAR(factor(eviction) / factor(compute), 1, 0.02);
    EXPECT_GT(compute.causes.timeSlicing, 0.9 * compute.causes.total());
}

}  // namespace
}  // namespace bulkhead::stress
