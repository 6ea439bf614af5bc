#include "base/phrases.h"

#include <gtest/gtest.h>

namespace bulkhead {
namespace {

TEST(Phrases, HaveThreeDigitsAndNoExponentForWhatPeopleCount) {
    EXPECT_EQ(brief(0.017149), "0.0171");
    EXPECT_EQ(brief(2.456), "2.46");
    EXPECT_EQ(brief(99.96), "100");
    EXPECT_EQ(brief(-1234.5), "-1234");
    EXPECT_EQ(brief(0), "0");
}

TEST(Phrases, CountOneAndMany) {
    EXPECT_EQ(counted(1, "run"), "1 run");
    EXPECT_EQ(counted(0, "run"), "0 runs");
    EXPECT_EQ(counted(12, "kernel"), "12 kernels");
}

TEST(Phrases, GiveATimeTheUnitThatSuitsIt) {
    EXPECT_EQ(duration(2.5), "2.5 s");
    EXPECT_EQ(duration(0.00117), "1.17 ms");
    EXPECT_EQ(duration(3.94e-5), "39.4 us");
}

}  // namespace
}  // namespace bulkhead
