// Warps on an SM that has some, from warpCycles and smCycles.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

double warpsOf(const Counters& c) {
    return static_cast<double>(c.warpCycles) / static_cast<double>(c.smCycles);
}

const std::string kWork = repeat(200, "add.s32 %r1, %r1, 1;\n");

TEST(OccupancyCounters, oneWarpIsOne) {
    Harness h;
    const Counters c = h.gpu.counters(h.run(kernelText(kWork), {{1}, {32}}));
    EXPECT_GT(c.smCycles, 0u);
    EXPECT_EQ(c.warpCycles, c.smCycles);
}

TEST(OccupancyCounters, smsAddUp) {
    // A block on each of two SMs: twice the cycles, and still one warp on each.
    Harness h;
    const Counters one = h.gpu.counters(h.run(kernelText(kWork), {{1}, {32}}));
    const Counters two = h.gpu.counters(h.run(kernelText(kWork), {{2}, {32}}));
    EXPECT_EQ(two.smCycles, 2 * one.smCycles);
    EXPECT_EQ(two.warpCycles, two.smCycles);
}

TEST(OccupancyCounters, warpsThatEndTogetherAreAsManyAsThereAre) {
    // Four warps of equal length differ by a few cycles of a thousand at their ends.
    Harness h;
    const double warps = warpsOf(h.gpu.counters(h.run(kernelText(kWork), {{1}, {128}})));
    EXPECT_LE(warps, 4);
    EXPECT_GT(warps, 3.9);
}

}  // namespace
}  // namespace bulkhead::sim
