// Tenants under several ways of sharing a GPU, as isolate benchmark compares them.

#include "evaluation/benchmark/benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "temporary_directory.h"

namespace bulkhead::evaluation::benchmark {
namespace {

/// Few SMs take less time.
BenchmarkSpec few(std::vector<std::string> ways, std::vector<std::string> measures) {
    BenchmarkSpec spec;
    spec.gpu = "sim:gtx1080";
    spec.settings = {"sm.count=4"};
    spec.ways = std::move(ways);
    spec.measures = std::move(measures);
    return spec;
}

Result tableOf(const BenchmarkSpec& spec) {
    const BenchmarkReport report = runBenchmark(spec, StepStore("", "test"));
    EXPECT_TRUE(report.failures.empty()) << report.failures.front();
    return report.results.at(0);
}

Value cell(const Result& table, const std::string& figure, const std::string& way) {
    const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](const Result::Column& c) { return c.name == way; });
    if (column == table.columns.end()) throw Error("no column {}", way);
    for (const auto& row : table.rows)
        if (std::get<std::string>(row[0]).starts_with(figure))
            return row[static_cast<std::size_t>(column - table.columns.begin())];
    throw Error("no row {}", figure);
}

double number(const Result& table, const std::string& figure, const std::string& way) {
    return std::get<double>(cell(table, figure, way));
}

std::string text(const Result& table, const std::string& figure, const std::string& way) {
    return std::get<std::string>(cell(table, figure, way));
}

TEST(Benchmark, WhoTakesTurnsTakesTwiceAsLong) {
    BenchmarkSpec spec = few({"processes"}, {"neighbours"});
    // Of a run, each has many short turns.
    spec.settings.insert(spec.settings.end(), {"sharing.quantumUs=5", "sharing.switchUs=0"});
    spec.victims = {"stream"};
    spec.neighbours = {"compute"};
    const Result table = tableOf(spec);
    EXPECT_NEAR(number(table, "neighbours: bandwidth-bound tenant slower, at most", "time slicing"), 100, 15);
}

TEST(Benchmark, OnlyMemoryWallsKeepAStreamAway) {
    BenchmarkSpec spec = few({"mps", "compute-walls", "walls"}, {"neighbours"});
    spec.victims = {"latency"};
    spec.neighbours = {"stream"};
    const Result table = tableOf(spec);
    const std::string figure = "neighbours: latency-bound tenant slower, at most";
    EXPECT_NEAR(number(table, figure, "both walls"), 0, 2);
    EXPECT_GT(number(table, figure, "compute walls"), 20);
    EXPECT_GT(number(table, figure, "MPS"), 20);
}

TEST(Benchmark, AWallLeavesATenantItsShareAndALenderMore) {
    BenchmarkSpec spec = few({"processes", "walls"}, {"alone"});
    spec.victims = {"latency", "compute"};
    const Result table = tableOf(spec);
    const std::string rate = "alone: rate of a compute-bound tenant, of its share";
    EXPECT_NEAR(number(table, rate, "both walls"), 100, 10);  // half of the SMs
    EXPECT_NEAR(number(table, rate, "time slicing"), 200, 1);
    EXPECT_NEAR(number(table, rate, "whole GPU"), 200, 0);
    EXPECT_EQ(number(table, "alone: latency, more than on the whole GPU", "whole GPU"), 0);
}

TEST(Benchmark, MemoryIsRefusedAtAWallAndNowhereElse) {
    const Result table = tableOf(few({"processes", "mps", "walls"}, {"memory"}));
    const std::string got = "memory: that one tenant gets if it asks for all";
    EXPECT_NEAR(number(table, got, "both walls"), 50, 1);
    EXPECT_EQ(text(table, "memory: limit", "both walls").substr(0, 10), "refused at");
    for (const char* way : {"time slicing", "MPS"}) {
        EXPECT_NEAR(number(table, got, way), 100, 5) << way;
        EXPECT_EQ(text(table, "memory: limit", way), "none") << way;
    }
}

TEST(Benchmark, EqualTenantsInWallsGetEquallyMuchDone) {
    const Result table = tableOf(few({"walls"}, {"fairness", "launches"}));
    EXPECT_GE(number(table, "fairness: least over most work of equal tenants", "both walls"), 0.75);  // 3 of 4 runs
    EXPECT_GT(number(table, "launch: an empty kernel, one after the other", "both walls"), 0);
}

TEST(Benchmark, SaysWhatTakesProcesses) {
    const Result table = tableOf(few({"mps"}, {"memory", "joining", "recovery"}));
    for (const char* measure : {"joining", "recovery"}) EXPECT_EQ(text(table, measure, "MPS"), "needs processes");
}

TEST(Benchmark, GoesOnWhereAWayCannotBe) {
    BenchmarkSpec spec = few({"green", "mps"}, {"launches"});
    spec.partitions = 3;
    const BenchmarkReport report = runBenchmark(spec, StepStore("", "test"));
    ASSERT_EQ(report.failures.size(), 1u);
    EXPECT_EQ(report.failures[0], "green contexts: launches: green contexts: choose 2 partitions");
    EXPECT_GT(number(report.results.at(0), "launch: an empty kernel, one after the other", "MPS"), 0);
}

TEST(Benchmark, GoesOnWhereItWasInterrupted) {
    const TemporaryDirectory folder;
    const StepStore store(folder.path(), "test");
    const BenchmarkSpec spec = few({"processes", "mps", "walls"}, {"memory"});
    class Interrupted {};
    unsigned begun = 0;
    const auto interrupt = [&](double, const std::string& next) {
        if (next.starts_with("both walls")) throw Interrupted();
        ++begun;
    };
    EXPECT_THROW(runBenchmark(spec, store, interrupt), Interrupted);
    EXPECT_EQ(begun, 3u);
    const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
    EXPECT_EQ(files, 3);  // the whole GPU and two ways
    const Result resumed = runBenchmark(spec, store).results.at(0), anew = tableOf(spec);
    EXPECT_EQ(resumed.rows, anew.rows);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 4);
}

TEST(Benchmark, HasEveryWayThatProcessesCanHave) {
    std::vector<std::string> names;
    for (const Way& way : ways()) names.push_back(way.name);
    const std::vector<std::string> expected = {"processes", "mps", "mps-shares", "green", "compute-walls", "walls"};
    EXPECT_EQ(names, expected);
}

TEST(Benchmark, RefusesWhatItDoesNotKnow) {
    EXPECT_THROW(runBenchmark(few({"walsl"}, {}), StepStore("", "test")), Error);
    EXPECT_THROW(runBenchmark(few({}, {"jioning"}), StepStore("", "test")), Error);
    BenchmarkSpec spec = few({"mps"}, {"neighbours"});
    spec.victims = {"fault"};  // no application of anybody's
    EXPECT_THROW(runBenchmark(spec, StepStore("", "test")), Error);
    for (const double seconds : {0.0, -1.0, 1e9}) {
        spec = few({"mps"}, {"launches"});
        spec.seconds = seconds;
        EXPECT_THROW(runBenchmark(spec, StepStore("", "test")), Error) << seconds;
    }
}

}  // namespace
}  // namespace bulkhead::evaluation::benchmark
