#include "correlate/causes.h"

#include <gtest/gtest.h>

namespace bulkhead::correlate {
namespace {

constexpr Peaks kPeaks = {4, 100, 10};  // instructions, bytes of L2 and of DRAM, each cycle

KernelPair pairOf(double hardware, double twin) {
    KernelPair k;
    k.hardware.cycles = hardware;
    k.twin.cycles = twin;
    return k;
}

TEST(KernelClasses, followFromWhatHardwareCounted) {
    EXPECT_EQ(classOf(pairOf(9'999, 1), kPeaks), KernelClass::launch);
    KernelPair k = pairOf(100'000, 1);
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::latency);
    k.hardware.instructions = 160'000;  // 1.6 of 4 a cycle are 40 %
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::arithmetic);
    k.hardware.dramBytes = 400'000;  // 4 of 10 bytes a cycle
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::bandwidth);
    k.hardware.dramBytes = 399'000;
    k.hardware.l2Bytes = 4'000'000;
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::bandwidth);
    k.hardware.atomics = 3'200;  // 2 % of instructions
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::atomics);
}

TEST(KernelClasses, theTwinTellsWhatHardwareDidNot) {
    KernelPair k = pairOf(100'000, 1);
    k.twin.instructions = 1000;
    k.twin.atomics = 100;
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::atomics);
    k.hardware.atomics = 0;
    EXPECT_EQ(classOf(k, kPeaks), KernelClass::latency);
}

TEST(Causes, anErrorOf15PercentNeedsNone) {
    EXPECT_TRUE(causesOf(pairOf(100'000, 115'000), kPeaks, 0).empty());
    EXPECT_EQ(causesOf(pairOf(100'000, 116'000), kPeaks, 0), std::vector<std::string>{"unexplained"});
}

TEST(Causes, areNamedWithWhatTheyCost) {
    KernelPair k = pairOf(100'000, 50'000);
    k.hardware.instructions = 1000;
    k.twin.instructions = 1251;
    k.hardware.l1HitRate = 60;
    k.twin.l1HitRate = 49;
    k.hardware.l2HitRate = 60;
    k.twin.l2HitRate = 70;  // not more than 10 points
    k.hardware.dramBytes = 2e6;
    k.twin.dramBytes = 2.6e6;
    EXPECT_EQ(causesOf(k, kPeaks, 0),
              (std::vector<std::string>{"instructions x 1.25", "L1 hit rate -11 points", "DRAM 2.6 MB, not 2"}));
}

TEST(Causes, littleTrafficExplainsNothing) {
    KernelPair k = pairOf(100'000, 50'000);
    k.hardware.dramBytes = 1'000;
    k.twin.dramBytes = 900'000;
    EXPECT_EQ(causesOf(k, kPeaks, 0), std::vector<std::string>{"unexplained"});
}

TEST(Causes, launchIsWhatShortKernelsHaveInCommon) {
    // Hardware takes 2800 cycles more for most short kernels, whatever they take themselves.
    const std::vector<KernelPair> kernels = {pairOf(3'500, 700), pairOf(6'000, 3'200), pairOf(4'000, 1'150),
                                             pairOf(9'000, 1'000), pairOf(50'000, 1'000)};
    EXPECT_DOUBLE_EQ(launchDifference(kernels), 2'825);  // between 2800 and 2850; 2800, 2850 and 8000 around it
    EXPECT_EQ(causesOf(kernels[0], kPeaks, 2'800), std::vector<std::string>{"launch: -2800 cycles"});
    EXPECT_EQ(causesOf(kernels[3], kPeaks, 2'800), std::vector<std::string>{"unexplained"});
    EXPECT_EQ(causesOf(kernels[4], kPeaks, 49'000), std::vector<std::string>{"unexplained"});  // is not short
    EXPECT_EQ(launchDifference({}), 0);
}

TEST(Peaks, areThoseOfTheProfile) {
    const arch::DeviceProfile p = arch::findProfile("h200");
    const Peaks peaks = peaksOf(p);
    EXPECT_EQ(peaks.instructions, 132 * 4);
    // GB/s over GHz are bytes a cycle.
    EXPECT_NEAR(peaks.dramBytes, p.dramGBps() / (static_cast<double>(p.clock.coreMHz) / 1e3), 1e-6);
    EXPECT_GT(peaks.l2Bytes, peaks.dramBytes);
}

}  // namespace
}  // namespace bulkhead::correlate
