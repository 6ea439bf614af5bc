#include "metrics/unit.h"

#include <gtest/gtest.h>

namespace bulkhead::metrics {
namespace {

TEST(Unit, prefixesAreDecimal) {
    EXPECT_DOUBLE_EQ(factorOf("byte"), 1);
    EXPECT_DOUBLE_EQ(factorOf("Kbyte"), 1e3);
    EXPECT_DOUBLE_EQ(factorOf("Mbyte"), 1e6);
    EXPECT_DOUBLE_EQ(factorOf("Gbyte"), 1e9);
}

TEST(Unit, timeIsInSecondsInOldAndNewSpelling) {
    for (const char* const unit : {"ns", "nsecond"}) EXPECT_DOUBLE_EQ(factorOf(unit), 1e-9);
    for (const char* const unit : {"us", "usecond"}) EXPECT_DOUBLE_EQ(factorOf(unit), 1e-6);
    for (const char* const unit : {"ms", "msecond"}) EXPECT_DOUBLE_EQ(factorOf(unit), 1e-3);
    for (const char* const unit : {"s", "second"}) EXPECT_DOUBLE_EQ(factorOf(unit), 1);
}

TEST(Unit, ofAFractionBothPartsCount) {
    EXPECT_DOUBLE_EQ(factorOf("Gbyte/s"), 1e9);
    EXPECT_DOUBLE_EQ(factorOf("cycle/nsecond"), 1e9);
    EXPECT_DOUBLE_EQ(factorOf("Kbyte/block"), 1e3);
}

TEST(Unit, wordsThatBeginLikeAPrefixHaveNone) {
    for (const char* const unit : {"", "%", "register/thread", "thread", "SM", "pass", "cluster", "inst", "sector"})
        EXPECT_DOUBLE_EQ(factorOf(unit), 1) << unit;
}

}  // namespace
}  // namespace bulkhead::metrics
