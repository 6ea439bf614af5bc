// Telling hits from misses by time, where a real GPU's times leave no gap between them.

#include "corun/passes.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace bulkhead::corun {
namespace {

/// Times from `low` to `high`, every one of them many times.
std::vector<double> spread(double low, double high, std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> times;
    for (std::size_t i = 0; i < count; ++i)
        times.push_back(low + static_cast<double>(random.below(static_cast<std::uint64_t>(high - low))));
    return times;
}

TEST(Passes, WhatIsFasterThanAnyMissIsAHit) {
    Passes passes;
    passes.cold = spread(480, 1000, 40000, 1);
    passes.warm = spread(250, 480, 10000, 2);
    passes.warm[0] = 200;  // a wider gap than any other
    const std::vector<double> misses = spread(480, 1000, 30000, 3);
    passes.warm.insert(passes.warm.end(), misses.begin(), misses.end());
    EXPECT_NEAR(hitShare(passes.warm, hitThreshold(passes)), 0.25, 1e-9);
}

TEST(Passes, AFewLinesThatWereNotFlushedDoNotMatter) {
    Passes passes;
    passes.cold = spread(480, 1000, 400000, 1);
    for (std::size_t i = 0; i < 4; ++i) passes.cold[i * 1000] = 250;
    passes.warm = spread(250, 480, 10000, 2);
    EXPECT_EQ(hitShare(passes.warm, hitThreshold(passes)), 1);
}

}  // namespace
}  // namespace bulkhead::corun
