#include "base/extremes.h"

#include <gtest/gtest.h>

namespace bulkhead {
namespace {

TEST(Extremes, AreOfTheNumbersOfAColumnAndKnowTheirRows) {
    Result r;
    r.columns = {{"a", ""}, {"b", ""}};
    r.add({Value(), "x"});
    r.add({std::int64_t{7}, "y"});
    r.add({-2.5, "z"});
    const auto found = extremesOf(r, 0);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->least, -2.5);
    EXPECT_EQ(found->leastRow, 2u);
    EXPECT_EQ(found->most, 7);
    EXPECT_EQ(found->mostRow, 1u);
    EXPECT_FALSE(extremesOf(r, 1));
}

}  // namespace
}  // namespace bulkhead
