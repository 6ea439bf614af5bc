#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

std::vector<std::string> small(const std::string& store, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"compare",      "--store",    store,    "--workloads", "ATAX,NN",
                                          "--schedulers", "gto,ciao-c", "--size", "test"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

TEST(Compare, showsGainsAndMeans) {
    const TemporaryDirectory folder;
    const Outcome outcome = run(small(folder.path(), {}));
    EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
    for (const char* part : {"ATAX", "NN", "ciao-c", "geometric mean", "LWS", "CI"})
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST(Compare, theSecondTimeRunsComeFromTheStore) {
    const TemporaryDirectory folder;
    const std::string first = run(small(folder / "runs", {"--csv", "-"})).out;
    const std::string second = run(small(folder / "runs", {"--csv", "-"})).out;
    // With the time that each run took.
    EXPECT_EQ(first, second);
}

TEST(Compare, jsonHoldsEveryRun) {
    const TemporaryDirectory folder;
    const Outcome outcome = run(small(folder.path(), {"--json", "-", "--limit", "1000"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json json = parseJson(outcome.out, "output");
    ASSERT_EQ(json.at("results").size(), 4u);
    ASSERT_EQ(json["results"][1].at("rows").size(), 4u);
    EXPECT_EQ(json["results"][1]["rows"][0].at("limited"), true);
}

TEST(Compare, keepsTheCountersOfEveryRun) {
    const TemporaryDirectory folder;
    const Outcome outcome = run(small(folder.path(), {"--json", "-"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json results = parseJson(outcome.out, "output")["results"];
    const auto &runs = results[1]["rows"], &counters = results[2]["rows"];
    ASSERT_EQ(counters.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(counters[i]["warpInstructions"], runs[i]["warp instructions"]);
        EXPECT_EQ(counters[i]["cycles"], runs[i]["cycles"]);
        EXPECT_GT(counters[i]["stalled: memory"], 0);
    }
}

TEST(Compare, tellsWhatSchedulersDidInAllTheirCycles) {
    const TemporaryDirectory folder;
    const Outcome outcome = run(small(folder.path(), {"--json", "-"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json results = parseJson(outcome.out, "output")["results"];
    const auto &counters = results[2]["rows"], &shares = results[3]["rows"];
    ASSERT_EQ(shares.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (const auto& [name, value] : shares[i].items())
            if (value.is_number()) sum += value.get<double>();
        EXPECT_NEAR(sum, 100, 1e-6);
        const double issued = counters[i]["warpInstructions"], waited = counters[i]["stalled: memory"];
        EXPECT_NEAR(shares[i]["memory"].get<double>() / shares[i]["issued"].get<double>(), waited / issued, 1e-9);
    }
}

TEST(Compare, observesEveryRunWithoutChangingIt) {
    const TemporaryDirectory folder;
    const std::string seen = (folder / "seen").string();
    const auto cycles = [](const Outcome& outcome) {
        std::vector<std::int64_t> all;
        const nlohmann::json output = parseJson(outcome.out, "output");
        for (const auto& row : output["results"][1]["rows"]) all.push_back(row["cycles"]);
        return all;
    };
    const Outcome outcome = run(small(folder / "runs", {"--json", "-", "--observe", seen, "--timeline", seen}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    EXPECT_EQ(cycles(outcome), cycles(run(small(folder / "runs", {"--json", "-"}))));
    for (const std::string name : {"ATAX-gto", "ATAX-ciao-c", "NN-gto", "NN-ciao-c"}) {
        EXPECT_TRUE(readFile(seen + "/" + name + ".html").starts_with("<!DOCTYPE html>"));
        EXPECT_EQ(parseJson(readFile(seen + "/" + name + ".json"), name)["results"].size(), 7u);
        EXPECT_TRUE(parseJson(readFile(seen + "/" + name + ".trace.json"), name).contains("traceEvents"));
    }
}

TEST(Compare, htmlIsAPage) {
    const TemporaryDirectory folder;
    ASSERT_EQ(run(small(folder.path(), {"--html", (folder / "page.html").string()})).exitCode, 0);
    const std::string page = readFile(folder / "page.html");
    EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
    EXPECT_NE(page.find(">ATAX<"), std::string::npos);
}

TEST(Compare, aRunUnderBestSwlFindsItsLimit) {
    const TemporaryDirectory folder;
    setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
    const Outcome outcome = run({"run", "ATAX", "--size", "test", "--scheduler", "best-swl", "--json", "-"});
    unsetenv("XDG_CACHE_HOME");
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const std::string scheduler = parseJson(outcome.out, "output").at("scheduler");
    EXPECT_TRUE(scheduler.starts_with("best-swl:")) << scheduler;
    EXPECT_FALSE(std::filesystem::is_empty(folder / "bulkhead/runs"));
}

TEST(Compare, badInputIsRefusedBeforeAnythingRuns) {
    const TemporaryDirectory folder;
    const std::string store = folder.path();
    expectRefused({"compare", "--store", store, "--schedulers", "gto,best"}, "unknown scheduler 'best'");
    expectRefused({"compare", "--store", store, "--workloads", "ATAXX"}, "ATAX");
    expectRefused({"compare", "--store", store, "--set", "l1.way=8"}, "l1.way");
    expectRefused({"compare", "--store", store, "--gpu", "cuda:0"}, "simulated");
    expectRefused({"compare", "--store", store, "--size", "huge"}, "huge");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Reproduce, unknownPapersAndFiguresAreRefused) {
    expectRefused({"reproduce", "ciao", "--figures", "13"}, "unknown figure 13");
    expectRefused({"reproduce", "chiao"}, "chiao");
}

TEST(Compare, RunsAProgramUnderEachScheduler) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "reduction").string(), program = "'" + file + "'";
    const std::string source = std::string(BULKHEAD_SOURCE_DIR) + "/examples/reduction.cu";
    ASSERT_EQ(run({"cc", "-O2", source, "-o", file}).exitCode, 0);
    const Outcome outcome = run({"compare", "--program", program, "--schedulers", "gto,lrr", "--json", "-"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json results = nlohmann::json::parse(outcome.out)["results"];
    std::map<std::string, std::map<std::string, double>> cycles;  // by kernel and scheduler
    for (const nlohmann::json& row : results[1]["rows"]) cycles[row["kernel"]][row["scheduler"]] = row["cycles"];
    ASSERT_FALSE(cycles.empty());
    std::map<std::string, double> all;
    for (const nlohmann::json& row : results[0]["rows"]) {
        EXPECT_EQ(row["gto"], 1);
        if (row["kernel"] == "all") {
            EXPECT_DOUBLE_EQ(row["lrr"], all["gto"] / all["lrr"]);
            continue;
        }
        std::map<std::string, double>& own = cycles.at(row["kernel"]);
        EXPECT_DOUBLE_EQ(row["lrr"], own["gto"] / own["lrr"]);
        for (const char* scheduler : {"gto", "lrr"}) all[scheduler] += own[scheduler];
    }
    expectRefused({"compare", "--program", program, "--workloads", "VA"}, "--workloads");
    expectRefused({"compare", "--program", "/no/such/program"}, "/no/such/program");
    expectRefused({"compare", "--program", program, "--schedulers", "fastest"}, "fastest");
    expectRefused({"compare", "--program", "/bin/true"}, "ran no kernel");
}

}  // namespace
}  // namespace bulkhead::cli
