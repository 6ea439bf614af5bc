#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResult = R"({
  "title": "Slowdown on sim:tx2",
  "provenance": {"command": "bulkhead x", "gpu": "sim:tx2", "seed": 1, "version": "0.1.0", "date": "2026-01-01T00:00:00Z"},
  "columns": [{"name": "aggressor", "unit": ""}, {"name": "slowdown", "unit": "x"}],
  "rows": [{"aggressor": "compute", "slowdown": 1.01}, {"aggressor": "evict", "slowdown": 2.5}],
  "charts": [{"kind": "bar", "title": "Slowdown", "x": "aggressor", "y": ["slowdown"]}]
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

TEST(ReportVerb, MakesAPageOfFiles) {
    const TemporaryDirectory folder;
    writeFile(folder / "a.json", kResult);
    writeFile(folder / "b.json", std::string("{\"results\": [") + kResult + "," + kResult + "]}");
    const Outcome o = run({"report", (folder / "a.json").string(), (folder / "b.json").string(), "-o",
                           (folder / "page.html").string(), "--title", "Three <of> them"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const std::string page = readFile(folder / "page.html");
    EXPECT_NE(page.find("<h1>Three &lt;of&gt; them</h1>"), std::string::npos);
    EXPECT_NE(page.find("id=\"r3\""), std::string::npos);
    EXPECT_EQ(page.find("id=\"r4\""), std::string::npos);
}

TEST(ReportVerb, PutsTwoGpusSideBySideFirst) {
    const TemporaryDirectory folder;
    writeFile(folder / "sim.json", kResult);
    writeFile(folder / "real.json", replaced(kResult, "sim:tx2", "cuda:0"));
    const Outcome o = run({"report", (folder / "sim.json").string(), (folder / "real.json").string(), "-o", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.out.find("<h3 id=\"r1-title\">Slowdown on cuda:0 and sim:tx2</h3>"), std::string::npos);
}

TEST(ReportVerb, ShowsAMapWithItsFindingsAndTheGpuDrawn) {
    const Outcome o = run({"report", BULKHEAD_SOURCE_DIR "/results/h200/dissect.json", "-o", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.out.find("How does NVIDIA H200 map addresses to its caches and memory?"), std::string::npos);
    EXPECT_NE(o.out.find("\"kind\":\"floorplan\""), std::string::npos);
    EXPECT_NE(o.out.find("66 of 132 SMs are near to slice 0 and 66 far from it."), std::string::npos);
}

TEST(ReportVerb, LeavesOutWhatANewerRunReplaces) {
    const TemporaryDirectory folder;
    const std::string old = (folder / "old.json").string(), fresh = (folder / "new.json").string();
    writeFile(old, kResult);
    writeFile(fresh, replaced(kResult, "2026-01-01", "2026-01-02"));
    const Outcome o = run({"report", old, fresh, "-o", "-"});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.err.find("left out 1 result that newer ones replace"), std::string::npos) << o.err;
    EXPECT_EQ(o.out.find("id=\"r2\""), std::string::npos);
    EXPECT_NE(o.out.find("2026-01-02T"), std::string::npos);
    EXPECT_NE(run({"report", old, fresh, "-o", "-", "--all"}).out.find("id=\"r2\""), std::string::npos);
}

TEST(ReportVerb, ComparesTwoFiles) {
    const TemporaryDirectory folder;
    const std::string old = (folder / "old.json").string(), fresh = (folder / "new.json").string();
    writeFile(old, kResult);
    writeFile(fresh, replaced(kResult, "2.5", "2.6"));
    const Outcome o = run({"report", "--diff", old, fresh});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_NE(o.out.find("evict: slowdown"), std::string::npos) << o.out;
    EXPECT_EQ(o.out.find("compute: slowdown"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("Answer: 1 of 2 numbers changed beyond noise; evict: slowdown most, from 2.5 to 2.6 (+4 %)."),
              std::string::npos)
        << o.out;
    // As large a change on a real GPU is noise, unless somebody knows better.
    for (const std::string& file : {old, fresh}) writeFile(file, replaced(readFile(file), "sim:tx2", "cuda:0"));
    EXPECT_NE(run({"report", "--diff", old, fresh}).out.find("Answer: Nothing"), std::string::npos);
    EXPECT_NE(run({"report", "--diff", old, fresh, "--noise", "1"}).out.find("Answer: 1 of 2"), std::string::npos);
    expectRefused({"report", "--diff", old}, "two files");
    expectRefused({"report", "--diff", old, fresh, "--noise", "-1"}, "negative");
    expectRefused({"report", old, "-o", "-", "--noise", "1"}, "report without --diff");
    const Outcome page = run({"report", "--diff", old, fresh, "--noise", "1", "-o", "-"});
    EXPECT_NE(page.out.find("<h1>What changed</h1>"), std::string::npos);
}

TEST(ReportVerb, JudgesAFileAnew) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "a.json").string();
    writeFile(file, R"({"results": [
        {"title": "Agreement with the papers", "columns": [{"name": "agree", "unit": ""}], "rows": [{"agree": 99}]},
        {"title": "Figure 8", "columns": [{"name": "ours", "unit": "x"}, {"name": "paper", "unit": "x"}],
         "rows": [{"ours": 1.3, "paper": 1.02}]}]})");
    for (int times = 0; times < 2; ++times) {
        const Outcome o = run({"report", file, "--json", file});
        ASSERT_EQ(o.exitCode, 0) << o.err;
        const nlohmann::json results = nlohmann::json::parse(readFile(file))["results"];
        ASSERT_EQ(results.size(), 3u);
        EXPECT_EQ(results[0]["rows"][0]["differ"], 1);
        EXPECT_EQ(results[1]["rows"][0]["simulated, verdict"], "differs");
        EXPECT_EQ(results[2]["rows"][0]["ours"], 1.3);
    }
}

TEST(ReportVerb, WritesAPictureForEachChart) {
    const TemporaryDirectory folder;
    writeFile(folder / "a.json", kResult);
    fs::create_directory(folder / "pictures");
    ASSERT_EQ(run({"report", (folder / "a.json").string(), "--svg", (folder / "pictures").string()}).exitCode, 0);
    EXPECT_TRUE(readFile(folder / "pictures/01-1-slowdown.svg").starts_with("<svg"));
}

TEST(ReportVerb, WritesPicturesInPixelsTwiceAsLarge) {
    const TemporaryDirectory folder;
    writeFile(folder / "a.json", kResult);
    const std::string here = folder.path().string();
    const Outcome o = run({"report", (folder / "a.json").string(), "--svg", here, "--png", here});
    if (o.err.find("librsvg2-2") != std::string::npos) GTEST_SKIP() << o.err;
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const std::string png = readFile(folder / "01-1-slowdown.png"), svg = readFile(folder / "01-1-slowdown.svg");
    ASSERT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
    // Bytes 16 to 23 are width and height, the most significant first.
    const auto number = [&](std::size_t at) {
        unsigned value = 0;
        for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(png[i]);
        return value;
    };
    std::smatch box;
    ASSERT_TRUE(std::regex_search(svg, box, std::regex(R"re(viewBox="0 0 (\d+) (\d+)")re")));
    EXPECT_EQ(number(16), 2 * std::stoul(box[1]));
    EXPECT_EQ(number(20), 2 * std::stoul(box[2]));
}

TEST(ReportVerb, MakesTheFolderOfItsPictures) {
    const TemporaryDirectory folder;
    writeFile(folder / "a.json", kResult);
    const Outcome o = run({"report", (folder / "a.json").string(), "--svg", (folder / "all/figures").string()});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_TRUE(fs::exists(folder / "all/figures/01-1-slowdown.svg"));
}

TEST(ReportVerb, RefusesNonsense) {
    const TemporaryDirectory folder;
    const std::string good = (folder / "a.json").string(), bad = (folder / "bad.json").string();
    writeFile(good, kResult);
    writeFile(bad,
              "\x7f"
              "ELF");
    expectRefused({"report", good}, "nothing to write");
    expectRefused({"report", "-o", "x.html"}, "FILES");
    expectRefused({"report", (folder / "none.json").string(), "-o", "-"}, "no such file");
    expectRefused({"report", folder.path().string(), "-o", "-"}, "");
    expectRefused({"report", bad, "-o", "-"}, "bad.json");
    expectRefused({"report", good, "--svg", good + "/none"}, "cannot create this folder");
    expectRefused({"report", bad, "--svg", (folder / "pictures").string()}, "bad.json");
    EXPECT_FALSE(fs::exists(folder / "pictures"));
    expectRefused({"report", good, "-o", (folder / "none/page.html").string()}, "none");
    writeFile(bad, replaced(kResult, "\"bar\"", "\"pie\""));
    expectRefused({"report", bad, "-o", (folder / "page.html").string()}, "unknown kind of chart pie");
    EXPECT_FALSE(fs::exists(folder / "page.html"));
}

}  // namespace
}  // namespace bulkhead::cli
