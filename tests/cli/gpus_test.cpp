#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

TEST(Cli, VersionAndHelp) {
    EXPECT_EQ(run({"--version"}).exitCode, 0);
    EXPECT_TRUE(run({"--version"}).out.starts_with("bulkhead "));
    const Outcome help = run({"--help"});
    EXPECT_EQ(help.exitCode, 0);
    EXPECT_NE(help.out.find("gpus"), std::string::npos);
    EXPECT_EQ(run({"gpus", "--help"}).exitCode, 0);
}

TEST(Cli, WithoutAVerbShowsHelpAndFails) {
    const Outcome o = run({});
    EXPECT_EQ(o.exitCode, 2);
    EXPECT_NE(o.err.find("gpus"), std::string::npos);
}

TEST(Cli, RefusesUnknownWords) {
    expectRefused({"gpu"}, "unknown verb gpu (did you mean gpus?)");
    expectRefused({"frobnicate"}, "unknown verb frobnicate");
    expectRefused({""}, "unknown verb");
    expectRefused({"--frobnicate"}, "unknown option --frobnicate");
    expectRefused({"gpus", "--jsn"}, "unknown option --jsn (did you mean --json?)");
    expectRefused({"gpus", "tx2", "v100"}, "unexpected argument v100");
    expectRefused({"gpus", "--json"}, "--json");
}

TEST(Gpus, ListsTheProfiles) {
    const Outcome o = run({"gpus"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    for (const char* name : {"gtx480", "tx2", "gtx1070", "gtx1080", "v100", "h200"})
        EXPECT_NE(o.out.find(name), std::string::npos) << name;
    EXPECT_EQ(o.err, "");
}

/// What the figure with this caption of a page shows.
nlohmann::json figureOf(const std::string& page, const std::string& caption) {
    const std::size_t figure = page.find(caption + "</figcaption>"), begin = page.find("json\">", figure) + 6;
    return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

/// The values of a layer of its heat map.
nlohmann::json cellsOf(const std::string& page, const std::string& caption, const std::string& layer) {
    const nlohmann::json figure = figureOf(page, caption);
    for (const auto& one : figure["layers"])
        if (one["name"] == layer) return one["values"];
    return nullptr;
}

TEST(Gpus, DrawsHowAddressesAreSpread) {
    const Outcome o = run({"gpus", "gtx1080", "--html", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    // Fractional GPUs, Figure 6: 8 memory modules with 16 banks each; memory walls of 2 colors.
    const std::string lines = "L2 slice, set and DRAM bank of each line";
    const auto slices = cellsOf(o.out, lines, "slice"), banks = cellsOf(o.out, lines, "DRAM bank"),
               colors = cellsOf(o.out, "Colors of pages of 4 KB", "color");
    const auto distinct = [](const nlohmann::json& cells) { return std::set<int>(cells.begin(), cells.end()).size(); };
    EXPECT_EQ(slices.size(), 64u * 32u);
    EXPECT_EQ(distinct(slices), 8u);
    EXPECT_GT(distinct(banks), 8u);
    EXPECT_EQ(distinct(colors), 2u);
    expectRefused({"gpus", "--html", "-"}, "--html needs the name of a GPU");
}

TEST(Gpus, DrawsTheGpuAsItIs) {
    const Outcome o = run({"gpus", "h200", "--html", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const nlohmann::json plan = figureOf(o.out, "sim:h200");
    std::map<std::string, std::vector<std::size_t>> sizes;  // of groups, by part
    std::set<std::size_t> units;
    for (const auto& group : plan["groups"]) {
        sizes[group["part"]].push_back(group["units"].size());
        units.insert(group["units"].begin(), group["units"].end());
    }
    // An H200 has 132 SMs, in GPCs of different sizes and TPCs that share clusters with nobody, and two sides of 47
    // slices.
    EXPECT_EQ(std::accumulate(sizes["SM"].begin(), sizes["SM"].end(), std::size_t{0}), 132u);
    EXPECT_EQ(sizes["SM"].size(), 12u);
    EXPECT_EQ(std::count(sizes["SM"].begin(), sizes["SM"].end(), 2u), 4);
    EXPECT_EQ(sizes["L2 slice"], (std::vector<std::size_t>{47, 47}));
    EXPECT_EQ(units.size(), plan["units"].size());
    EXPECT_EQ(plan["layers"][0]["names"], nlohmann::json({"side 0", "side 1"}));
}

TEST(Gpus, ListsAsJson) {
    const Outcome o = run({"gpus", "--json", "-"});
    const auto j = nlohmann::json::parse(o.out);
    EXPECT_GE(j["rows"].size(), 6u);
    EXPECT_EQ(j["provenance"]["command"], "bulkhead gpus --json -");
}

/// The line of a table that begins with this key.
std::string lineOf(const std::string& table, const std::string& key) {
    const std::size_t begin = table.find("\n" + key + " ") + 1;
    return table.substr(begin, table.find('\n', begin) - begin);
}

TEST(Gpus, ShowsEveryFigureWithTheKindOfItsSource) {
    const Outcome o = run({"gpus", "gtx1080"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_TRUE(o.out.starts_with("gtx1080: NVIDIA GeForce GTX 1080 (Pascal GP104), 8 GB GDDR5X (320.3 GB/s)\n\nkey "));
    for (const char* part :
         {"op.fp32.latency", "10,12,16,20,23,26,29,30", "colors by page size:  1 KB 8  2 KB 4  4 KB 2"})
        EXPECT_NE(o.out.find(part), std::string::npos) << part;
    EXPECT_NE(lineOf(o.out, "l2.ways").find("  published  associativity"), std::string::npos);
    EXPECT_NE(lineOf(o.out, "clock.l2MHz").find("  assumed "), std::string::npos);
    EXPECT_EQ(o.out.find("published: "), std::string::npos);
}

TEST(Gpus, ShowsSourcesInFullWhenAsked) {
    const Outcome o = run({"gpus", "gtx1080", "--sources"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_TRUE(lineOf(o.out, "l2.ways").ends_with("  published: Fractional GPUs (RTAS 2019), appendix B"));
    EXPECT_NE(o.out.find("source: published: documentation of the Fractional GPUs project"), std::string::npos);
    expectRefused({"gpus", "--sources"}, "--sources needs the name of a GPU");
    expectRefused({"gpus", "gtx1080", "--sources", "--json", "-"}, "gpus --json does not take --sources");
}

TEST(Gpus, CountsFiguresByTheKindOfTheirSource) {
    const std::string sources = run({"gpus", "h200", "--sources"}).out;
    const auto linesWith = [&](const std::string& kind) {
        std::size_t lines = 0;
        for (std::size_t at = 0; (at = sources.find(" " + kind + ": ", at)) != std::string::npos; ++at) ++lines;
        return std::to_string(lines) + " " + kind;
    };
    const std::string line = "\nsources: " + linesWith("published") + ", " + linesWith("measured") + ", " +
                             linesWith("assumed") + "; --sources shows them in full\n";
    EXPECT_NE(run({"gpus", "h200"}).out.find(line), std::string::npos) << line;
}

TEST(Gpus, ShowsAndReadsAChangedProfile) {
    const TemporaryDirectory directory;
    const fs::path file = directory / "a profile.json";
    EXPECT_EQ(
        run({"gpus", "sim:gtx480", "--set", "l1.ways=8", "--set", "sm.count=30", "--json", file.string()}).exitCode, 0);
    const Outcome o = run({"gpus", file.string(), "--json", "-"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    const auto j = nlohmann::json::parse(o.out);
    EXPECT_EQ(j["l1"]["ways"]["value"], 8);
    EXPECT_EQ(j["sm"]["count"]["value"], 30);
    EXPECT_EQ(j["l1"]["ways"]["from"], "assumed: set by the user");
}

TEST(Gpus, ImportsAConfigurationOfGpgpuSim) {
    const TemporaryDirectory directory;
    const std::string config = (fs::path(BULKHEAD_SOURCE_DIR) / "tests/fuzz/corpus/gpgpusim/small.config").string();
    const std::string profile = (directory / "small.json").string();
    const Outcome o = run({"gpus", "--import", config, "--out", profile, "--set", "sm.count=2"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_NE(o.err.find("what they lack is as gtx480"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("Unknown: -gpgpu_made_up."), std::string::npos) << o.err;
    const Outcome shown = run({"gpus", profile, "--json", "-"});
    ASSERT_EQ(shown.exitCode, 0) << shown.err;
    const auto j = nlohmann::json::parse(shown.out);
    EXPECT_EQ(j["name"], "small");
    EXPECT_EQ(j["sm"]["count"]["value"], 2);
    EXPECT_EQ(j["l1"]["mshrs"]["value"], 24);
    for (const char* workload : {"VA", "SYRK"}) {  // MM needs more registers than it has
        const Outcome ran = run({"run", workload, "--size", "test", "--gpu", "sim:" + profile});
        EXPECT_EQ(ran.exitCode, 0) << workload << ": " << ran.err;
    }
}

TEST(Gpus, RefusesWhatIsNoConfiguration) {
    const TemporaryDirectory directory;
    const std::string bad = (directory / "bad.config").string(), out = (directory / "out.json").string();
    writeFile(bad, "-gpgpu_n_clusters 15\n-gpgpu_n_mem six\n-gpgpu_cache:dl2 64:128:8,L:B:m:W:L,A:32:4,4\n");
    expectRefused({"gpus", "--import", bad, "--out", out}, "bad.config:2: -gpgpu_n_mem six: six is no integer");
    EXPECT_FALSE(fs::exists(out));
    expectRefused({"gpus", "--import", "nowhere.config"}, "no such file");
    expectRefused({"gpus", "--import", (fs::path(BULKHEAD_SOURCE_DIR) / "profiles/tx2.json").string()}, "tx2.json:1:");
    expectRefused({"gpus", "tx2", "--import", bad}, "gpus --import does not take NAME");
    expectRefused({"gpus", "tx2", "--out", out}, "gpus without --import does not take --out");
}

TEST(Gpus, KnowsTheVariantForGpgpuSim) {
    const Outcome o = run({"gpus", "gtx480", "--gpgpusim", "--json", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(nlohmann::json::parse(o.out)["name"], "gtx480_gpgpusim");
    expectRefused({"gpus", "h200", "--gpgpusim"}, "h200 has no such variant");
    expectRefused({"run", "VA", "--gpu", "cuda:0", "--gpgpusim"}, "cuda:0 has no such variant");
}

TEST(Gpus, RefusesBadNamesAndSettings) {
    expectRefused({"gpus", "gtx108"}, "did you mean gtx1080?");
    expectRefused({"gpus", "nowhere/x.json"}, "no such file");
    expectRefused({"gpus", "tx2", "--set", "l2.ways=3"}, "profile tx2: l2.bytes = 524288");
    expectRefused({"gpus", "tx2", "--set", "l2.wayz=3"}, "did you mean l2.ways?");
    expectRefused({"gpus", "tx2", "--set", "l2.ways"}, "KEY=VALUE");
    expectRefused({"gpus", "--set", "l2.ways=3"}, "needs the name of a GPU");
    expectRefused({"gpus", "--json", "/nonexistent/x.json"}, "cannot be written");
}

TEST(Gpus, RefusesEveryBrokenProfile) {
    for (const auto& entry : fs::directory_iterator(fs::path(BULKHEAD_SOURCE_DIR) / "tests" / "arch" / "broken"))
        expectRefused({"gpus", entry.path().string()}, entry.path().filename().string());
}

}  // namespace
}  // namespace bulkhead::cli
