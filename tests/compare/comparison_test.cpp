#include "compare/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reproduce/ciao.h"
#include "small_run.h"
#include "temporary_directory.h"

namespace bulkhead::compare {
namespace {

Outcome withIpc(double ipc) {
    Outcome outcome;
    outcome.measurement.cycles = 1000;
    outcome.measurement.counters.threadInstructions = static_cast<std::uint64_t>(ipc * 1000);
    return outcome;
}

/// Two LWS workloads and one CI, under two schedulers.
Comparison made() {
    Comparison c;
    c.plan = {{"ATAX", "MVT", "NN"}, {{"gto", "gto"}, {"ciao-c", "ciao-c"}}, {}};
    c.specs.resize(6);
    c.outcomes = {withIpc(10), withIpc(20), withIpc(10), withIpc(80), withIpc(100), withIpc(100)};
    return c;
}

TEST(Comparison, gainsAreOverTheFirst) {
    const Comparison c = made();
    EXPECT_DOUBLE_EQ(std::get<double>(c.gain(0, 0)), 1);
    EXPECT_DOUBLE_EQ(std::get<double>(c.gain(0, 1)), 2);
    EXPECT_DOUBLE_EQ(std::get<double>(c.gain(1, 1)), 8);
}

TEST(Comparison, meansAreGeometricAndByClass) {
    const Comparison c = made();
    EXPECT_NEAR(std::get<double>(c.meanGain("LWS", 1)), 4, 1e-12);  // sqrt(2 x 8)
    EXPECT_NEAR(std::get<double>(c.meanGain("", 1)), std::cbrt(2 * 8 * 1), 1e-12);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(c.meanGain("SWS", 1)));
}

TEST(Comparison, aFailureLeavesItsCellAndItsMeansEmpty) {
    Comparison c = made();
    c.outcomes[1].failure = "broken";
    EXPECT_TRUE(std::holds_alternative<std::monostate>(c.gain(0, 1)));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(c.meanGain("LWS", 1)));
    EXPECT_NEAR(std::get<double>(c.meanGain("CI", 1)), 1, 1e-12);
    EXPECT_EQ(c.failures().size(), 1u);
}

TEST(Comparison, tablesHaveARowForEachWorkloadAndMean) {
    const Result gains = gainTable(made());
    ASSERT_EQ(gains.rows.size(), 3u + 3u);  // ATAX, MVT, NN; LWS, CI, all
    EXPECT_EQ(std::get<std::string>(gains.rows[3][1]), "LWS");
    EXPECT_EQ(runTable(made()).rows.size(), 6u);
}

TEST(Comparison, theWorkloadsOfThePaperComeClassByClass) {
    EXPECT_EQ(ciaoWorkloads().size(), 21u);
    EXPECT_EQ(ciaoWorkloads({"LWS"}).size(), 5u);
    EXPECT_EQ(ciaoWorkloads({"SWS"}).size(), 8u);
    EXPECT_EQ(ciaoWorkloads({"CI"}).size(), 8u);
    EXPECT_TRUE(ciaoWorkloads({"ATAX"}).empty());
}

TEST(Comparison, variantsAddTheirSettingsToTheCommonOnes) {
    const TemporaryDirectory folder;
    RunBatch batch(Store(folder.path(), "1"), local(2));
    RunSpec common;
    common.size = workloads::Size::test;
    common.settings = {"l1.mshrs=16"};
    const Comparison c = compare(batch, {{"NN"}, {{"a", "gto"}, {"b", "gto", {"dram.latency=2000"}}}, common});
    EXPECT_EQ(c.spec(0, 1).settings, (std::vector<std::string>{"l1.mshrs=16", "dram.latency=2000"}));
    // The same program, which does little but wait for DRAM.
    EXPECT_EQ(c.at(0, 0).measurement.counters.warpInstructions, c.at(0, 1).measurement.counters.warpInstructions);
    EXPECT_LT(std::get<double>(c.gain(0, 1)), 0.9);
}

}  // namespace
}  // namespace bulkhead::compare

namespace bulkhead::reproduce {
namespace {

TEST(Reproduce, ratiosOfAClassAndOfAWorkload) {
    compare::Comparison c;
    c.plan = {{"ATAX", "MVT", "NN"}, schedulers({"gto", "ccws"}), {}};
    c.specs.resize(6);
    for (std::uint64_t ipc : {1, 2, 1, 8, 4, 1}) {
        c.outcomes.emplace_back();
        c.outcomes.back().measurement.cycles = 1;
        c.outcomes.back().measurement.counters.threadInstructions = ipc;
    }
    const Result r = ratioTable("", c, {{"V", "ccws", "gto", "LWS", 1}, {"V", "ccws", "gto", "NN", 1}});
    EXPECT_NEAR(std::get<double>(r.rows[0][4]), 4, 1e-12);
    EXPECT_NEAR(std::get<double>(r.rows[1][4]), 0.25, 1e-12);
}

// V-F: 48 sets of 8 tags, 48 counters of 32 bits, entries of 6 + 2 and 6 + 6 bits, 64 bytes for the MSHRs' addresses.
TEST(Reproduce, storageFollowsFromTheStructures) {
    const TemporaryDirectory folder;
    compare::RunBatch batch(compare::Store(folder.path(), "1"), compare::local(1));
    const Result r = storageOverhead(batch, {}).front();
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> sizes;
    for (const auto& row : r.rows)
        if (std::holds_alternative<std::int64_t>(row[1]))
            sizes[std::get<std::string>(row[0])] = {std::get<std::int64_t>(row[1]), std::get<std::int64_t>(row[2])};
    EXPECT_EQ(sizes["victim tag array"].first, 48 * 8);
    EXPECT_EQ(sizes["VTA-hit counters"], std::pair(std::int64_t{48}, std::int64_t{32}));
    EXPECT_EQ(sizes["interference list"].second, 8);
    EXPECT_EQ(sizes["pair list"].second, 12);
    const auto [mshrs, bits] = sizes["shared-memory addresses in MSHRs"];
    EXPECT_EQ(mshrs * bits, 64 * 8);
}

/// At test size every figure is made, so that none of them fails after hours.
class EveryFigure : public testing::TestWithParam<const char*> {};

TEST_P(EveryFigure, isMade) {
    const TemporaryDirectory folder;
    compare::RunBatch batch(compare::Store(folder.path(), "1"), compare::local(2));
    compare::RunSpec common;
    common.size = workloads::Size::test;
    common.warpInstructions = 2000;
    const auto figure = std::ranges::find(ciaoFigures(), std::string_view(GetParam()), &CiaoFigure::name);
    ASSERT_NE(figure, ciaoFigures().end());
    const std::vector<Result> results = figure->make(batch, common);
    ASSERT_FALSE(results.empty());
    for (const Result& result : results) EXPECT_FALSE(result.columns.empty());
    EXPECT_FALSE(results.back().rows.empty());
}

INSTANTIATE_TEST_SUITE_P(Ciao, EveryFigure, testing::Values("1b", "4b", "9", "10", "11a", "12a", "overhead"));

}  // namespace
}  // namespace bulkhead::reproduce
