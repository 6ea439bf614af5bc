#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

using nlohmann::json;

/// A map of a GPU with one slice function and one bank function.
json smallMap() {
    return {{"schema", "bulkhead.map/1"},
            {"gpu", "a GPU"},
            {"addresses", "physical"},
            {"confidence", 1.0},
            {"map",
             {{"slice", {{{"xor", {{8}}}}}},
              {"set", json::array()},
              {"bank", {{{"xor", {{13}}}}}},
              {"row", json::array()},
              {"slicesPerChannel", 1}}}};
}

class DissectVerb : public testing::Test {
  protected:
    std::string file(const std::string& name, const std::string& content) {
        const std::string path = (directory_ / name).string();
        writeFile(path, content);
        return path;
    }
    TemporaryDirectory directory_;
};

TEST_F(DissectVerb, WritesAMapThatItsOwnVerifyFindsRight) {
    const std::string map = (directory_ / "gtx1080.map.json").string(), all = (directory_ / "all.json").string();
    const Outcome found = run({"dissect", "--gpu", "sim:gtx1080", "--out", map, "--json", all});
    ASSERT_EQ(found.exitCode, 0) << found.err;
    EXPECT_TRUE(found.out.empty());
    EXPECT_NE(found.err.find("DRAM banks: 128"), std::string::npos);
    const json result = json::parse(readFile(all));
    EXPECT_TRUE(result["decided"]);
    std::vector<std::string> titles;
    for (const json& figure : result["figures"]) {
        EXPECT_FALSE(figure["rows"].empty()) << figure["title"];
        titles.push_back(figure["title"].get<std::string>().substr(0, 8));
    }
    for (const char* wanted : {"Figure 3", "Figure 4", "Figure 6", "Figure 8"})
        EXPECT_NE(std::find(titles.begin(), titles.end(), wanted), titles.end()) << wanted;

    const Outcome checked = run({"dissect", "--gpu", "sim:gtx1080", "--verify", map});
    EXPECT_EQ(checked.exitCode, 0) << checked.err;
    for (const char* part : {"slice", "bank", "set"}) EXPECT_NE(checked.out.find(part), std::string::npos);
}

TEST_F(DissectVerb, AGpuOfOneModuleHasAMapAndNoFigureOfTwo) {
    json profile = json::parse(readFile(BULKHEAD_SOURCE_DIR "/profiles/gtx1080.json"));
    profile["map"]["value"] = {{"slice", json::array()},
                               {"set", {{{"xor", {{7, 18}, {8, 19}, {9, 20}, {10, 21}, {11}, {12}, {13}}}}}},
                               {"bank", {{{"xor", {{14, 22}, {15, 23}, {16, 24}, {17, 25}}}}}},
                               {"row", {{{"bits", {18, 39}}}}},
                               {"slicesPerChannel", 1}};
    profile["l2"]["bytes"]["value"] = 128 * 16 * 128;  // sets, ways, bytes of a line
    const std::string gpu = "sim:" + file("one.json", profile.dump()), map = (directory_ / "map.json").string(),
                      all = (directory_ / "all.json").string();
    const Outcome found = run({"dissect", "--gpu", gpu, "--out", map, "--json", all});
    ASSERT_EQ(found.exitCode, 0) << found.err;
    EXPECT_NE(found.err.find("Figure 8, DM: undecided  (not measured: there is one memory module)"), std::string::npos)
        << found.err;
    for (const json& figure : json::parse(readFile(all))["figures"])
        if (figure["title"].get<std::string>().starts_with("Figure 8:")) {
            EXPECT_EQ(figure["columns"].size(), 5u);
        }
    const Outcome checked = run({"dissect", "--gpu", gpu, "--verify", map, "--json", "-"});
    EXPECT_EQ(checked.exitCode, 0) << checked.err;
    for (const json& row : json::parse(checked.out)["rows"]) EXPECT_GE(row["correct"], 99.0) << row;
}

TEST_F(DissectVerb, NoAddressesAreNoCheck) {
    const std::string map = file("m.json", smallMap().dump());
    expectRefused({"dissect", "--verify", map, "--addresses", "0"}, "0 is too small");
    expectRefused({"dissect", "--addresses", "0"}, "0 is too small");
}

TEST_F(DissectVerb, TooLittleMemoryIsWhatWasAskedFor) {
    expectRefused({"dissect", "--gpu", "sim:gtx1080", "--memory", "1"},
                  "1 MB of memory are too few to dissect: the minimum is 128 MB");
}

TEST_F(DissectVerb, OptionsThatWouldNotBeHeededAreRefused) {
    const std::string map = file("m.json", smallMap().dump());
    for (const char* option : {"--out", "--html", "--figures"})
        expectRefused({"dissect", "--verify", map, option, (directory_ / "x").string()}, option);
}

TEST_F(DissectVerb, NumbersBeyondTheirRangeAreRefused) {
    json map = smallMap();
    map["form"] = {{"modulus", -1}, {"groups", json::array()}, {"parities", json::array()}, {"agreement", 1.0}};
    expectRefused({"dissect", "--verify", file("m.json", map.dump())}, "form: modulus must be a whole number from 0");
    map["form"]["modulus"] = 1e30;
    expectRefused({"dissect", "--verify", file("m.json", map.dump())}, "form: modulus must be a whole number from 0");
}

TEST_F(DissectVerb, VerifyFailsForAMapThatIsWrong) {
    const Outcome checked = run({"dissect", "--gpu", "sim:gtx1080", "--verify", file("m.json", smallMap().dump())});
    EXPECT_EQ(checked.exitCode, 1) << checked.err;
}

TEST_F(DissectVerb, UnknownGpusAreRefused) {
    expectRefused({"dissect", "--gpu", "sim:gtx1081"}, "gtx1081");
}

TEST_F(DissectVerb, FoldersThatCannotBeMadeAreRefused) {
    expectRefused({"dissect", "--gpu", "sim:gtx1080", "--figures", file("file", "") + "/figures"},
                  "cannot create this folder");
    expectRefused({"dissect", "--gpu", "sim:gtx1080", "--out", (directory_ / "none/a.json").string()}, "none");
}

TEST_F(DissectVerb, MapsThatCannotBeReadAreRefused) {
    expectRefused({"dissect", "--verify", (directory_ / "none.json").string()}, "none.json");
    expectRefused({"dissect", "--verify", file("text.json", "no JSON")}, "text.json");
    expectRefused({"dissect", "--verify", file("other.json", R"({"schema": "bulkhead.result/1"})")},
                  "other.json: its schema is \"bulkhead.result/1\", but this version of bulkhead reads bulkhead.map/1");
    expectRefused(
        {"dissect", "--verify", file("old.json", R"({"kind": "bulkhead address map"})")},
        "old.json: has no schema: it is not a bulkhead.map/1, or of an older version: bulkhead dissect --out");
    json map = smallMap();
    map.erase("map");
    expectRefused({"dissect", "--verify", file("part.json", map.dump())}, "part.json");
}

TEST_F(DissectVerb, InconsistentMapsAreRefused) {
    json map = smallMap();
    map["form"] = {{"modulus", 3}, {"groups", json::array()}, {"parities", json::array()}, {"agreement", 1.0}};
    expectRefused({"dissect", "--verify", file("slices.json", map.dump())}, "the map has 2 slices, its form 3");
    map["form"]["modulus"] = 0;
    expectRefused({"dissect", "--verify", file("zero.json", map.dump())}, "modulus is 0");
    map = smallMap();
    map["addresses"] = "house numbers";
    expectRefused({"dissect", "--verify", file("addresses.json", map.dump())}, "house numbers");
}

TEST_F(DissectVerb, MapsWithoutAFormAreRefusedWherePagesMustBeLabelled) {
    json map = smallMap();
    map["addresses"] = "page labels";
    expectRefused({"dissect", "--gpu", "sim:gtx1080", "--verify", file("m.json", map.dump())}, "no form");
}

}  // namespace
}  // namespace bulkhead::cli
