#include "compare/run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "small_run.h"

namespace bulkhead::compare {
namespace {

TEST(Run, aRunToTheEndIsChecked) {
    const RunMeasurement measurement = execute(small("ATAX"));
    EXPECT_FALSE(measurement.limited);
    EXPECT_GT(measurement.ipc(), 0);
    EXPECT_EQ(measurement.activeWarps, measurement.residentWarps);  // GTO holds nobody back
}

TEST(Run, aLimitStopsItSoonAfter) {
    const std::uint64_t whole = execute(small("ATAX")).counters.warpInstructions;
    RunSpec spec = small("ATAX");
    spec.warpInstructions = whole / 4;
    const RunMeasurement measurement = execute(spec);
    EXPECT_TRUE(measurement.limited);
    EXPECT_GE(measurement.counters.warpInstructions, spec.warpInstructions);
    // It looks every 1000 cycles, in which 15 SMs with two schedulers issue 30000 instructions at most.
    EXPECT_LE(measurement.counters.warpInstructions, spec.warpInstructions + 30'000);
    EXPECT_LT(measurement.counters.warpInstructions, whole);
}

TEST(Run, aLimitInTheFirstOfManyKernelsEndsTheOthersToo) {
    RunSpec spec = small("Gaussian");
    const std::uint64_t whole = execute(spec).counters.warpInstructions;
    spec.warpInstructions = 1;
    const RunMeasurement measurement = execute(spec);
    EXPECT_TRUE(measurement.limited);
    EXPECT_LT(measurement.counters.warpInstructions, whole / 2);
}

TEST(Run, aLimitThatIsNotReachedChangesNothing) {
    const RunMeasurement whole = execute(small("Hotspot"));
    RunSpec spec = small("Hotspot");
    spec.warpInstructions = whole.counters.warpInstructions * 2;
    const RunMeasurement measurement = execute(spec);
    EXPECT_FALSE(measurement.limited);
    EXPECT_EQ(measurement.cycles, whole.cycles);
}

TEST(Run, observingChangesNothingButWhatIsSeen) {
    const RunMeasurement plain = execute(small("SYRK"));
    RunSpec spec = small("SYRK");
    spec.observe = true;
    const RunMeasurement observed = execute(spec);
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
    const RunMeasurement measurement = execute(spec);
    const nlohmann::json json = nlohmann::json::parse(measurement.toJson().dump());
    const RunMeasurement again = RunMeasurement::fromJson(json, "here");
    EXPECT_EQ(again.toJson().dump(), measurement.toJson().dump());
    EXPECT_EQ(again.ipc(), measurement.ipc());
    EXPECT_EQ(again.counters.stalls, measurement.counters.stalls);
}

TEST(Run, figuresThatLackSomethingAreRefused) {
    nlohmann::json json = nlohmann::json::parse(RunMeasurement().toJson().dump());
    json["counters"].erase("l1Hits");
    EXPECT_THROW(RunMeasurement::fromJson(json, "here"), Error);
}

TEST(Run, rates) {
    RunMeasurement measurement;
    measurement.cycles = 200;
    measurement.counters.threadInstructions = 1000;
    measurement.counters.l1Hits = 30;
    measurement.counters.l1Misses = 10;
    measurement.counters.sharedCacheHits = 5;
    measurement.counters.sharedCacheMisses = 5;
    EXPECT_DOUBLE_EQ(measurement.ipc(), 5);
    EXPECT_DOUBLE_EQ(measurement.apki(), 50);
    EXPECT_DOUBLE_EQ(measurement.hitRate(), 0.7);
}

}  // namespace
}  // namespace bulkhead::compare
