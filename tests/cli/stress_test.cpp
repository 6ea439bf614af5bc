#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

std::vector<std::string> small(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"stress", "--gpu",          "sim:tx2", "--victim",  "random", "--accesses",
                                          "256",    "--victim-bytes", "16384",   "--samples", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

TEST(Stress, JsonHoldsTheMatrixAndEverySample) {
    const Outcome outcome =
        run(small({"--aggressors", "compute,evict-random", "--placement", "streams,mps", "--json", "-"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json results = parseJson(outcome.out, "output")["results"];
    const nlohmann::json& matrix = results[0];
    ASSERT_EQ(matrix["rows"].size(), 4u);
    EXPECT_NEAR(matrix["rows"][0]["slowdown"], 1.0, 0.02);
    EXPECT_GT(matrix["rows"][1]["slowdown"], 1.1);
    for (const nlohmann::json& row : matrix["rows"]) EXPECT_EQ(row["SMs"], "disjoint");
    std::size_t samples = 0;
    for (const nlohmann::json& result : results)
        if (result["title"].get<std::string>().starts_with("Samples")) samples += result["rows"].size();
    EXPECT_EQ(samples, 4u * 2);
    const auto times = std::find_if(results.begin(), results.end(), [](const auto& r) {
        return r["title"].template get<std::string>().starts_with("Times, ");
    });
    ASSERT_NE(times, results.end());
    ASSERT_EQ((*times)["rows"].size(), 4u * 2);  // alone and together
    for (const nlohmann::json& row : (*times)["rows"])
        for (const std::string name : {"mean", "median", "p95", "p99"}) {
            EXPECT_LE(row["min"], row[name + " low"]);
            EXPECT_LE(row[name + " low"], row[name]);
            EXPECT_LE(row[name], row[name + " high"]);
            EXPECT_LE(row[name + " high"], row["max"]);
        }
}

TEST(Stress, CsvHasALineACell) {
    const Outcome outcome = run(small({"--aggressors", "compute,stream-write", "--csv", "-"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
    EXPECT_EQ(outcome.out.substr(0, 7), "victim,");
}

TEST(Stress, AScenarioFileSaysWhatOptionsDo) {
    const TemporaryDirectory folder;
    writeFile((folder / "scenario.json").string(),
              R"({"gpu": "sim:tx2", "victims": ["random"], "victim": {"accesses": 256, "bytes": 16384}, "samples": 1,
                  "aggressors": ["compute", {"kind": "evict-random", "name": "slow", "blocks": 1, "warps": 4, "sms": [1], "gb_per_s": 0.2}]})");
    const Outcome outcome = run({"stress", "--scenario", (folder / "scenario.json").string(), "--json", "-"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json matrix = parseJson(outcome.out, "output")["results"][0];
    ASSERT_EQ(matrix["rows"].size(), 2u);
    EXPECT_EQ(matrix["rows"][0]["aggressor"], "compute");
    EXPECT_EQ(matrix["rows"][1]["aggressor"], "slow");
    EXPECT_NEAR(matrix["rows"][1]["moved"], 0.2, 0.03);
}

TEST(Stress, BadInputIsRefused) {
    expectRefused(small({"--aggressors", "evict-rondom"}), "evict-random");
    expectRefused(small({"--placement", "nowhere"}), "nowhere");
    expectRefused(small({"--aggressors", "compute", "--exceedance", "2"}), "probability");
    expectRefused({"stress", "--victim", "ATOX", "--aggressors", "compute"}, "ATOX");
    expectRefused({"stress", "--samples", "0", "--aggressors", "compute"}, "0 samples");
    expectRefused({"stress", "--scenario", "/nowhere/file.json"}, "/nowhere/file.json");
    expectRefused({"stress", "--gpu", "sim:tx2", "--victim", "./program", "--aggressors", "compute"},
                  "--placement processes or mps");
    expectRefused({"stress", "--gpu", "cuda:0", "--victim", "./program", "--aggressors", "compute"}, "processes");
    const TemporaryDirectory folder;
    writeFile((folder / "scenario.json").string(), R"({"aggressors": ["compute"], "sample": 3})");
    expectRefused({"stress", "--scenario", (folder / "scenario.json").string()}, "sample");
}

TEST(Stress, AVictimThatHangsGivesNoSampleAndExitCodeOne) {
    const Outcome outcome = run(small({"--aggressors", "evict-random", "--limit", "0.00001", "--csv", "-"}));
    EXPECT_EQ(outcome.exitCode, 1) << outcome.err;
    EXPECT_NE(outcome.out.find("evict-random,0,2,"), std::string::npos) << outcome.out;
}

TEST(Stress, WhatWasMeasuredBeforeAnInterruptIsKept) {
    const TemporaryDirectory folder;
    const std::string json = (folder / "stress.json").string();
    const std::string command =
        "timeout --preserve-status -s INT 3 '" BULKHEAD_PROGRAM
        "' stress --victim random --accesses 256 --victim-bytes 16384 --aggressors evict-random "
        "--samples 1000000 --json '" +
        json + "' > /dev/null 2>&1";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    const nlohmann::json matrix = parseJson(readFile(json), json)["results"][0];
    EXPECT_GE(matrix["rows"].at(0).at("samples").get<int>(), 1);
}

}  // namespace
}  // namespace bulkhead::cli
