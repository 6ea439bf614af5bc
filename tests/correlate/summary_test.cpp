#include "correlate/summary.h"

#include <gtest/gtest.h>

#include "correlate/tables.h"

namespace bulkhead::correlate {
namespace {

KernelPair pairOf(const std::string& suite, double hardware, double twin) {
    KernelPair k;
    k.suite = suite;
    k.workload = suite + "'s";
    k.kernel = "k";
    k.hardware.cycles = hardware;
    k.twin.cycles = twin;
    return k;
}

/// Ratios 0.5, 2, 1.1 and 1: errors of 50, 100, 10 and 0 %.
std::vector<KernelPair> four() {
    return {pairOf("a", 1'000, 500), pairOf("a", 30'000, 60'000), pairOf("b", 100'000, 110'000),
            pairOf("b", 2'000, 2'000)};
}

TEST(Summary, hasTheErrorsOfCycles) {
    const Summary s = summaryOf(four());
    EXPECT_EQ(s.all.kernels, 4u);
    EXPECT_NEAR(*s.all.mean, 40, 1e-9);
    EXPECT_NEAR(*s.all.median, 30, 1e-9);                  // between 10 and 50
    EXPECT_NEAR(*s.all.ratio, 1.0241136890844451, 1e-12);  // the fourth root of 1.1
    EXPECT_EQ(s.all.within, 2u);
    EXPECT_EQ(s.ofLong.kernels, 2u);
    EXPECT_NEAR(*s.ofLong.mean, 55, 1e-9);
}

TEST(Summary, logarithmsCorrelateWhereRatiosAreAllTheSame) {
    const std::vector<KernelPair> doubled = {pairOf("a", 10, 20), pairOf("a", 1'000, 2'000), pairOf("a", 70, 140)};
    EXPECT_NEAR(*summaryOf(doubled).logCorrelation, 1, 1e-12);
    const std::vector<KernelPair> reversed = {pairOf("a", 10, 100), pairOf("a", 100, 10)};
    EXPECT_NEAR(*summaryOf(reversed).logCorrelation, -1, 1e-12);
    EXPECT_FALSE(summaryOf(std::vector{pairOf("a", 10, 100)}).logCorrelation);
}

TEST(Summary, differencesAreOfKernelsThatBothSidesCounted) {
    std::vector<KernelPair> kernels = four();
    kernels[0].hardware.l1HitRate = 50;
    kernels[0].twin.l1HitRate = 54;
    kernels[1].hardware.l1HitRate = 50;
    kernels[1].twin.l1HitRate = 40;
    kernels[2].twin.l1HitRate = 99;
    kernels[0].hardware.dramBytes = 999'999;  // under 1 MB
    kernels[0].twin.dramBytes = 0;
    kernels[1].hardware.dramBytes = 2e6;
    kernels[1].twin.dramBytes = 3e6;
    const Summary s = summaryOf(kernels);
    EXPECT_DOUBLE_EQ(*s.l1Points, 7);
    EXPECT_FALSE(s.l2Points);
    EXPECT_DOUBLE_EQ(*s.dram, 50);
    EXPECT_EQ(s.dramKernels, 1u);
}

TEST(Summary, ofNothingHasNothing) {
    const Summary s = summaryOf({});
    EXPECT_EQ(s.all.kernels, 0u);
    EXPECT_FALSE(s.all.mean);
    EXPECT_FALSE(s.logCorrelation);
}

TEST(Tables, suitesStandBesideTheOthers) {
    const Result r = suiteTable({four(), {}});
    ASSERT_EQ(r.rows.size(), 2u);
    EXPECT_EQ(r.rows[0][0], Value(std::string("a")));
    EXPECT_NEAR(std::get<double>(r.rows[0][2]), 75, 1e-9);  // of 50 and 100
    EXPECT_NEAR(std::get<double>(r.rows[0].back()), 5, 1e-9);
}

TEST(Tables, theWorstComesFirstEitherWay) {
    const Peaks peaks = {4, 100, 10};
    const Result r = kernelTable({four(), {}}, peaks, Order::worstFirst);
    // 0.5 and 2 are equally far off, and keep their order.
    const auto hardware = [&](std::size_t row) { return std::get<double>(r.rows[row][7]); };
    EXPECT_EQ(hardware(0), 1'000);
    EXPECT_EQ(hardware(1), 30'000);
    EXPECT_EQ(hardware(2), 100'000);
    EXPECT_EQ(hardware(3), 2'000);
    EXPECT_EQ(worstTable({four(), {}}, peaks).rows.size(), 2u);
    EXPECT_EQ(worstTable({four(), {}}, peaks, 1).rows.size(), 1u);
}

TEST(Tables, kernelsWithoutAPartnerAreListed) {
    const Result r = unmatchedTable({{}, {{"s", "W", "k", 3, true}, {"s", "W", "j", 1, false}}});
    ASSERT_EQ(r.rows.size(), 2u);
    EXPECT_EQ(r.rows[0].back(), Value(std::string("on the twin")));
    EXPECT_EQ(r.rows[1].back(), Value(std::string("on hardware")));
}

}  // namespace
}  // namespace bulkhead::correlate
