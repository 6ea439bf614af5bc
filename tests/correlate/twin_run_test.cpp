#include "correlate/twin_run.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace bulkhead::correlate {
namespace {

TwinSpec small() {
    TwinSpec spec;
    spec.workload = "Gaussian";
    spec.size = workloads::Size::test;
    spec.gpu = "sim:gtx480";
    return spec;
}

TEST(TwinRun, hasEveryLaunchInOrder) {
    const TwinMeasurement m = execute(small());
    // Gaussian elimination launches its two kernels in turn.
    ASSERT_GE(m.launches.size(), 4u);
    for (std::size_t i = 0; i < m.launches.size(); ++i) {
        EXPECT_EQ(m.launches[i].kernel, i % 2 == 0 ? "gaussianFan1" : "gaussianFan2");
        EXPECT_GT(m.launches[i].cycles, 0u);
        EXPECT_GT(m.launches[i].counters.warpInstructions, 0u);
        EXPECT_TRUE(m.launches[i].grid.starts_with("("));
    }
}

TEST(TwinRun, isReadAsItWasWritten) {
    TwinMeasurement m;
    m.wallSeconds = 1.5;
    m.launches.push_back({"k", "(1, 2, 3)", "(4, 5, 6)", 77, {}});
    m.launches[0].counters.l1Hits = 9;
    m.launches[0].counters.stalls[2] = 11;
    const TwinMeasurement again = TwinMeasurement::fromJson(parseJson(jsonText(m.toJson()), "text"), "text");
    ASSERT_EQ(again.launches.size(), 1u);
    EXPECT_EQ(again.wallSeconds, 1.5);
    EXPECT_EQ(again.launches[0].kernel, "k");
    EXPECT_EQ(again.launches[0].grid, "(1, 2, 3)");
    EXPECT_EQ(again.launches[0].cycles, 77u);
    EXPECT_EQ(again.launches[0].counters.l1Hits, 9u);
    EXPECT_EQ(again.launches[0].counters.l1Misses, 0u);
    EXPECT_EQ(again.launches[0].counters.stalls[2], 11u);
    EXPECT_THROW(TwinMeasurement::fromJson(parseJson(R"({"wall_seconds": 1, "launches": 2})", "t"), "t"), Error);
}

TEST(TwinRun, anotherProfileIsAnotherRun) {
    TwinSpec other = small();
    other.settings = {"l1.ways=2"};
    EXPECT_NE(small().toJson(), other.toJson());
    const TwinSpec again = TwinSpec::fromJson(parseJson(jsonText(describe(other)), "text"), "text");
    EXPECT_EQ(again.toJson(), other.toJson());
}

}  // namespace
}  // namespace bulkhead::correlate
