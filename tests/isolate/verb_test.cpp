// `bulkhead isolate evaluate` and `plan` as a user has them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

TEST(IsolateVerb, EvaluateTabulatesVariationRuntimesAndTheCostOfWalls) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "result.json").string();
    const Outcome outcome =
        run({BULKHEAD_PROGRAM, "isolate", "evaluate", "--size", "test", "--applications", "VA", "--neighbours", "VA",
             "--methods", "none,cmp", "--store", (folder / "runs").string(), "--jobs", "1", "--json", file});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const auto results = parseJson(readFile(file), file).at("results");
    ASSERT_EQ(results.size(), 3u);
    const auto rows = results[1].at("rows");
    ASSERT_EQ(rows.size(), 4u);  // two methods, idle and beside VA
    std::map<std::string, double> variation;
    for (const char* method : {"none", "cmp"}) {
        double idle = 0, busy = 0;
        for (const auto& row : rows)
            if (row.at("method") == method) (row.at("neighbour") == "-" ? idle : busy) = row.at("runtime");
        const std::string column = std::string(method) + ", 2 partitions";
        EXPECT_NEAR(results[0].at("rows")[0].at(column), (busy / idle - 1) * 100, 1e-6);
        variation[method] = busy / idle;
    }
    EXPECT_GT(variation["none"], variation["cmp"]);
    EXPECT_GT(results[2].at("rows")[0].at("cmp"), 0);
}

TEST(IsolateVerb, CostTabulatesWhatItWasAskedFor) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "cost.json").string();
    const Outcome outcome = run(
        {BULKHEAD_PROGRAM, "isolate", "cost", "--measure", "views,workloads", "--workloads", "VA,mm", "--json", file});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const auto results = parseJson(readFile(file), file).at("results");
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].at("provenance").at("gpu"), "sim:gtx1080");
    EXPECT_EQ(results[0].at("rows")[1].at("result"), "right");
    const auto rows = results[1].at("rows");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].at("workload"), "MM");
    for (const auto& row : rows) {
        EXPECT_EQ(row.at("result"), "right");
        EXPECT_GT(row.at("compute walls"), row.at("plain"));  // half of the SMs
    }
}

TEST(IsolateVerb, CostRefusesInOneLineWhatCannotBeMeasured) {
    const auto expectRefused = [](std::vector<std::string> options, const std::string& said) {
        options.insert(options.begin(), {BULKHEAD_PROGRAM, "isolate", "cost"});
        const Outcome outcome = run(options);
        EXPECT_EQ(outcome.exitCode, 2) << outcome.output;
        EXPECT_NE(outcome.output.find(said), std::string::npos) << outcome.output;
        EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    };
    expectRefused({"--measure", "latncy"}, "did you mean latency");
    expectRefused({"--coloring", "slices"}, "--map FILE");
    expectRefused({"--coloring", "sides"}, "has one side");
    expectRefused({"--measure", "translation"}, "choose --coloring sides");
    expectRefused({"--megabytes", "0"}, "--megabytes");
    expectRefused({"--repeats", "0"}, "--repeats");
    expectRefused({"--partitions", "0"}, "--partitions");
    expectRefused({"--partitions", "3"}, "3");
    expectRefused({"--ptx", "/nonexistent/kernels.ptx"}, "/nonexistent/kernels.ptx");
    expectRefused({"--json", "/nonexistent/cost.json"}, "/nonexistent/cost.json");
}

TEST(IsolateVerb, ASimulatedGpuIsNotSharedByProcesses) {
    const Outcome outcome = run({BULKHEAD_PROGRAM, "isolate", "evaluate", "--gpu", "sim:v100", "--processes"});
    EXPECT_EQ(outcome.exitCode, 2);
    EXPECT_EQ(outcome.output, "bulkhead: isolate: --processes is for real GPUs, not for sim:v100\n");
}

TEST(IsolateVerb, PlanDrawsWhoHasWhat) {
    const Outcome outcome =
        run({BULKHEAD_PROGRAM, "isolate", "plan", "--gpu", "sim:v100", "--partitions", "big=50%,small=25%/12.5%"});
    EXPECT_EQ(outcome.exitCode, 0);
    // Half and a region of 80 SMs and, in colors of four slices, half and an eighth of 32 slices.
    const auto count = [&](char letter) {
        const std::size_t begin = outcome.output.find("  SMs"), end = outcome.output.find("A big");
        const std::string picture = outcome.output.substr(begin, end - begin);
        return std::count(picture.begin(), picture.end(), letter);
    };
    EXPECT_EQ(count('A'), 40 + 16) << outcome.output;
    EXPECT_EQ(count('B'), 20 + 4) << outcome.output;
    EXPECT_EQ(count('.'), 20 + 12) << outcome.output;
}

TEST(IsolateVerb, SetWithoutPartitionsTakesThoseThatAreSet) {
    const TemporaryDirectory folder;
    const auto set = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {
            BULKHEAD_PROGRAM, "isolate", "set", "--gpu", "sim:gtx1080", "--leases", (folder / "leases").string()};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    const Outcome nothing = set({});
    EXPECT_EQ(nothing.exitCode, 2);
    EXPECT_NE(nothing.output.find("no partitions were set"), std::string::npos) << nothing.output;
    const Outcome first = set({"--partitions", "A=25%,B=50%", "--strict", "A"});
    ASSERT_EQ(first.exitCode, 0) << first.output;
    EXPECT_EQ(set({}).output, first.output);
    const Outcome strict = set({"--strict", "A"});
    EXPECT_EQ(strict.exitCode, 2);
    EXPECT_NE(strict.output.find("--strict is for partitions that are set"), std::string::npos) << strict.output;
}

TEST(IsolateVerb, SetRefusesAMapOfAnotherGpu) {
    const TemporaryDirectory folder;
    const auto set = [&](const std::string& map) {
        return run({BULKHEAD_PROGRAM, "isolate", "set", "--gpu", "sim:gtx1080", "--leases",
                    (folder / "leases").string(), "--partitions", "A=50%,B=50%", "--map", map});
    };
    const std::string other = BULKHEAD_SOURCE_DIR "/results/h200/dissect.json";
    const Outcome refused = set(other);
    EXPECT_EQ(refused.exitCode, 2);
    EXPECT_NE(refused.output.find("a map of NVIDIA H200, but sim:gtx1080 is"), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(folder / "leases"));
    // One that says it is of this kind of GPU, but of another card.
    auto map = parseJson(readFile(other), other);
    map["gpu"] = "sim:gtx1080";
    const std::string mine = (folder / "mine.json").string(), another = (folder / "another.json").string();
    writeFile(mine, map.dump());
    map["uuid"] = "GPU-00000000000000000000000000000000";
    writeFile(another, map.dump());
    const Outcome card = set(another);
    EXPECT_EQ(card.exitCode, 2);
    EXPECT_NE(card.output.find("GPU-00000000000000000000000000000000"), std::string::npos) << card.output;
    const Outcome own = set(mine);
    EXPECT_EQ(own.exitCode, 0) << own.output;
}

TEST(IsolateVerb, SetRefusesAMapThatNobodyCouldJoinWith) {
    const TemporaryDirectory folder;
    // It has slices, but not how far they are, by which processes would agree on their numbers.
    const std::string file = BULKHEAD_SOURCE_DIR "/results/h200/dissect.json", mine = (folder / "mine.json").string();
    auto map = parseJson(readFile(file), file);
    ASSERT_FALSE(map.contains("latencies"));
    map["gpu"] = "sim:h200";
    writeFile(mine, map.dump());
    const Outcome refused = run({BULKHEAD_PROGRAM, "isolate", "set", "--gpu", "sim:h200", "--leases",
                                 (folder / "leases").string(), "--partitions", "A=40%,B=30%,C=30%", "--map", mine});
    EXPECT_EQ(refused.exitCode, 2);
    EXPECT_NE(refused.output.find("processes could not agree on them"), std::string::npos) << refused.output;
    EXPECT_FALSE(std::filesystem::exists(folder / "leases"));
}

}  // namespace
}  // namespace bulkhead
