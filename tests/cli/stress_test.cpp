#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> small(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"stress", "--gpu",          "sim:tx2", "--victim",  "random", "--accesses",
                                          "256",    "--victim-bytes", "16384",   "--samples", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

TEST(Stress, JsonHoldsTheMatrixAndEverySample) {
    const Outcome outcome =
        run(small({"--aggressors", "compute,evict-random", "--sharing", "streams,mps", "--json", "-"}));
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
        return r["title"].template get<std::string>().starts_with("Run times ");
    });
    ASSERT_NE(times, results.end());
    ASSERT_EQ((*times)["rows"].size(), 4u * 2);  // alone and together
    for (const nlohmann::json& row : (*times)["rows"]) {
        for (const std::string name : {"mean", "median", "p95", "p99"}) {
            EXPECT_LE(row["min"], row[name]);
            EXPECT_LE(row[name], row["max"]);
            const nlohmann::json &low = row[name + " low"], &high = row[name + " high"];
            EXPECT_TRUE(low.is_null() || low <= row[name]) << name;
            EXPECT_TRUE(high.is_null() || row[name] <= high) << name;
        }
        // Two samples set limits to the mean, and none above a percentile.
        EXPECT_FALSE(row["mean low"].is_null() || row["mean high"].is_null());
        EXPECT_TRUE(row["median high"].is_null() && row["p95 high"].is_null());
    }
}

TEST(Stress, AnswersWithTheWorstNeighbourItsTimesAndTheirCause) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "r.json").string();
    const Outcome outcome = run(small({"--aggressors", "compute,evict-random", "--json", file}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const nlohmann::json results = parseJson(readFile(file), file)["results"];
    const std::string answer = results[0]["answer"];
    const nlohmann::json& worst = results[0]["rows"][1];
    ASSERT_GT(worst["slowdown"], results[0]["rows"][0]["slowdown"]);
    char alone[64], together[64], cause[64];
    std::snprintf(alone, sizeof alone, "takes %.3g us alone", worst["solo mean"].get<double>() * 1e3);
    std::snprintf(together, sizeof together, "%.3g us beside evict-random", worst["mean"].get<double>() * 1e3);
    const nlohmann::json& causes = results[1]["rows"].back();
    ASSERT_GT(causes["L2 lines"], causes["DRAM banks"]);
    std::snprintf(cause, sizeof cause, "%.0f %% of the loss is L2 eviction.", causes["L2 lines"].get<double>());
    for (const char* part : {alone, together, cause}) EXPECT_NE(answer.find(part), std::string::npos) << answer;
    // The verb ends with it, how to read it, and what it does not hold for.
    const std::string last = outcome.out.substr(outcome.out.rfind("\n\n"));
    EXPECT_TRUE(last.starts_with("\n\nAnswer: " + answer + "\nHow to read it: ")) << last;
    EXPECT_NE(last.find("Caveat: 2 samples each"), std::string::npos) << last;
}

TEST(Stress, TheMatrixOnATerminalIsNarrow) {
    const Outcome outcome = run(small({"--aggressors", "compute,evict-random"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const std::string matrix = outcome.out.substr(0, outcome.out.find("\n\n"));
    std::istringstream lines(matrix);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 132u) << line;
    for (const char* shown : {"mean (ms)", "slowdown (x)", "aggressor traffic (GB/s)"})
        EXPECT_NE(matrix.find(shown), std::string::npos) << shown;
    const std::string table = matrix.substr(0, matrix.find("(--wide adds"));
    for (const char* left : {"harm", "p95", "note", "bound"}) EXPECT_EQ(table.find(left), std::string::npos) << left;
    const std::string wide = run(small({"--aggressors", "compute", "--wide"})).out;
    for (const char* shown : {"harm (ns/MB)", "p95 (ms)", "note"})
        EXPECT_NE(wide.find(shown), std::string::npos) << shown;
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
    EXPECT_NEAR(matrix["rows"][1]["aggressor traffic"], 0.2, 0.03);
}

TEST(Stress, BadInputIsRefused) {
    expectRefused(small({"--aggressors", "evict-rondom"}), "evict-random");
    expectRefused(small({"--sharing", "nowhere"}), "nowhere");
    expectRefused(small({"--aggressors", "compute", "--exceedance", "2"}), "probability");
    expectRefused({"stress", "--victim", "ATOX", "--aggressors", "compute"}, "ATOX");
    expectRefused({"stress", "--samples", "0", "--aggressors", "compute"}, "0 is too small");
    expectRefused({"stress", "--scenario", "/nowhere/file.json"}, "/nowhere/file.json");
    expectRefused({"stress", "--gpu", "sim:tx2", "--victim", "./program", "--aggressors", "compute"},
                  "--sharing processes or mps");
    expectRefused({"stress", "--gpu", "cuda:0", "--victim", "./program", "--aggressors", "compute"}, "processes");
    const TemporaryDirectory folder;
    writeFile((folder / "scenario.json").string(), R"({"aggressors": ["compute"], "sample": 3})");
    expectRefused({"stress", "--scenario", (folder / "scenario.json").string()}, "sample");
}

TEST(Stress, WhatNoGpuCanDoIsBadInput) {
    const std::vector<std::vector<std::string>> dials = {
        {"--duty", "0"},      {"--duty", "1000"}, {"--lanes", "0"},        {"--lanes", "1000"},
        {"--warps", "1000"},  {"--sms", "1000"},  {"--blocks", "100000"},  {"--rate", "1e-30"},
        {"--target", "1000"}, {"--rate", "-1"},   {"--victim-bytes", "1"}, {"--aggressor-bytes", "2000000000000"},
    };
    for (const std::vector<std::string>& dial : dials) {
        const char* const aggressor = dial[0] == "--target" ? "slice" : dial[0] == "--rate" ? "stream-read" : "compute";
        std::vector<std::string> words = {"stress", "--accesses", "256", "--samples", "1", "--aggressors", aggressor};
        words.insert(words.end(), dial.begin(), dial.end());
        expectRefused(words, "");
    }
    const TemporaryDirectory folder;
    const std::string scenario = (folder / "s.json").string();
    for (const char* bad : {R"("duty_percent": 1000)", R"("lanes": 0)", R"("lanes": -1)", R"("lanes": 1e30)",
                            R"("bytes": 18446744073709551615)", R"("gb_per_s": -1)", R"("warps": 4294967296)"}) {
        writeFile(scenario, std::string(R"({"aggressors": [{"kind": "compute", )") + bad + "}]}");
        expectRefused({"stress", "--scenario", scenario}, "");
    }
    for (const char* bad : {R"("victims": [])", R"("sharing": [])", R"("placements": ["mps"])",
                            R"("victim": {"limit_s": 0})", R"("victim": {"accesses": 1e99})",
                            R"("seconds_per_cell": -1)", R"("victims": ["random"], "victim": {"name": "ATAX"})"}) {
        writeFile(scenario, std::string(R"({"aggressors": ["compute"], )") + bad + "}");
        expectRefused({"stress", "--scenario", scenario}, "");
    }
    // Not even where another aggressor could be measured.
    expectRefused({"stress", "--aggressors", "compute,channel", "--target", "2", "--samples", "1"}, "no channel 2");
    writeFile(scenario, R"({"aggressors": []})");
    expectRefused({"stress", "--scenario", scenario}, "at least one");
}

TEST(Stress, AProgramThatIsNoneIsBadInput) {
    const TemporaryDirectory folder;
    writeFile(folder / "text", "text");
    fs::permissions(folder / "text", fs::perms::owner_all);
    const auto refuse = [&](const std::string& victim, const std::string& part) {
        expectRefused({"stress", "--victim", victim, "--sharing", "mps", "--aggressors", "compute"}, part);
    };
    const std::string quoted = "\"" + folder.path().string();
    refuse("./nosuch", "./nosuch: no such program");
    refuse("./a,./b", "its own --victim");
    refuse(quoted + "\"", "is a directory");
    refuse(quoted + "/text\"", "neither a program nor a script");
    refuse(quoted + "/text", "a quotation mark is not closed");
    refuse(quoted + "/text\"x", "a space is missing");
    fs::permissions(folder / "text", fs::perms::owner_read);
    refuse(quoted + "/text\"", "is not executable");
}

TEST(Stress, AProgramGetsItsArgumentsAsTheyAre) {
    const TemporaryDirectory folder;
    const std::string told = (folder / "told").string(), script = (folder / "script").string();
    writeFile(script, "#!/bin/sh\nprintf '<%s>' \"$@\" > '" + told + "'\n");
    fs::permissions(script, fs::perms::owner_all);
    // It uses no GPU, so there is nothing to measure.
    const Outcome outcome = run({"stress", "--victim", "\"" + script + "\" a,b \"c d\" e\"f \"\" --g=h,i", "--sharing",
                                 "mps", "--aggressors", "compute", "--samples", "1"});
    EXPECT_EQ(outcome.exitCode, 1) << outcome.err;
    EXPECT_EQ(readFile(told), "<a,b><c d><e\"f><><--g=h,i>");
}

TEST(Stress, WhatIsMeasuredIsNotLostToAName) {
    const TemporaryDirectory folder;
    const std::string script = (folder / "bad\xff").string(), json = (folder / "out.json").string();
    writeFile(script, "#!/bin/sh\n");
    fs::permissions(script, fs::perms::owner_all);
    const Outcome outcome = run({"stress", "--victim", "\"" + script + "\"", "--sharing", "processes", "--aggressors",
                                 "compute", "--samples", "1", "--json", json});
    EXPECT_EQ(outcome.exitCode, 1) << outcome.err;  // no kernel, so no sample
    const nlohmann::json rows = readJson(json)["results"][0]["rows"];
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0]["lost"], 1);
    EXPECT_EQ(rows[0]["note"], "the program ended without a kernel on the simulated GPU");
    EXPECT_TRUE(rows[0]["victim"].get<std::string>().ends_with("bad\xEF\xBF\xBD\""));
}

TEST(Stress, TheCommandLineOverridesAScenario) {
    const TemporaryDirectory folder;
    const std::string scenario = (folder / "scenario.json").string();
    writeFile(scenario, R"({"gpu": "sim:gtx1080", "victims": ["sequential"], "victim": {"accesses": 64, "bytes": 4096},
                            "samples": 3, "seed": 5, "sharing": ["mps"],
                            "aggressors": [{"kind": "compute", "name": "slow", "duty_percent": 50, "sms": [1]}]})");
    const auto results = [&](std::vector<std::string> more) {
        std::vector<std::string> words = {"stress", "--scenario", scenario, "--json", "-"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
        return parseJson(outcome.out, "output")["results"][0];
    };
    const nlohmann::json plain = results({});
    EXPECT_EQ(plain["provenance"]["gpu"], "sim:gtx1080");
    EXPECT_EQ(plain["provenance"]["seed"], 5);
    EXPECT_EQ(plain["rows"][0]["samples"], 3);
    EXPECT_EQ(plain["rows"][0]["sharing"], "mps");
    const nlohmann::json other = results({"--gpu", "sim:tx2", "--samples", "1", "--seed", "6", "--sharing", "streams",
                                          "--victim", "random", "--accesses", "128"});
    EXPECT_EQ(other["provenance"]["gpu"], "sim:tx2");
    EXPECT_EQ(other["provenance"]["seed"], 6);
    ASSERT_EQ(other["rows"].size(), 1u);
    EXPECT_EQ(other["rows"][0]["samples"], 1);
    EXPECT_EQ(other["rows"][0]["sharing"], "streams");
    EXPECT_EQ(other["rows"][0]["victim"], "random");
    EXPECT_EQ(other["rows"][0]["aggressor"], "slow");
    const nlohmann::json both = results({"--aggressors", "compute,stream-read", "--samples", "1"});
    EXPECT_EQ(both["rows"].size(), 2u);
    expectRefused({"stress", "--scenario", scenario, "--duty", "1000"}, "1000");
    expectRefused({"stress", "--scenario", scenario, "--gpu", "sim:none"}, "none");
}

TEST(Stress, AScenarioMayNameItsVictimWhereItDescribesIt) {
    const TemporaryDirectory folder;
    const std::string scenario = (folder / "scenario.json").string();
    writeFile(scenario, R"({"victim": {"name": "sequential", "accesses": 64, "bytes": 4096}, "samples": 1,
                            "aggressors": ["compute"]})");
    const Outcome outcome = run({"stress", "--scenario", scenario, "--json", "-"});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    EXPECT_EQ(parseJson(outcome.out, "output")["results"][0]["rows"][0]["victim"], "sequential");
}

TEST(Stress, AVictimThatHangsGivesNoSampleAndExitCodeOne) {
    const Outcome outcome = run(small({"--aggressors", "evict-random", "--limit", "0.00001", "--csv", "-"}));
    EXPECT_EQ(outcome.exitCode, 1) << outcome.err;
    EXPECT_NE(outcome.out.find("evict-random,,,,,,0,2,"), std::string::npos) << outcome.out;
}

TEST(Stress, SearchesForTheWorstNeighbourTheSameWithAnyNumberOfJobs) {
    const auto search = [](const char* jobs) {
        const Outcome outcome = run(small({"--aggressors", "evict-sequential", "--warps", "1", "--search", "--budget",
                                           "6", "--jobs", jobs, "--causes", "0", "--json", "-"}));
        EXPECT_EQ(outcome.exitCode, 0) << outcome.err;
        nlohmann::json results = parseJson(outcome.out, "output")["results"], tables;
        for (const nlohmann::json& result : results)
            for (const char* title : {"Worst neighbours found", "Neighbours tried"})
                if (result["title"] == title) tables[title] = result["rows"];
        return tables;
    };
    const nlohmann::json one = search("1");
    ASSERT_EQ(one["Neighbours tried"].size(), 6u);
    const nlohmann::json& found = one["Worst neighbours found"][0];
    double worst = 0;
    for (const nlohmann::json& trial : one["Neighbours tried"])
        if (!trial["slowdown"].is_null()) worst = std::max(worst, trial["slowdown"].get<double>());
    EXPECT_EQ(found["its slowdown"], worst);
    EXPECT_EQ(found["slowdown"], one["Neighbours tried"][0]["slowdown"]);
    EXPECT_EQ(search("2"), one);
}

TEST(Stress, RefusesABudgetWithoutASearchAndResourcesThatAreNone) {
    const auto refusal = [](const std::vector<std::string>& more) {
        const Outcome outcome = run(small(more));
        EXPECT_EQ(outcome.exitCode, 2) << outcome.out;
        return outcome.err;
    };
    EXPECT_NE(refusal({"--budget", "5"}).find("--budget is for --search"), std::string::npos);
    EXPECT_NE(refusal({"--separate", "l3"}).find("choose from bus, banks, l2, ports, l1, sms"), std::string::npos);
}

TEST(Stress, SaysWhatItsNumbersDependOn) {
    const Outcome outcome = run(small(
        {"--aggressors", "evict-random", "--causes", "0", "--sharing", "processes", "--set", "sharing.switchUs=7"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.err;
    const std::string conditions = outcome.out.substr(outcome.out.find("Conditions"));
    for (const char* line : {"lanes of a warp that chase pointers", "a list as long as the array", "switch (us)"})
        EXPECT_NE(conditions.find(line), std::string::npos) << line;
    EXPECT_NE(conditions.find(" 7\n"), std::string::npos) << conditions;
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
