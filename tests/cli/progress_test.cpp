#include "cli/progress.h"

#include <gtest/gtest.h>

namespace bulkhead::cli {
namespace {

using namespace std::chrono_literals;

TEST(EveryMinute, IsDueOnceAMinuteHasPassedSinceTheLastTime) {
    const std::chrono::steady_clock::time_point begin{};
    EveryMinute minute(60s, begin);
    EXPECT_FALSE(minute.due(begin));
    EXPECT_FALSE(minute.due(begin + 59s));
    EXPECT_TRUE(minute.due(begin + 60s));
    EXPECT_FALSE(minute.due(begin + 61s));
    // What is late delays what comes after it: lines are never less than a minute apart.
    EXPECT_TRUE(minute.due(begin + 150s));
    EXPECT_FALSE(minute.due(begin + 180s));
    EXPECT_TRUE(minute.due(begin + 210s));
}

TEST(ClockTime, HasHoursFromTheFirstOneOn) {
    EXPECT_EQ(clockTime(65), "1:05");
    EXPECT_EQ(clockTime(3599.4), "59:59");
    EXPECT_EQ(clockTime(7384), "2:03:04");
}

}  // namespace
}  // namespace bulkhead::cli
