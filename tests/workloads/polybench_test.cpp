#include <gtest/gtest.h>

#include "corruption.h"
#include "measured.h"

namespace bulkhead::workloads {
namespace {

constexpr std::size_t kFloat = sizeof(float);
using Sizes = std::vector<std::size_t>;

// Exactly the results are looked at: one wrong element of any of them is found, and the inputs are taken from the host.

TEST(PolyBench, AtaxCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("ATAX"), (Sizes{200 * kFloat, 296 * kFloat}));
}

TEST(PolyBench, BicgCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("BICG"), (Sizes{200 * kFloat, 296 * kFloat}));
}

TEST(PolyBench, MvtCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("MVT"), (Sizes{248 * kFloat, 248 * kFloat}));
}

TEST(PolyBench, GesummvCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("GESUMMV"), (Sizes{248 * kFloat, 248 * kFloat}));
}

TEST(PolyBench, SyrkCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("SYRK"), (Sizes{60 * 60 * kFloat}));
}

TEST(PolyBench, Syr2kCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("SYR2K"), (Sizes{60 * 60 * kFloat}));
}

TEST(PolyBench, Conv2dCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("2DCONV"), (Sizes{100 * 140 * kFloat}));
}

TEST(PolyBench, CorrCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("CORR"), (Sizes{70 * 71 * kFloat}));
}

std::uint64_t loads(const KernelMeasurement& kernel) {
    return kernel.counters.l1Hits + kernel.counters.l1Misses;
}

TEST(PolyBench, AThreadARowTouchesALineALane) {
    const Measurement m = measured("ATAX");
    ASSERT_EQ(m.kernels[0].kernel, "ataxRows");
    // 200 lanes in 7 warps. For each of 296 columns every lane its own line of A, every warp one of x; each warp also
    // one of the result before the loop.
    EXPECT_EQ(loads(m.kernels[0]), 296u * (200 + 7) + 7);
}

TEST(PolyBench, AThreadAColumnTouchesALineOrTwoAWarp) {
    const Measurement m = measured("ATAX");
    ASSERT_EQ(m.kernels[1].kernel, "ataxColumns");
    // 296 columns in 10 warps, 9 full ones and a region. A row of 1184 bytes is 9 lines and a region, so rows begin
    // at every region of a line by turns, 50 times each: at 0 the warps touch 10 lines; a region further on each full
    // warp straddles two, and the last, of a region, still lies in one.
    const std::uint64_t ofA = 50 * 10 + 3 * 50 * (9 * 2 + 1);
    EXPECT_EQ(loads(m.kernels[1]), ofA + 200u * 10 + 10);
}

TEST(PolyBench, LoadsAreAsFrequentAsInTheCiaoPaper) {
    // Table II, on the GPU it is about; within a factor of 1.5. Small inputs already have the loops' proportions.
    for (const Workload& workload : all()) {
        if (workload.suite != "PolyBench") continue;
        const double apki = measured(std::string(workload.name)).apki();
        EXPECT_GT(apki, workload.ciao->apki / 1.5) << workload.name;
        EXPECT_LT(apki, workload.ciao->apki * 1.5) << workload.name;
    }
}

}  // namespace
}  // namespace bulkhead::workloads
