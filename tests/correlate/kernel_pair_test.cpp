#include "correlate/kernel_pair.h"

#include <gtest/gtest.h>

namespace bulkhead::correlate {
namespace {

using metrics::LaunchRow;
using Values = std::map<std::string, double, std::less<>>;

LaunchRow row(const std::string& kernel, Values values) {
    return {"", kernel, "", "", std::move(values)};
}

LaunchRow cycles(const std::string& kernel, double n) {
    return row(kernel, {{"gpc__cycles_elapsed.max", n}});
}

TEST(Side, isTheMeanOfItsLaunches) {
    const std::vector<LaunchRow> rows = {
        row("k", {{"gpc__cycles_elapsed.max", 100},
                  {"smsp__inst_executed.sum", 10},
                  {"dram__bytes_read.sum", 32},
                  {"dram__bytes_write.sum", 64},
                  {"lts__t_sectors_op_read.sum", 8}}),
        row("k", {{"gpc__cycles_elapsed.max", 300}, {"dram__bytes_read.sum", 96}, {"dram__bytes_write.sum", 0}})};
    const Side side = sideOf(rows);
    EXPECT_EQ(side.launches, 2u);
    EXPECT_EQ(side.cycles, 200);
    EXPECT_EQ(side.instructions, 10);  // of the launch that counted them
    EXPECT_EQ(side.dramBytes, (32 + 64 + 96) / 2);
    EXPECT_EQ(side.l2Bytes, 8 * 32);
    EXPECT_FALSE(side.warps);
    EXPECT_FALSE(side.cyclesFromTime);
}

TEST(Side, hitRatesAreOfAllSectorsTogether) {
    const auto loads = [](double all, double hits) {
        return row("k", {{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", all},
                         {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", hits}});
    };
    // 1 of 2 and 99 of 198: half of all, though a mean of rates would not differ; 0 of 200 makes it a quarter.
    EXPECT_DOUBLE_EQ(*sideOf(std::vector{loads(2, 1), loads(198, 99)}).l1HitRate, 50);
    EXPECT_DOUBLE_EQ(*sideOf(std::vector{loads(2, 1), loads(198, 99), loads(200, 0)}).l1HitRate, 25);
    EXPECT_FALSE(sideOf(std::vector{loads(0, 0)}).l1HitRate);
}

TEST(Side, cyclesThatNobodyCountedComeFromTimeAndClock) {
    const Side side = sideOf(
        std::vector{row("k", {{"gpu__time_duration.sum", 2e-6}, {"gpc__cycles_elapsed.avg.per_second", 1.5e9}})});
    EXPECT_DOUBLE_EQ(*side.cycles, 3000);
    EXPECT_TRUE(side.cyclesFromTime);
}

TEST(Side, stallsOfBothKindsAreShares) {
    const Side hardware =
        sideOf(std::vector{row("k", {{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 6},
                                     {"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", 1.5},
                                     {"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", 1},
                                     {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 0.5}})});
    ASSERT_TRUE(hardware.stalls);
    EXPECT_DOUBLE_EQ((*hardware.stalls)[0], 75);
    EXPECT_DOUBLE_EQ((*hardware.stalls)[1], 18.75);
    EXPECT_DOUBLE_EQ((*hardware.stalls)[2], 6.25);
    EXPECT_EQ(mostStalled(hardware), "memory");
    const Side twin = sideOf(std::vector{row("k", {{"bulkhead__scheduler_cycles_stalled_unit.sum", 30},
                                                   {"bulkhead__scheduler_cycles_stalled_idle.sum", 100},
                                                   {"bulkhead__scheduler_cycles_stalled_memory.sum", 10}})});
    EXPECT_DOUBLE_EQ((*twin.stalls)[3], 75);
    EXPECT_EQ(mostStalled(twin), "unit");
    EXPECT_EQ(mostStalled(Side()), "");
}

TEST(Pairing, isByNameAndOrderOverTheLaunchesThatBothRan) {
    // The profiler stopped after k's second launch; its third is left out of the twin's mean.
    const Subject subject{"suite",
                          "W",
                          {cycles("k(int)", 10), cycles("j", 5), cycles("k(int)", 30)},
                          {cycles("j", 6), cycles("k", 12), cycles("k", 20), cycles("k", 1000)},
                          false};
    const Correlation c = pairKernels(std::vector{subject});
    ASSERT_EQ(c.kernels.size(), 2u);
    EXPECT_EQ(c.kernels[1].kernel, "k");
    EXPECT_EQ(c.kernels[1].hardware.cycles, 20);
    EXPECT_EQ(c.kernels[1].twin.cycles, 16);
    EXPECT_EQ(c.kernels[1].hardwareLaunches, 2u);
    EXPECT_EQ(c.kernels[1].twinLaunches, 3u);
    EXPECT_DOUBLE_EQ(*c.kernels[1].ratio(), 0.8);
    EXPECT_DOUBLE_EQ(*c.kernels[1].error(), 0.2);
    EXPECT_TRUE(c.unmatched.empty());
}

TEST(Pairing, tellsWhichKernelsHaveNoPartner) {
    const Correlation c = pairKernels(
        std::vector{Subject{"s", "W", {cycles("a", 1), cycles("b", 1)}, {cycles("b", 1), cycles("c", 1)}, false}});
    ASSERT_EQ(c.kernels.size(), 1u);
    ASSERT_EQ(c.unmatched.size(), 2u);
    EXPECT_EQ(c.unmatched[0].kernel, "c");
    EXPECT_FALSE(c.unmatched[0].onHardware);
    EXPECT_EQ(c.unmatched[1].kernel, "a");
    EXPECT_TRUE(c.unmatched[1].onHardware);
}

TEST(Pairing, aFileOfSeveralSubjectsLacksOnlyWhatNoneHas) {
    const std::vector<LaunchRow> all = {cycles("a", 1), cycles("b", 1), cycles("stranger", 1)};
    const Correlation c = pairKernels(
        std::vector{Subject{"s", "A", all, {cycles("a", 1)}, true}, Subject{"s", "B", all, {cycles("b", 1)}, true}});
    EXPECT_EQ(c.kernels.size(), 2u);
    ASSERT_EQ(c.unmatched.size(), 1u);
    EXPECT_EQ(c.unmatched[0].kernel, "stranger");
}

TEST(Pairing, withoutCyclesThereIsNoRatio) {
    const Correlation c = pairKernels(std::vector{Subject{"s", "A", {row("k", {})}, {cycles("k", 4)}, false}});
    ASSERT_EQ(c.kernels.size(), 1u);
    EXPECT_FALSE(c.kernels[0].ratio());
    EXPECT_FALSE(c.kernels[0].error());
}

}  // namespace
}  // namespace bulkhead::correlate
