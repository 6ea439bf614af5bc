#include "reproduce/verdict.h"

#include <gtest/gtest.h>

namespace bulkhead::reproduce {
namespace {

Result table(std::vector<Result::Column> columns, std::vector<std::vector<Value>> rows) {
    Result r;
    r.title = "a table";
    r.columns = std::move(columns);
    for (auto& row : rows) r.add(std::move(row));
    return r;
}

TEST(Verdicts, HoldOursAgainstThePapersByTheNamesOfColumns) {
    const Result v =
        verdicts({table({{"workload", ""}, {"APKI", ""}, {"paper's APKI", ""}, {"other", ""}},
                        {{std::string("ATAX"), 65.0, 64.0, 1.0}, {std::string("WC"), 40.0, 19.0, 1.0}}),
                  table({{"of", ""}, {"ours", "x"}, {"paper", "x"}}, {{std::string("ciao-c"), 2.0, 1.6}})});
    ASSERT_EQ(v.rows.size(), 3u);
    EXPECT_EQ(std::get<std::string>(v.rows[0][1]), "ATAX");
    EXPECT_DOUBLE_EQ(std::get<double>(v.rows[0][6]), 65.0 / 64.0);
    EXPECT_EQ(std::get<std::string>(v.rows[0][7]), "agrees");
    EXPECT_EQ(std::get<std::string>(v.rows[1][7]), "differs");
    EXPECT_EQ(std::get<std::string>(v.rows[2][7]), "near");
    EXPECT_EQ(std::get<std::string>(v.rows[2][3]), "x");
}

TEST(Verdicts, LeaveOutRowsOfWhichThePaperHasNoNumber) {
    EXPECT_TRUE(verdicts({table({{"ours", ""}, {"paper", ""}}, {{1.0, Value()}, {Value(), 2.0}})}).rows.empty());
    EXPECT_TRUE(verdicts({table({{"paper", ""}, {"mean", ""}}, {{1.0, 1.0}})}).rows.empty());
}

TEST(Verdicts, CompareWithNothingByTheDifference) {
    const Result v = verdicts({table({{"ours", ""}, {"paper", ""}}, {{std::int64_t{0}, std::int64_t{0}}, {0.5, 0.0}})});
    EXPECT_EQ(std::get<std::string>(v.rows[0][7]), "agrees");
    EXPECT_EQ(std::get<std::string>(v.rows[1][7]), "differs");
    EXPECT_TRUE(std::holds_alternative<std::monostate>(v.rows[1][6]));
}

}  // namespace
}  // namespace bulkhead::reproduce
