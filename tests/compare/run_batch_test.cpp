#include "experiment/run_batch.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "compare/warp_limits.h"
#include "small_run.h"
#include "temporary_directory.h"

namespace bulkhead::compare {
namespace {

TEST(RunBatch, aProcessFindsWhatARunHereFinds) {
    const TemporaryDirectory folder;
    RunBatch batch(Store(folder.path(), "1"), local(2));
    EXPECT_EQ(batch.run(small("ATAX", "ciao-c")).measurement.cycles, execute(small("ATAX", "ciao-c")).cycles);
}

TEST(RunBatch, goesOnWhereItWasInterrupted) {
    const TemporaryDirectory folder;
    const std::vector<RunSpec> all = {small("ATAX"), small("NN"), small("Lud")};
    RunBatch first(Store(folder.path(), "1"), local(2));
    first.run({all[1]});
    RunBatch second(Store(folder.path(), "1"), local(2));
    const std::vector<Outcome> outcomes = second.run(all);
    EXPECT_EQ(second.executed(), 2u);
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome.ok() && outcome.measurement.cycles > 0);
}

TEST(RunBatch, aDamagedFileIsSaidAndMadeAgain) {
    const TemporaryDirectory folder;
    const Store store(folder.path(), "1");
    const Cycles cycles = RunBatch(store, local(1)).run(small("NN")).measurement.cycles;
    std::ofstream(store.fileOf(small("NN"))) << "{";
    std::vector<std::string> warnings;
    RunBatch again(Store(folder.path(), "1", [&](const std::string& line) { warnings.push_back(line); }), local(1));
    EXPECT_EQ(again.run(small("NN")).measurement.cycles, cycles);
    EXPECT_EQ(again.executed(), 1u);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings.front().starts_with(store.fileOf(small("NN")).string())) << warnings.front();
    EXPECT_EQ(store.find(small("NN")).value().cycles, cycles);
}

TEST(RunBatch, runsWhereNothingCanBeKept) {
    std::vector<std::string> warnings;
    const auto warn = [&](const std::string& line) { warnings.push_back(line); };
    RunBatch batch(Store("/proc", "1", warn), local(2));
    for (const Outcome& outcome : batch.run({small("NN"), small("Lud")}))
        EXPECT_TRUE(outcome.ok() && outcome.measurement.cycles > 0) << outcome.failure;
    EXPECT_EQ(std::set<std::string>(warnings.begin(), warnings.end()).size(), 1u) << "the same line each time";
    RunBatch without(Store({}, "1"), local(2));
    EXPECT_GT(without.run(small("NN")).measurement.cycles, 0u);
}

TEST(RunBatch, aRunThatIsAskedForTwiceIsDoneOnce) {
    const TemporaryDirectory folder;
    RunBatch batch(Store(folder.path(), "1"), local(2));
    const std::vector<Outcome> outcomes = batch.run({small("NN"), small("NN")});
    EXPECT_EQ(batch.executed(), 1u);
    EXPECT_EQ(outcomes[0].measurement.cycles, outcomes[1].measurement.cycles);
}

TEST(RunBatch, aRunThatFailsIsToldAndNotKept) {
    const TemporaryDirectory folder;
    RunBatch batch(Store(folder.path(), "1"), local(2));
    const std::vector<Outcome> outcomes = batch.run({small("NN", "best-swl"), small("NN")});
    EXPECT_NE(outcomes[0].failure.find("best-swl:4"), std::string::npos) << outcomes[0].failure;
    EXPECT_TRUE(outcomes[1].ok());
    EXPECT_FALSE(Store(folder.path(), "1").find(small("NN", "best-swl")));
}

TEST(RunBatch, progressCountsWhatIsLeft) {
    const TemporaryDirectory folder;
    std::vector<experiment::Progress> seen;
    RunBatch batch(Store(folder.path(), "1"), local(1, [&](const experiment::Progress& p) { seen.push_back(p); }));
    batch.run({small("NN"), small("Lud")});
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].done, 1u);
    EXPECT_EQ(seen[0].of, 2u);
    EXPECT_EQ(seen[0].last, "NN gto");
    EXPECT_GT(seen[0].secondsLeft.value(), 0);
    EXPECT_EQ(seen[1].secondsLeft.value(), 0);
}

TEST(WarpLimits, areThoseOfTheMachine) {
    const std::vector<int> limits = warpLimits(48, 2);
    EXPECT_EQ(limits.front(), 2);
    EXPECT_EQ(limits.back(), 48);
    EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end()));
    EXPECT_EQ(std::set<int>(limits.begin(), limits.end()).size(), limits.size());
    EXPECT_TRUE(std::all_of(limits.begin(), limits.end(), [](int limit) { return limit % 2 == 0; }));
    EXPECT_EQ(warpLimits(64, 4).back(), 64);
}

TEST(WarpLimits, profilingFindsTheBest) {
    const TemporaryDirectory folder;
    RunBatch batch(Store(folder.path(), "1"), local(2));
    const std::vector<RunSpec> specs = withWarpLimits(batch, {small("ATAX", "best-swl"), small("ATAX", "statpcal"),
                                                              small("ATAX", "gto"), small("ATAX", "best-swl:5")});
    const std::string found = specs[0].scheduler.substr(std::string("best-swl").size());
    EXPECT_EQ(specs[1].scheduler, "statpcal" + found);
    EXPECT_EQ(specs[2].scheduler, "gto");
    EXPECT_EQ(specs[3].scheduler, "best-swl:5");
    const double best = execute(specs[0]).ipc();
    for (int n : warpLimits(48, 2)) EXPECT_GE(best, execute(small("ATAX", "best-swl:" + std::to_string(n))).ipc()) << n;
}

TEST(WarpLimits, schedulersThatDoNotExistAreRefused) {
    EXPECT_NO_THROW(expectScheduler("best-swl"));
    EXPECT_NO_THROW(expectScheduler("best-swl:4"));
    EXPECT_THROW(expectScheduler("best"), Error);
    EXPECT_THROW(expectScheduler("gto:4"), Error);
}

}  // namespace
}  // namespace bulkhead::compare
