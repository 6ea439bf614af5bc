#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

using Words = std::vector<std::string>;

Words correlate(const TemporaryDirectory& folder, Words more) {
    Words words = {"correlate", "--store", (folder / "runs").string(), "--size", "test", "--twin", "sim:gtx480"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

nlohmann::json kernelsOf(const Outcome& outcome) {
    EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
    return parseJson(outcome.out, "output").at("results").at(1).at("rows");
}

TEST(Correlate, aGpuIsItsOwnTwin) {
    const TemporaryDirectory folder;
    const nlohmann::json rows =
        kernelsOf(run(correlate(folder, {"VA", "Gaussian", "--gpu", "sim:gtx480", "--json", "-"})));
    ASSERT_EQ(rows.size(), 3u);
    for (const nlohmann::json& row : rows) {
        EXPECT_EQ(row.at("error"), 0);
        EXPECT_EQ(row.at("hardware cycles"), row.at("twin cycles"));
        EXPECT_EQ(row.at("hardware instructions"), row.at("twin instructions"));
    }
}

TEST(Correlate, countersThatRunWroteAreReadAsHardwares) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "VA.csv").string();
    const Outcome wrote = run({"run", "VA", "--size", "test", "--gpu", "sim:gtx480", "--metrics", "ncu:" + file});
    ASSERT_EQ(wrote.exitCode, 0) << wrote.err;
    EXPECT_NE(wrote.out.find("a result equal to the CPU's"), std::string::npos);
    // Nobody named a workload: the file's name does.
    const nlohmann::json rows = kernelsOf(run(correlate(folder, {"--ncu", file, "--json", "-"})));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].at("workload"), "VA");
    EXPECT_EQ(rows[0].at("kernel"), "vectorAdd");
    EXPECT_EQ(rows[0].at("error"), 0);
}

TEST(Correlate, thePtxFileRunsOnBothSides) {
    const TemporaryDirectory folder;
    const std::string file = BULKHEAD_SOURCE_DIR "/tests/ptx/fixtures/clang/vector_add.sm_35.ptx";
    const Outcome outcome = run(
        correlate(folder, {file, "--kernel", "vectorAdd", "--grid", "4", "--block", "64", "--arg", "f32[256]", "--arg",
                           "f32[256]", "--arg", "f32[256]", "--arg", "i32:256", "--gpu", "sim:gtx480", "--json", "-"}));
    const nlohmann::json rows = kernelsOf(outcome);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].at("kernel"), "vectorAdd");
    EXPECT_EQ(rows[0].at("error"), 0);
}

TEST(Correlate, tableAndPageShowTheSameKernels) {
    const TemporaryDirectory folder;
    const Outcome table = run(correlate(folder, {"VA", "--gpu", "sim:gtx1080"}));
    EXPECT_EQ(table.exitCode, 0) << table.err;
    for (const char* const part : {"vectorAdd", "mean absolute error of cycles", "likely cause"})
        EXPECT_NE(table.out.find(part), std::string::npos) << part;
    const Outcome page =
        run(correlate(folder, {"VA", "--gpu", "sim:gtx1080", "--html", (folder / "page.html").string()}));
    EXPECT_EQ(page.exitCode, 0) << page.err;
    const std::string html = readFile(folder / "page.html");
    EXPECT_NE(html.find("\"kind\":\"scatter\""), std::string::npos);
    EXPECT_NE(html.find(">vectorAdd<"), std::string::npos);
}

TEST(Correlate, kernelsOfOneSideAreTold) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "counters.csv").string();
    writeFile(
        file,
        "\"ID\",\"Kernel Name\",\"gpc__cycles_elapsed.max\"\n\"\",\"\",\"cycle\"\n\"0\",\"stranger\",\"1,000\"\n");
    const Outcome outcome = run(correlate(folder, {"VA", "--ncu", file}));
    EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
    for (const char* const part : {"stranger", "on the twin", "vectorAdd", "on hardware"})
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST(Correlate, badInputIsRefusedInALine) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "none.csv").string();
    writeFile(file, "nothing\n");
    expectRefused({"correlate"}, "name workloads");
    expectRefused({"correlate", "VAA", "--gpu", "sim:gtx480"}, "VAA");
    expectRefused({"correlate", "VA", "--ncu", file}, "none.csv");
    expectRefused({"correlate", "VA", "--ncu", file, "--gpu", "cuda:0"}, "--gpu");
    expectRefused({"correlate", "VA", "--twin", "cuda:0"}, "--twin");
    expectRefused({"correlate", "VA", "--gpu", "sim:gtx480", "--grid", "4"}, "--grid");
    expectRefused({"correlate", "VA", "--all", "--gpu", "sim:gtx480"}, "--all");
    expectRefused({"correlate", "VA", "--gpu", "sim:gtx480", "--sort", "best"}, "best");
    expectRefused({"run", "VA", "--metrics", "nvprof"}, "--metrics");
}

TEST(Metrics, standardOutputIsTheCsvAlone) {
    const Outcome outcome = run({"run", "VA", "--size", "test", "--metrics", "ncu"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("\"ID\",")) << outcome.out;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);  // header, units, one launch
}

TEST(Metrics, compareHasARowForEachRun) {
    const TemporaryDirectory folder;
    const Outcome outcome = run({"compare", "--store", (folder / "runs").string(), "--workloads", "VA", "--schedulers",
                                 "gto,lrr", "--size", "test", "--metrics", "ncu"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
    EXPECT_NE(outcome.out.find("\"lrr\",\"VA\""), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace bulkhead::cli
