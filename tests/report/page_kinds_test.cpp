// Every kind of page, wide and on a phone, light and dark: nothing is cut off, nothing overlaps, and axe-core finds
// nothing wrong. In a real Chromium; skipped where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "report/browser.h"
#include "report/chapters.h"
#include "report/difference.h"
#include "report/gallery.h"
#include "report/report.h"

namespace bulkhead::report {
namespace {

constexpr std::size_t kMostRows = 40;  // axe-core looks at every cell

std::vector<Result> stored(const std::string& file) {
    const std::string path = BULKHEAD_SOURCE_DIR "/results/" + file;
    std::vector<Result> results = resultsIn(readJson(path), path);
    for (Result& r : results)
        if (r.rows.size() > kMostRows) r.rows.resize(kMostRows);
    return results;
}

/// The same later, a tenth more in every number, and in words what that means.
std::vector<Result> later(std::vector<Result> results) {
    for (Result& r : results)
        for (auto& row : r.rows)
            for (Value& value : row)
                if (auto* number = std::get_if<double>(&value)) *number *= 1.1;
    return results;
}

struct PageKind {
    const char* name;
    std::string (*make)();
};
void PrintTo(const PageKind& kind, std::ostream* out) {
    *out << kind.name;
}

const PageKind kKinds[] = {
    {"gallery", [] { return html("A report", gallery()); }},
    {"stress", [] { return html("Interference", stored("h200/stress.json")); }},
    {"bound", [] { return html("Worst-case bounds", stored("h200/stress-bound.json")); }},
    {"dissect", [] { return html("Measurements", stored("h200/dissect.json")); }},
    {"correlate", [] { return html("bulkhead correlate", stored("h200/correlation.json")); }},
    {"isolate", [] { return html("bulkhead isolate evaluate", stored("h200/isolate.json")); }},
    {"cost", [] { return html("bulkhead isolate cost", stored("h200/cost.json")); }},
    {"calibrate", [] { return html("Calibration", stored("h200/calibrate.json")); }},
    {"report",
     [] {
         std::vector<Result> all = stored("interference.json");
         for (Result& r : stored("h200/interference.json")) all.push_back(std::move(r));
         return html("Papers", chaptersOf(all));
     }},
    {"diff",
     [] {
         const std::vector<Result> before = stored("interference.json");
         const Result changes = difference(before, later(before), [](const Result&, const Result&) { return 0.05; });
         return html("What changed", std::span(&changes, 1));
     }},
};

/// What sticks out of the page, or out of its own box without a way to scroll there.
constexpr const char* kCutOff = R"js((() => {
  const wide = document.documentElement.clientWidth;
  const bad = [];
  const scrolls = (e) => {
    for (; e && e !== document.body; e = e.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  if (document.documentElement.scrollWidth > wide) bad.push("the page is " + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest(".unseen, .skip, script, style, .uplot") || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (box.width === 0 || scrolls(e)) continue;
    const name = e.tagName + "." + e.className + " " + e.textContent.slice(0, 40);
    if (box.right > wide + 1 || box.left < -1) bad.push("outside: " + name);
    const hides = getComputedStyle(e).overflowX === "hidden";
    if (hides && e.scrollWidth > e.clientWidth + 1) bad.push("cut off: " + name);
  }
  return bad.slice(0, 10);
})())js";

/// Pieces of the page that lie on others.
constexpr const char* kOverlaps = R"js((() => {
  window.scrollTo(0, 0);
  // Of words, what they fill: their line may go on to the edge.
  const boxOf = (e) => {
    const words = document.createRange();
    words.selectNodeContents(e);
    return (/^(H\d|P|LI|A)$/.test(e.tagName) ? words : e).getBoundingClientRect();
  };
  const pieces = [...document.querySelectorAll(
    "h1, h2, h3, h4, main p, header p, main li, .tools, .table, figcaption, .plot, .legend, summary, select, #theme, nav a")]
    .filter((e) => !e.closest(".unseen") && e.checkVisibility() && !(e.closest(".tools") && e.className !== "tools"))
    .map((e) => ({ e, box: boxOf(e) }))
    .filter(({ box }) => box.width > 0 && box.height > 0);
  const bad = [];
  pieces.forEach(({ e, box }, i) =>
    pieces.slice(i + 1).forEach(({ e: other, box: its }) => {
      if (e.contains(other) || other.contains(e)) return;
      const across = Math.min(box.right, its.right) - Math.max(box.left, its.left);
      const down = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
      if (across > 1 && down > 1)
        bad.push(`${e.tagName}.${e.className} "${e.textContent.slice(0, 30)}" and ${other.tagName}.${other.className} "${other.textContent.slice(0, 30)}"`);
    }));
  return bad.slice(0, 10);
})())js";

/// What is folded away must be as good as the rest; its tables are made when it is opened. Those with thousands of rows
/// are like others, and would take axe-core minutes.
constexpr const char* kUnfold = R"js((async () => {
  document.querySelectorAll("main details").forEach((details) => {
    const rows = details.querySelector("script.rows");
    details.open = !rows || JSON.parse(rows.textContent).length <= 100;
  });
  await new Promise((done) => setTimeout(done, 200));
})())js";

constexpr const char* kAxe = R"js(axe.run(document, { resultTypes: ["violations"] }).then((found) =>
  found.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.failureSummary}`))))js";

class EveryPage : public testing::TestWithParam<PageKind> {};

TEST_P(EveryPage, FitsIsReadableAndAccessible) {
    const auto program = Browser::find();
    if (!program) GTEST_SKIP() << "chromium is not installed";
    const TemporaryDirectory folder;
    writeFile(folder / "page.html", GetParam().make());
    Browser browser(*program);
    for (const int width : {1400, 390})
        for (const char* colors : {"light", "dark"}) {
            const std::string where = fmt::format("{}, {} pixels, {}", GetParam().name, width, colors);
            browser.resize(width, 900, width < 800);
            browser.preferColors(colors);
            browser.open(folder / "page.html");
            for (const char* check : {kCutOff, kOverlaps})
                for (const auto& fault : browser.evaluate(check)) ADD_FAILURE() << where << ": " << fault;
            browser.keepScreenshot(fmt::format("{}-{}-{}", GetParam().name, width, colors));
            browser.evaluate(kUnfold);
            for (const auto& fault : browser.evaluate(kCutOff)) ADD_FAILURE() << where << ", unfolded: " << fault;
            if (std::filesystem::exists(BULKHEAD_AXE)) {
                browser.evaluate(readFile(BULKHEAD_AXE) + "; 0");
                for (const auto& fault : browser.evaluate(kAxe)) ADD_FAILURE() << where << ": " << fault;
            }
            for (const std::string& complaint : browser.complaints()) ADD_FAILURE() << where << ": " << complaint;
        }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryPage, testing::ValuesIn(kKinds), [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace bulkhead::report
