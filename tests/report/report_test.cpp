#include "report/report.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "report/chapters.h"
#include "report/derived_answer.h"
#include "report/difference.h"
#include "report/gallery.h"
#include "report/palette.h"
#include "report/plot.h"

namespace bulkhead::report {
namespace {

using testing::Test;

std::string messageOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

std::size_t occurrences(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
}

TEST(ResultJson, ComesBackAsItWas) {
    for (const Result& r : gallery()) {
        const std::string written = json(r).dump();
        const Result again = fromJson(nlohmann::json::parse(written), "x");
        EXPECT_EQ(again.rows, r.rows);
        EXPECT_EQ(again.charts.size(), r.charts.size());
        EXPECT_EQ(json(again).dump(), written);
    }
}

TEST(ResultJson, KeepsEveryFieldOfAChart) {
    Result r;
    r.columns = {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}};
    r.charts = {{Chart::Kind::cdf, "t", "a", {"b"}, {"c"}, {"d"}, "y", true, true}};
    const Chart c = fromJson(nlohmann::json::parse(json(r).dump()), "x").charts.at(0);
    EXPECT_EQ(c.kind, Chart::Kind::cdf);
    EXPECT_EQ(c.title, "t");
    EXPECT_EQ(c.x, "a");
    EXPECT_EQ(c.y, std::vector<std::string>{"b"});
    EXPECT_EQ(c.series, std::vector<std::string>{"c"});
    EXPECT_EQ(c.paper, std::vector<std::string>{"d"});
    EXPECT_EQ(c.yTitle, "y");
    EXPECT_TRUE(c.logX);
    EXPECT_TRUE(c.logY);
}

Result answered() {
    Result r;
    r.title = "Times";
    r.question = "How long does it take?";
    r.answer = "It takes 2 ms.";
    r.reading = "Less is better.";
    r.caveats = {"Once.", "On one machine."};
    r.columns = {{"name", ""}, {"time", "ms"}, {"spread", "%", true}};
    r.add({"a kernel with a long name of version 1", 2.0, 7.5});
    r.add({"a kernel with a long name of version 2", 1.0, 2.5});
    return r;
}

TEST(ResultJson, SaysQuestionAnswerReadingAndCaveatsInThisOrder) {
    const std::string written = json(answered()).dump();
    std::size_t before = 0;
    for (const char* key : {"\"question\"", "\"answer\"", "\"reading\"", "\"caveats\"", "\"rows\""}) {
        const std::size_t at = written.find(key);
        ASSERT_NE(at, std::string::npos) << key;
        EXPECT_GT(at, before) << key;
        before = at;
    }
    const Result again = fromJson(nlohmann::json::parse(written), "x");
    EXPECT_EQ(again.answer, "It takes 2 ms.");
    EXPECT_EQ(again.caveats, (std::vector<std::string>{"Once.", "On one machine."}));
    EXPECT_FALSE(again.columns[1].detail);
    EXPECT_TRUE(again.columns[2].detail);
    EXPECT_EQ(messageOf([] {
                  fromJson(nlohmann::json::parse(R"({"title": "t", "columns": [], "rows": [], "caveats": [3]})"), "f");
              }),
              "f: \"t\": a caveat is not a string");
}

TEST(Text, HasTheQuestionAboveTheTableAndTheAnswerApart) {
    EXPECT_EQ(text(answered()),
              "Times\n"
              "How long does it take?\n"
              "name                                    time (ms)\n"
              "a kernel with a long name of version 1          2\n"
              "a kernel with a long name of version 2          1\n");
    EXPECT_EQ(conclusion(answered()),
              "Answer: It takes 2 ms.\nHow to read it: Less is better.\nCaveat: Once.\nCaveat: On one machine.\n");
}

TEST(Text, ShowsDetailsToWhoAsks) {
    EXPECT_EQ(text(answered(), {0, false, "--wide"}).find("spread (%)"), std::string::npos);
    EXPECT_NE(text(answered(), {0, false, "--wide"}).find("(--wide adds spread)"), std::string::npos);
    const std::string all = text(answered(), {20, true, "--wide"});
    EXPECT_NE(all.find("spread (%)"), std::string::npos);
    EXPECT_NE(all.find("a kernel with a long name of version 1"), std::string::npos);
    EXPECT_EQ(all.find("--wide"), std::string::npos);
}

TEST(Text, FitsTheTerminalByShorteningNamesInTheMiddle) {
    const std::string narrow = text(answered(), {36});
    std::istringstream lines(narrow);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 36u + 2) << line;  // "…" has three bytes
    EXPECT_NE(narrow.find("a kernel wit…of version 1"), std::string::npos) << narrow;
    EXPECT_NE(narrow.find("time (ms)"), std::string::npos);
}

TEST(Text, LeavesOutLastColumnsOfATerminalThatIsTooNarrow) {
    const std::string narrow = text(answered(), {20, false, "--wide"});
    EXPECT_EQ(narrow.find("time (ms)"), std::string::npos);
    EXPECT_NE(narrow.find("(--wide adds time,"), std::string::npos) << narrow;
}

TEST(Svg, DrawsAnyNumbersWithinItsFrame) {
    const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
    const std::vector<std::vector<double>> samples = {{most, -most}, {most, most}, {least, most},    {least, 0},
                                                      {0, 0},        {-1, -2},     {1e16, 1e16 + 2}, {1e150, 1e-150}};
    for (const std::vector<double>& values : samples)
        for (const Chart::Kind kind : {Chart::Kind::line, Chart::Kind::bar, Chart::Kind::cdf, Chart::Kind::histogram,
                                       Chart::Kind::heatmap, Chart::Kind::scatter})
            for (const bool logarithmic : {false, true}) {
                Result r;
                r.columns = {{"x", ""}, {"y", ""}};
                for (const double v : values) r.add({v, v});
                r.charts = {{kind, "chart", "x", {"y"}, {}, {}, "", logarithmic, logarithmic, "", 0.15}};
                const std::string picture = svg(r, r.charts.front());
                // Of what is drawn; descriptions may tell of any number.
                const std::regex outside(R"re( (x|y|cx|cy|x1|y1|x2|y2|width|height|d)="[^"]*(nan|inf|\d{7}))re");
                EXPECT_FALSE(std::regex_search(picture, outside)) << picture;
            }
}

TEST(Svg, AHeatMapHasALimit) {
    Result r;
    r.columns = {{"x", ""}, {"y", ""}, {"v", ""}};
    for (std::int64_t i = 0; i < 1001; ++i) r.add({i, i, i});
    r.charts = {{Chart::Kind::heatmap, "chart", "x", {"v"}, {"y"}, {}, "", false, false}};
    EXPECT_THROW(svg(r, r.charts.front()), Error);
}

TEST(ResultJson, TakesNumbersBeyondSixtyThreeBitsForTheNearest) {
    const Result r = fromJson(
        nlohmann::json::parse(R"({"title": "", "columns": [{"name": "v"}], "rows": [{"v": 18446744073709551615}]})"),
        "x");
    EXPECT_EQ(r.rows[0][0], Value(18446744073709551616.0));
}

TEST(ResultJson, OfAFileMayBeOneOrMany) {
    const nlohmann::json one = nlohmann::json::parse(json(gallery()[0]).dump());
    EXPECT_EQ(resultsIn(one, "x").size(), 1u);
    EXPECT_EQ(resultsIn({one, one}, "x").size(), 2u);
    EXPECT_EQ(resultsIn({{"results", {one, one, one}}}, "x").size(), 3u);
    EXPECT_EQ(resultsIn({{"schema", "bulkhead.map/1"}, {"figures", {one}}}, "x").size(), 1u);
}

TEST(ResultJson, IsRefusedWithTheFileAndThePlace) {
    const auto refused = [](const char* text) {
        return messageOf([&] { resultsIn(nlohmann::json::parse(text), "f.json"); });
    };
    EXPECT_EQ(refused("[3]"), "f.json: not a result, which is an object with title, columns and rows");
    EXPECT_EQ(refused(R"({"title": "t", "columns": 1, "rows": []})"), R"(f.json: "t": columns is not an array)");
    EXPECT_EQ(refused(R"({"title": "t", "columns": [{"name": "a"}], "rows": [{"a": []}]})"),
              R"(f.json: "t": a cell is an array or an object)");
    EXPECT_EQ(refused(R"({"title": "t", "columns": [], "rows": [], "charts": [{"kind": "pie", "title": ""}]})"),
              R"(f.json: "t": unknown kind of chart pie)");
    EXPECT_EQ(refused(R"({"title": "t", "columns": [], "rows": [],
                          "charts": [{"kind": "bar", "title": "", "x": "b", "y": []}]})"),
              R"(f.json: "t": a chart uses column "b", which does not exist)");
}

TEST(SideBySide, PutsTheSameMeasurementOfTwoGpusInOneTable) {
    std::vector<Result> results = {gallery()[0], gallery()[0], gallery()[1]};
    results[1].provenance.gpu = "cuda:0";
    const std::vector<Result> together = sideBySide(results);
    ASSERT_EQ(together.size(), 1u);
    EXPECT_EQ(together[0].columns.front().name, "GPU");
    EXPECT_EQ(together[0].rows.size(), 2 * results[0].rows.size());
    EXPECT_EQ(plot(together[0], together[0].charts[0]).series.front().name, "sim:tx2: ciao-c");
    results[1].provenance.gpu = results[0].provenance.gpu;
    EXPECT_TRUE(sideBySide(results).empty());
}

TEST(Plot, OfBarsHasOurFiguresAndThePapers) {
    const Result r = gallery()[0];
    const Plot p = plot(r, r.charts[0]);
    ASSERT_EQ(p.series.size(), 3u);
    EXPECT_EQ(p.categories, (std::vector<std::string>{"ATAX", "Backprop", "Kmeans", "Hotspot"}));
    EXPECT_EQ(p.series[0].y, (std::vector<double>{1.62, 1.11, 2.4, 0.98}));
    EXPECT_TRUE(p.series[1].paper);
    EXPECT_TRUE(std::isnan(p.series[1].y[2]));
}

TEST(Plot, OfALineIsInTheOrderOfX) {
    Result r;
    r.columns = {{"x", ""}, {"y", ""}};
    for (const double x : {3.0, 1.0, 2.0}) r.add({x, 10 * x});
    const Plot p = plot(r, {Chart::Kind::line, "", "x", {"y"}, {}, {}, "", false, false});
    EXPECT_EQ(p.series[0].x, (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(p.series[0].y, (std::vector<double>{10, 20, 30}));
}

TEST(Plot, OfAScatterKeepsTheNamesOfItsPoints) {
    Result r;
    r.columns = {{"x", ""}, {"y", ""}, {"kind", ""}, {"name", ""}};
    r.add({3.0, 30.0, "a", "third"});
    r.add({1.0, 10.0, "a", "first"});
    r.add({1.0, 20.0, "b", "other"});
    const Plot p = plot(r, {Chart::Kind::scatter, "", "x", {"y"}, {"kind"}, {}, "", true, true, "name", 0.15});
    ASSERT_EQ(p.series.size(), 2u);
    EXPECT_EQ(p.series[0].labels, (std::vector<std::string>{"first", "third"}));
    EXPECT_EQ(p.series[0].y, (std::vector<double>{10, 30}));
    EXPECT_EQ(p.series[1].labels, std::vector<std::string>{"other"});
    EXPECT_EQ(p.band, 0.15);
    EXPECT_THROW(plot(r, {Chart::Kind::scatter, "", "", {"y"}, {}, {}, "", false, false}), Error);
}

TEST(Svg, DrawsADotForEachPointAndThreeDiagonals) {
    Result r;
    r.columns = {{"x", ""}, {"y", ""}};
    for (const double v : {1.0, 10.0, 100.0}) r.add({v, 2 * v});
    const std::string picture = svg(r, {Chart::Kind::scatter, "", "x", {"y"}, {}, {}, "", true, true, "", 0.15});
    const auto times = [&](const std::string& part) {
        std::size_t n = 0;
        for (std::size_t at = picture.find(part); at != std::string::npos; at = picture.find(part, at + 1)) ++n;
        return n;
    };
    EXPECT_EQ(times("<circle"), 3u);
    EXPECT_EQ(times("<path"), 3u);
}

TEST(Plot, OfACumulativeDistributionCountsSamplesAtOrBelow) {
    Result r;
    r.columns = {{"t", "ns"}};
    for (const double t : {40.0, 10.0, 20.0, 10.0}) r.add({t});
    const Plot p = plot(r, {Chart::Kind::cdf, "", "", {"t"}, {}, {}, "", false, false});
    EXPECT_EQ(p.series[0].x, (std::vector<double>{10, 10, 20, 40}));
    EXPECT_EQ(p.series[0].y, (std::vector<double>{25, 50, 75, 100}));
    EXPECT_EQ(p.xTitle, "t (ns)");
}

TEST(Plot, OfAHistogramHoldsEverySampleOnce) {
    const Result r = gallery()[2];
    const Plot p = plot(r, r.charts[1]);
    ASSERT_EQ(p.series.size(), 2u);
    for (const Plot::Series& s : p.series) {
        double sum = 0;
        for (const double count : s.y) sum += count;
        EXPECT_EQ(sum, 100);
    }
    EXPECT_LE(p.series[0].x.front(), 100);
    EXPECT_EQ(p.series[0].x, p.series[1].x);
}

TEST(Plot, OfAHistogramOfOneValueHasOneBin) {
    Result r;
    r.columns = {{"t", ""}};
    for (int i = 0; i < 3; ++i) r.add({7.0});
    const Plot p = plot(r, {Chart::Kind::histogram, "", "", {"t"}, {}, {}, "", false, false});
    EXPECT_EQ(p.series[0].y, std::vector<double>{3});
}

TEST(Plot, OfAHeatMapOrdersNumbersAndLeavesGaps) {
    const Result r = gallery()[4];
    const Plot p = plot(r, r.charts[0]);
    EXPECT_EQ(p.rows.front(), "0");
    EXPECT_EQ(p.rows.back(), "23");
    EXPECT_EQ(p.categories[10], "10");
    ASSERT_EQ(p.cells.size(), 24u * 24u);
    EXPECT_TRUE(std::isnan(p.cells[5 * 24 + 5]));
    EXPECT_EQ(p.cells[5 * 24 + 6], 1 + 5 * 6 % 97 * 30);
}

TEST(Plot, OfAColumnThatIsNotThereIsRefused) {
    const Result r = gallery()[0];
    EXPECT_EQ(messageOf([&] {
                  plot(r, {Chart::Kind::bar, "", "workload", {"gtx"}, {}, {}, "", false, false});
              }),
              "result \"Instructions per cycle by scheduler\": a chart uses column \"gtx\", which does not exist");
}

TEST(Description, SaysWhereTheLeastAndTheMostAre) {
    const Result bars = gallery()[0], heat = gallery()[3];
    EXPECT_EQ(describe(plot(bars, bars.charts[0])),
              "Bar chart of IPC relative to gto by workload. ciao-c: from 0.98 at Hotspot to 2.4 at Kmeans. "
              "ciao-c, paper: from 1.02 at Hotspot to 1.55 at ATAX. gto: from 1 at ATAX to 1 at ATAX.");
    EXPECT_EQ(
        describe(plot(heat, heat.charts[0])),
        "Heat map of slowdown by aggressor and victim. 4 rows by 6 columns. Minimum 1.37 (random, compute), maximum "
        "9.88 (bandwidth, bank).");
}

TEST(Chart, PilesPartsOfABar) {
    Result r;
    r.title = "t";
    r.columns = {{"run", ""}, {"a", "%"}, {"b", "%"}};
    r.add({"x", 60.0, 40.0});
    r.charts = {{Chart::Kind::stack, "t", "run", {"a", "b"}, {}, {}, "", false, false}};
    const std::string picture = svg(r, r.charts[0]);
    // Two parts of one width; the second begins where the first ends, and is two thirds as high.
    std::vector<std::array<double, 4>> parts;
    const std::regex rectangle(R"re(<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="#)re");
    for (auto it = std::sregex_iterator(picture.begin(), picture.end(), rectangle); it != std::sregex_iterator(); ++it)
        if (std::stod((*it)[3]) != 12)
            parts.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
    ASSERT_EQ(parts.size(), 2u) << picture;
    EXPECT_EQ(parts[0][2], parts[1][2]);
    EXPECT_NEAR(parts[1][1] + parts[1][3], parts[0][1], 0.05);
    EXPECT_NEAR(parts[1][3] / parts[0][3], 40.0 / 60.0, 0.01);
}

TEST(Chart, GroupsUnitsOfAFloorPlan) {
    Result r;
    r.title = "t";
    r.columns = {{"part", ""}, {"group", ""}, {"unit", ""}, {"who", ""}};
    for (std::int64_t sm = 0; sm < 6; ++sm) r.add({"SM", sm % 2 ? "GPC 1" : "GPC 0", sm, sm < 3 ? "a" : "b"});
    r.add({"L2 slice", "", std::int64_t{0}, {}});
    r.charts = {{Chart::Kind::floorplan, "t", "unit", {"who"}, {"part", "group"}, {}, "", false, false}};
    const Plot p = plot(r, r.charts[0]);
    ASSERT_EQ(p.groups.size(), 3u);
    EXPECT_EQ(p.groups[1].name, "GPC 1");
    std::vector<std::string> second;
    for (const std::size_t unit : p.groups[1].units) second.push_back(p.labels[unit]);
    EXPECT_EQ(second, (std::vector<std::string>{"1", "3", "5"}));
    EXPECT_EQ(p.layers[0].names, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(describe(p), "Floor plan of a GPU: 6 of SM in 2 groups, 1 of L2 slice in 1 group. Colors show who.");
    r.charts[0].series.clear();
    EXPECT_THROW(plot(r, r.charts[0]), Error);
}

TEST(Json, KeepsMarks) {
    Result r;
    r.title = "t";
    r.columns = {{"x", ""}, {"y", ""}};
    r.add({1.0, 2.0});
    Chart chart{Chart::Kind::line, "t", "x", {"y"}, {}, {}, "", false, false};
    chart.marks = {{"bound", 3.5}};
    r.charts = {chart};
    EXPECT_EQ(fromJson(json(r), "file").charts[0].marks, chart.marks);
    nlohmann::json broken = json(r);
    broken["charts"][0]["marks"][0]["x"] = "far";
    EXPECT_THROW(fromJson(broken, "file"), Error);
}

TEST(Html, HoldsEveryTitleTableChartAndCommand) {
    const std::string page = html("t", gallery());
    EXPECT_EQ(occurrences(page, "<section"), 13u);
    EXPECT_EQ(occurrences(page, "<table>"), 13u);
    EXPECT_EQ(occurrences(page, "<figure class=\"chart\" id="), 15u);
    EXPECT_EQ(occurrences(page, "role=\"img\""), 15u);
    EXPECT_EQ(occurrences(page, "<code>"), 13u);
    EXPECT_NE(page.find("<td class=\"number paper\" data-value=\"1.55\">1.55</td>"), std::string::npos);
}

TEST(Html, HasTheQuestionAsHeadingThenAnswerReadingCaveatsAndTable) {
    const std::string page = html("t", std::vector{answered()});
    std::size_t before = 0;
    for (const char* part : {"<p class=\"kicker\">Times</p>", "<h2 id=\"r1-title\">How long does it take?</h2>",
                             "<p class=\"answer\">It takes 2 ms.</p>", "Less is better.", "<li>Once.</li>",
                             "<li>On one machine.</li>", "<th scope=\"col\" class=\"number detail\">spread"}) {
        const std::size_t at = page.find(part);
        ASSERT_NE(at, std::string::npos) << part;
        EXPECT_GT(at, before) << part;
        before = at;
    }
    EXPECT_EQ(page.find("How it was made</summary>"), std::string::npos);
}

TEST(Html, PutsResultsOfOneKindIntoOneSection) {
    std::vector<Result> results = {gallery()[2], gallery()[2], gallery()[0], gallery()[2]};
    results[0].title = "Samples of A (sharing: mps)";
    results[1].title = "Samples of B (sharing: mps)";
    results[3].title = "Other samples";
    const std::string page = html("t", results);
    EXPECT_EQ(occurrences(page, "<section"), 3u);
    EXPECT_NE(page.find(">Samples of … (sharing: mps)</h2>"), std::string::npos);
    EXPECT_NE(page.find("<option value=\"r1\">A</option>\n<option value=\"r2\">B</option>"), std::string::npos);
}

TEST(Html, BeginsWithAPictureOfAnotherResultWhereTheFirstHasNone) {
    const std::string page = html("t", std::vector{answered(), gallery()[0]});
    EXPECT_EQ(occurrences(page, "data-of=\"r2-f1\""), 1u);
    EXPECT_EQ(occurrences(html("t", gallery()), "data-of="), 0u);
}

TEST(Chapters, AreByPaperAndMachineTheNewestFirst) {
    std::vector<Result> results(4, answered());
    results[0].provenance = {"bulkhead stress", "sim:tx2", 1, "1", "2026-01-01T00:00:00Z"};
    results[1].provenance = {"bulkhead reproduce ciao --json a.json", "sim:gtx480", 1, "1", "2026-01-02T00:00:00Z"};
    results[2].provenance = {"bulkhead stress", "cuda:0: NVIDIA H200, driver 580", 1, "1", "2026-01-03T00:00:00Z"};
    results[3].provenance = {"bulkhead dissect", "cuda:0", 1, "1", "2026-01-04T00:00:00Z"};
    const std::vector<Chapter> chapters = chaptersOf(results);
    ASSERT_EQ(chapters.size(), 3u);
    EXPECT_EQ(chapters[0].title, "Measurements on cuda:0");
    ASSERT_EQ(chapters[0].results.size(), 2u);
    EXPECT_EQ(chapters[0].results[0].provenance.command, "bulkhead dissect");
    EXPECT_EQ(chapters[1].title, "CIAO on sim:gtx480");
    EXPECT_EQ(chapters[2].title, "Measurements on sim:tx2");
}

TEST(Chapters, LeaveOutRunsThatANewerOneOfTheSameCommandReplaces) {
    std::vector<Result> results(3, answered());
    results[0].provenance = {"bulkhead stress --samples 5 --json a.json", "sim:tx2", 1, "1", "2026-01-01T00:00:00Z"};
    results[1].provenance = {"bulkhead stress --samples 5 --json b.json", "sim:tx2", 1, "1", "2026-01-02T00:00:00Z"};
    results[2].provenance = {"bulkhead stress --samples 9 --json b.json", "sim:tx2", 1, "1", "2026-01-03T00:00:00Z"};
    const std::vector<Result> left = withoutSuperseded(results);
    ASSERT_EQ(left.size(), 2u);
    EXPECT_EQ(left[0].provenance.date, "2026-01-02T00:00:00Z");
    EXPECT_EQ(left[1].provenance.date, "2026-01-03T00:00:00Z");
}

double fivePercent(const Result&, const Result&) {
    return 0.05;
}

TEST(Difference, IsWhatChangedByMoreThanNoise) {
    std::vector<Result> before = {answered()}, after = {answered()};
    after[0].rows[0][1] = 2.08;  // 4 %
    after[0].rows[1][1] = 1.2;   // 20 %
    const Result changes = difference(before, after, fivePercent);
    ASSERT_EQ(changes.rows.size(), 1u);
    EXPECT_EQ(changes.rows[0][0], Value("a kernel with a long name of version 2: time"));
    EXPECT_EQ(changes.rows[0][3], Value(1.0));
    EXPECT_EQ(changes.rows[0][4], Value(1.2));
    EXPECT_NEAR(std::get<double>(changes.rows[0][5]), 20, 1e-9);
    EXPECT_TRUE(changes.answer.starts_with("1 of 4 numbers changed beyond noise; ")) << changes.answer;
    EXPECT_EQ(difference(before, before, fivePercent).answer, "Nothing: none of 4 numbers changed beyond noise.");
}

TEST(Difference, NeverPairsRowsOfOneNumberThatAreOfDifferentThings) {
    Result r;
    r.title = "t";
    r.columns = {{"second", ""}, {"program", ""}, {"value", ""}};
    r.add({36, "chase", 150.0});
    r.add({36, "stream", 1080.0});
    Result after = r;
    after.rows = {{36, "stream", 1080.0}, {36, "chase", 180.0}, {37, "stream", 540.0}};
    const Result changes = difference(std::vector{r}, std::vector{after}, fivePercent);
    ASSERT_EQ(changes.rows.size(), 1u);
    EXPECT_EQ(changes.rows[0][0], Value("36 / chase: value"));
}

TEST(Difference, OfNumbersWithLimitsIsWhereThoseDoNotOverlap) {
    Result r;
    r.title = "t";
    r.columns = {{"name", ""}, {"mean", "ms"}, {"mean low", "ms"}, {"mean high", "ms"}};
    r.add({"wide", 10.0, 5.0, 15.0});
    r.add({"narrow", 10.0, 9.9, 10.1});
    Result after = r;
    after.rows = {{"wide", 14.0, 9.0, 19.0}, {"narrow", 10.3, 10.2, 10.4}};
    const Result changes = difference(std::vector{r}, std::vector{after}, fivePercent);
    ASSERT_EQ(changes.rows.size(), 1u);
    EXPECT_EQ(changes.rows[0][0], Value("narrow: mean"));
}

TEST(Difference, OfMeansWithADeviationIsWhatChanceDoesNotExplain) {
    Result r;
    r.title = "t";
    r.columns = {{"name", ""}, {"mean", "ms"}, {"SD", "ms"}, {"solo mean", "ms"}, {"solo SD", "%"}, {"samples", ""}};
    // 1.96 x 2 / sqrt(100) = 0.39 ms each: together 0.55 ms.
    r.add({"a", 10.0, 2.0, 10.0, 20.0, 100});
    Result less = r, more = r;
    less.rows = {{"a", 10.5, 2.0, 10.5, 19.0, 100}};
    more.rows = {{"a", 10.6, 2.0, 10.6, 18.9, 100}};
    EXPECT_TRUE(difference(std::vector{r}, std::vector{less}, [](auto&&...) { return 0.2; }).rows.empty());
    const Result changes = difference(std::vector{r}, std::vector{more}, [](auto&&...) { return 0.2; });
    ASSERT_EQ(changes.rows.size(), 2u);
    for (const auto& row : changes.rows) EXPECT_EQ(row[6], Value("more than both spread (95 %)"));
    // One sample has no spread.
    r.rows[0][5] = more.rows[0][5] = 1;
    EXPECT_TRUE(difference(std::vector{r}, std::vector{more}, [](auto&&...) { return 0.2; }).rows.empty());
}

TEST(DerivedAnswer, SaysHowFarTheNumbersGoAndWhere) {
    Result r;
    r.columns = {{"application", ""}, {"method", ""}, {"samples", ""}, {"slowdown", "%"}};
    EXPECT_EQ(derivedAnswer(r), "");
    r.add({"SP", "cp", 5, 46.0});
    r.add({"MM", "cp", 5, 11.5});
    r.add({"VA", "cp", 5, {}});
    EXPECT_EQ(derivedAnswer(r), "slowdown: from 11.5 % (MM / cp) to 46 % (SP / cp).");
    r.charts = {{Chart::Kind::bar, "", "application", {"samples"}, {}, {}, "", false, false}};
    EXPECT_EQ(derivedAnswer(r), "samples: 5 everywhere.");
}

TEST(Difference, PairsRowsByNameAndSaysWhatHasNoPartner) {
    std::vector<Result> before = {answered(), gallery()[0]}, after = {answered()};
    std::swap(after[0].rows[0], after[0].rows[1]);
    after[0].rows.push_back({"a new one", 3.0, 1.0});
    const Result changes = difference(before, after, fivePercent);
    EXPECT_TRUE(changes.rows.empty());
    EXPECT_EQ(changes.caveats, (std::vector<std::string>{"1 result in one file alone: not compared.",
                                                         "1 row in one file alone: not compared."}));
}

TEST(Html, NeedsNoOtherFile) {
    const std::string page = html("t", gallery());
    EXPECT_EQ(occurrences(page, "src=\""), 0u);
    EXPECT_EQ(occurrences(page, "<link"), 0u);
    EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(Html, EscapesHostileText) {
    const std::string page = html(kHostile, gallery());
    EXPECT_EQ(occurrences(page, "<script>window"), 0u);
    EXPECT_EQ(occurrences(page, "<img"), 0u);
    EXPECT_NE(page.find("&lt;/script&gt;&lt;script&gt;window.broken=1"), std::string::npos);
}

TEST(Html, LeavesOutChartsWithNothingToShow) {
    Result r;
    r.columns = {{"x", ""}, {"y", ""}};
    r.add({1.0, {}});
    r.charts = {{Chart::Kind::line, "t", "x", {"y"}, {}, {}, "", false, false}};
    EXPECT_EQ(occurrences(html("t", std::vector{r}), "<figure"), 0u);
}

TEST(Svg, DrawsABarForEachNumber) {
    const Result r = gallery()[0];
    const std::string picture = svg(r, r.charts[0]);
    // Eight bars, two marks in the legend, the background; three diamonds of the paper, one in the legend.
    EXPECT_EQ(occurrences(picture, "<rect"), 8u + 2 + 1);
    EXPECT_EQ(occurrences(picture, "z\" fill"), 3u + 1);
    EXPECT_NE(picture.find("<title>IPC relative to GTO</title>"), std::string::npos);
}

TEST(Svg, DrawsACellForEachNumber) {
    const Result r = gallery()[4];
    const std::string picture = svg(r, r.charts[0]);
    EXPECT_EQ(occurrences(picture, "<rect"), 24u * 23 + 40 + 1);
}

TEST(Svg, EscapesHostileText) {
    const Result r = gallery()[5];
    for (const Chart& chart : r.charts) {
        EXPECT_EQ(occurrences(svg(r, chart), "<img"), 0u);
        EXPECT_EQ(occurrences(svg(r, chart), "<script"), 0u);
    }
}

TEST(Svg, SaysThatThereIsNothing) {
    Result r;
    r.columns = {{"x", ""}};
    EXPECT_NE(svg(r, {Chart::Kind::cdf, "t", "", {"x"}, {}, {}, "", false, false}).find("Nothing to show."),
              std::string::npos);
}

/// Relative luminance and contrast, as WCAG 2 defines them.
double luminance(const char* color) {
    const auto value = static_cast<int>(std::stoul(color + 1, nullptr, 16));
    const auto linear = [](int c) {
        const double s = c / 255.0;
        return s <= 0.03928 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(value >> 16) + 0.7152 * linear(value >> 8 & 255) + 0.0722 * linear(value & 255);
}

double contrast(const char* a, const char* b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

TEST(Palette, StandsOutFromThePage) {
    for (const char* color : kLightSeries) EXPECT_GE(contrast(color, kLightPage), 3) << color;
    for (const char* color : kDarkSeries) EXPECT_GE(contrast(color, kDarkPage), 3) << color;
}

TEST(Palette, OfHeatGrowsLighterWithEveryStep) {
    for (std::size_t i = 1; i < kHeat.size(); ++i) EXPECT_GT(luminance(kHeat[i]), luminance(kHeat[i - 1]));
}

}  // namespace
}  // namespace bulkhead::report
