#include "reproduce/verdict.h"

#include <gtest/gtest.h>

#include "reproduce/ciao.h"

namespace bulkhead::reproduce {
namespace {

Result table(std::vector<Result::Column> columns, std::vector<std::vector<Value>> rows) {
    Result r;
    r.title = "a table";
    r.columns = std::move(columns);
    for (auto& row : rows) r.add(std::move(row));
    return r;
}

std::string text(const Value& value) {
    return std::get<std::string>(value);
}

TEST(Verdicts, HoldOursAgainstThePapersByTheNamesOfColumns) {
    const Result v =
        verdicts({table({{"workload", ""}, {"APKI", ""}, {"paper's APKI", ""}, {"other", ""}},
                        {{std::string("ATAX"), 65.0, 64.0, 1.0}, {std::string("WC"), 40.0, 19.0, 1.0}}),
                  table({{"of", ""}, {"ours", "x"}, {"paper", "x"}}, {{std::string("ciao-c"), 1.75, 1.6}})})
            .back();
    ASSERT_EQ(v.rows.size(), 3u);
    EXPECT_EQ(text(v.rows[0][1]), "ATAX");
    EXPECT_EQ(std::get<double>(v.rows[0][4]), 64.0);
    EXPECT_EQ(std::get<double>(v.rows[0][5]), 65.0);
    EXPECT_DOUBLE_EQ(std::get<double>(v.rows[0][6]), 65.0 / 64.0);
    EXPECT_EQ(text(v.rows[0][7]), "agrees");
    EXPECT_EQ(text(v.rows[1][7]), "differs");
    EXPECT_EQ(text(v.rows[2][7]), "near");
    EXPECT_EQ(text(v.rows[2][3]), "x");
}

TEST(Verdicts, LeaveOutRowsOfWhichThePaperHasNoNumber) {
    EXPECT_TRUE(verdicts({table({{"ours", ""}, {"paper", ""}}, {{1.0, Value()}, {Value(), 2.0}})}).empty());
    EXPECT_TRUE(verdicts({table({{"paper", ""}, {"mean", ""}}, {{1.0, 1.0}})}).empty());
}

TEST(Verdicts, CompareWithNothingByTheDifference) {
    const Result v =
        verdicts({table({{"ours", ""}, {"paper", ""}}, {{std::int64_t{0}, std::int64_t{0}}, {0.5, 0.0}})}).back();
    EXPECT_EQ(text(v.rows[0][7]), "agrees");
    EXPECT_EQ(text(v.rows[1][7]), "differs");
    EXPECT_TRUE(std::holds_alternative<std::monostate>(v.rows[1][6]));
}

/// The words for factors of ours beside one of a paper.
std::string ofFactor(double ours, double papers) {
    return text(verdicts({table({{"ours", "x"}, {"paper", "x"}}, {{ours, papers}})}).back().rows[0][7]);
}

TEST(Verdicts, CompareGainsNotFactors) {
    EXPECT_EQ(ofFactor(1.30, 1.02), "differs");  // though 1.30 / 1.02 is 1.27
    EXPECT_EQ(ofFactor(1.00, 1.02), "differs");
    EXPECT_EQ(ofFactor(0.98, 1.02), "differs");
    EXPECT_EQ(ofFactor(1.52, 1.56), "agrees");  // 0.52 of 0.56
    EXPECT_EQ(ofFactor(1.47, 1.60), "near");    // 0.47 of 0.60
    EXPECT_EQ(ofFactor(0.53, 0.50), "agrees");  // a loss
}

std::string ofBound(double least, double greatest, Value gain) {
    return text(
        verdicts({table({{"variant", ""}, {"minimum", "%"}, {"maximum", "%"}, {"gain", "%"}, {"paper: within", "%"}},
                        {{std::string("50K"), least, greatest, std::move(gain), 15.0}})})
            .back()
            .rows[0][7]);
}

TEST(Verdicts, OfABoundAskForAnEffectThatCouldHaveChanged) {
    EXPECT_EQ(ofBound(-14, 3, 80.0), "agrees");
    EXPECT_EQ(ofBound(-16, 3, 80.0), "near");
    EXPECT_EQ(ofBound(-3, 30, 80.0), "differs");
    EXPECT_EQ(ofBound(0, 0, 0.0), "differs");
    EXPECT_EQ(ofBound(-1, 1, 10.0), "differs");
    EXPECT_EQ(ofBound(-1, 1, Value()), "differs");
}

// Where all schedulers do the same, no number about schedulers is like the paper's.
TEST(Verdicts, AreAllAgainstASimulatorInWhichEverySchedulerIsGto) {
    compare::Comparison c;
    c.plan = {compare::ciaoWorkloads(),
              schedulers({"gto", "ccws", "best-swl", "statpcal", "ciao-t", "ciao-p", "ciao-c"}),
              {}};
    c.outcomes.resize(c.plan.workloads.size() * c.plan.variants.size());
    c.specs.resize(c.outcomes.size());
    for (compare::Outcome& outcome : c.outcomes) {
        outcome.measurement.cycles = 100;
        outcome.measurement.counters.threadInstructions = 100;
    }
    std::vector<Result> tables = {ratioTable("Figure 8a", c, kFigure8Ratios),
                                  ratioTable("Figure 10", c, kFigure10Ratios)};
    tables.push_back(table({{"variant", ""}, {"minimum", "%"}, {"maximum", "%"}, {"gain", "%"}, {"paper: within", "%"}},
                           {{std::string("50K"), 0.0, 0.0, 0.0, kEpochsWithin}}));
    const Result counts = verdicts(tables).front();
    ASSERT_EQ(counts.rows.size(), 3u);
    for (const auto& row : counts.rows) {
        EXPECT_EQ(std::get<std::int64_t>(row[2]), 0) << text(row[0]);
        EXPECT_EQ(std::get<std::int64_t>(row[3]), 0) << text(row[0]);
        EXPECT_GT(std::get<std::int64_t>(row[4]), 0) << text(row[0]);
    }
}

TEST(Verdicts, PutHardwareBesideSimulationOfTheSameNumber) {
    Result sim = table({{"kernel", ""}, {"ours", "ms"}, {"paper", "ms"}, {"SMs", ""}},
                       {{std::string("None"), 10.0, 10.0, std::string("4")}});
    Result real = table({{"kernel", ""}, {"ours", "ms"}, {"paper", "ms"}, {"SMs", ""}},
                        {{std::string("None"), 25.0, 10.0, std::string("66")}});
    sim.provenance.gpu = "sim:tx2";
    real.provenance.gpu = "cuda:0";
    const Result v = verdicts({sim, real}).back();
    ASSERT_EQ(v.rows.size(), 1u);
    EXPECT_EQ(std::get<double>(v.rows[0][5]), 10.0);
    EXPECT_EQ(text(v.rows[0][7]), "agrees");
    EXPECT_EQ(std::get<double>(v.rows[0][8]), 25.0);
    EXPECT_EQ(std::get<double>(v.rows[0][9]), 2.5);
    EXPECT_EQ(text(v.rows[0][10]), "differs");
}

TEST(Verdicts, AreCountedByFigure) {
    Result a = table({{"ours", ""}, {"paper", ""}}, {{1.0, 1.0}, {1.2, 1.0}}), b = a, c = a;
    a.title = "Figure 1. Speed: one part";
    b.title = "Figure 1. Speed: another";
    c.title = "Figure 2. Size";
    const Result counts = verdicts({a, b, c}).front();
    ASSERT_EQ(counts.rows.size(), 2u);
    EXPECT_EQ(text(counts.rows[0][0]), "Figure 1. Speed");
    EXPECT_EQ(std::get<std::int64_t>(counts.rows[0][2]), 2);
    EXPECT_EQ(std::get<std::int64_t>(counts.rows[0][3]), 2);
    EXPECT_EQ(std::get<std::int64_t>(counts.rows[0][4]), 0);
    EXPECT_EQ(std::get<std::int64_t>(counts.rows[1][2]), 1);
}

TEST(Verdicts, AreNotPassedOnThemselves) {
    const std::vector<Result> once = verdicts({table({{"ours", ""}, {"paper", ""}}, {{1.0, 1.0}})});
    for (const Result& r : once) EXPECT_TRUE(isVerdict(r));
    EXPECT_TRUE(verdicts(once).empty());
}

}  // namespace
}  // namespace bulkhead::reproduce
