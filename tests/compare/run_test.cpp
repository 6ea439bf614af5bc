#include "compare/run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "small_run.h"

namespace bulkhead::compare {
namespace {

TEST(Run, aRunToTheEndIsChecked) {
    const RunFigures figures = execute(small("ATAX"));
    EXPECT_FALSE(figures.limited);
    EXPECT_GT(figures.ipc(), 0);
    EXPECT_EQ(figures.activeWarps, figures.residentWarps);  // GTO holds nobody back
}

TEST(Run, aLimitStopsItSoonAfter) {
    const std::uint64_t whole = execute(small("ATAX")).counters.warpInstructions;
    RunSpec spec = small("ATAX");
    spec.warpInstructions = whole / 4;
    const RunFigures figures = execute(spec);
    EXPECT_TRUE(figures.limited);
    EXPECT_GE(figures.counters.warpInstructions, spec.warpInstructions);
    // It looks every 1000 cycles, in which 15 SMs with two schedulers issue 30000 instructions at most.
    EXPECT_LE(figures.counters.warpInstructions, spec.warpInstructions + 30'000);
    EXPECT_LT(figures.counters.warpInstructions, whole);
}

TEST(Run, aLimitInTheFirstOfManyKernelsEndsTheOthersToo) {
    RunSpec spec = small("Gaussian");
    const std::uint64_t whole = execute(spec).counters.warpInstructions;
    spec.warpInstructions = 1;
    const RunFigures figures = execute(spec);
    EXPECT_TRUE(figures.limited);
    EXPECT_LT(figures.counters.warpInstructions, whole / 2);
}

TEST(Run, aLimitThatIsNotReachedChangesNothing) {
    const RunFigures whole = execute(small("Hotspot"));
    RunSpec spec = small("Hotspot");
    spec.warpInstructions = whole.counters.warpInstructions * 2;
    const RunFigures figures = execute(spec);
    EXPECT_FALSE(figures.limited);
    EXPECT_EQ(figures.cycles, whole.cycles);
}

TEST(Run, observingChangesNothingButWhatIsSeen) {
    const RunFigures plain = execute(small("SYRK"));
    RunSpec spec = small("SYRK");
    spec.observe = true;
    const RunFigures observed = execute(spec);
    EXPECT_EQ(observed.cycles, plain.cycles);
    EXPECT_TRUE(plain.series.empty());
    ASSERT_FALSE(observed.series.empty());
    EXPECT_EQ(observed.interference.size(), std::size_t{48} * 48);
    for (std::size_t i = 1; i < observed.series.size(); ++i) {
        EXPECT_GT(observed.series[i].cycles, observed.series[i - 1].cycles);
        EXPECT_GE(observed.series[i].threadInstructions, observed.series[i - 1].threadInstructions);
    }
    EXPECT_LE(observed.series.back().threadInstructions, observed.counters.threadInstructions);
}

TEST(Run, figuresSurviveBeingWritten) {
    RunSpec spec = small("SYRK", "ciao-c");
    spec.observe = true;
    const RunFigures figures = execute(spec);
    const nlohmann::json json = nlohmann::json::parse(figures.toJson().dump());
    const RunFigures again = RunFigures::fromJson(json, "here");
    EXPECT_EQ(again.toJson().dump(), figures.toJson().dump());
    EXPECT_EQ(again.ipc(), figures.ipc());
    EXPECT_EQ(again.counters.stalls, figures.counters.stalls);
}

TEST(Run, figuresThatLackSomethingAreRefused) {
    nlohmann::json json = nlohmann::json::parse(RunFigures().toJson().dump());
    json["counters"].erase("l1Hits");
    EXPECT_THROW(RunFigures::fromJson(json, "here"), Error);
}

TEST(Run, rates) {
    RunFigures figures;
    figures.cycles = 200;
    figures.counters.threadInstructions = 1000;
    figures.counters.l1Hits = 30;
    figures.counters.l1Misses = 10;
    figures.counters.sharedCacheHits = 5;
    figures.counters.sharedCacheMisses = 5;
    EXPECT_DOUBLE_EQ(figures.ipc(), 5);
    EXPECT_DOUBLE_EQ(figures.apki(), 50);
    EXPECT_DOUBLE_EQ(figures.hitRate(), 0.7);
}

}  // namespace
}  // namespace bulkhead::compare
