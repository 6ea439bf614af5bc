#include "dissect/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace bulkhead::dissect {
namespace {

const char* const kStored = BULKHEAD_SOURCE_DIR "/results/h200/dissect.json";

TEST(Summary, CountsWhatWasDecidedAndNamesTheRest) {
    const Result r = summaryOf("a GPU", {{"L2 slices", std::int64_t{94}, "", 1, ""},
                                         {"L2 hit latency", 283.25, "cycles", 0.5, ""},
                                         {"TLB reach", Value(), "MB", 0, "no step"}});
    EXPECT_EQ(r.answer, "2 of 3 properties were told by timing: 94 L2 slices.");
    EXPECT_EQ(r.caveats, std::vector<std::string>{"Undecided: TLB reach."});
    ASSERT_EQ(r.rows.size(), 3u);
    EXPECT_EQ(r.rows[1], (std::vector<Value>{"L2 hit latency", "283.2", "cycles", "0.500"}));
    EXPECT_EQ(r.rows[2], (std::vector<Value>{"TLB reach", "undecided", "", "0.000"}));
}

TEST(Summary, TellsTheFindingsOfAMapThatWasStored) {
    const std::vector<Result> results = resultsOf(readMapFile(kStored));
    ASSERT_FALSE(results.empty());
    EXPECT_EQ(results.front().question, "How does NVIDIA H200 map addresses to its caches and memory?");
    EXPECT_NE(results.front().answer.find("94 L2 slices"), std::string::npos) << results.front().answer;
    EXPECT_EQ(results.front().provenance.gpu, "cuda:0");
}

TEST(Summary, DrawsAMapThatHasLatencies) {
    MapFile map = readMapFile(kStored);
    EXPECT_EQ(resultsOf(map).size(), 1u);
    map.latencies = SliceLatencies{{0, 1}, {Times(94, 300), Times(94, 500)}};
    const std::vector<Result> results = resultsOf(map);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[1].charts.front().kind, Chart::Kind::floorplan);
}

TEST(MapFile, KeepsFindingsOfEveryTypeAndWhereItIsFrom) {
    MapFile map = readMapFile(kStored);
    map.findings = {{"whole", std::int64_t{-3}, "", 1, "a"},
                    {"part", 0.5, "MB", 0.25, "b"},
                    {"word", "LRU", "", 1, ""},
                    {"whether", true, "", 1, ""},
                    {"not known", Value(), "MB", 0, "no step"}};
    map.provenance = {"bulkhead dissect", "cuda:0", 7, "0.1.0", "2026-01-02T03:04:05Z"};
    const MapFile read = mapFileFromJson(parseJson(jsonText(toJson(map)), "a map"), "a map");
    ASSERT_EQ(read.findings.size(), map.findings.size());
    for (std::size_t i = 0; i < map.findings.size(); ++i) {
        EXPECT_EQ(read.findings[i].name, map.findings[i].name);
        EXPECT_EQ(read.findings[i].value, map.findings[i].value) << map.findings[i].name;
        EXPECT_EQ(read.findings[i].unit, map.findings[i].unit);
        EXPECT_EQ(read.findings[i].confidence, map.findings[i].confidence);
        EXPECT_EQ(read.findings[i].evidence, map.findings[i].evidence);
    }
    EXPECT_EQ(read.provenance.command, "bulkhead dissect");
    EXPECT_EQ(read.provenance.seed, 7);
}

TEST(MapFile, RefusesFindingsThatAreNone) {
    nlohmann::json json = readJson(kStored);
    for (const char* wrong : {"{}", R"([1])", R"([{"value": 1}])", R"([{"name": "x", "value": [1]}])"}) {
        json["findings"] = nlohmann::json::parse(wrong);
        EXPECT_THROW(mapFileFromJson(json, "a map"), Error) << wrong;
    }
}

}  // namespace
}  // namespace bulkhead::dissect
