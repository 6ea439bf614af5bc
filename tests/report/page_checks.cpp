#include "report/page_checks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace bulkhead::report {
namespace {

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

constexpr const char* kAxe = R"js(axe.run(document, { resultTypes: ["violations"], ...OPTIONS }).then((found) =>
  found.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.failureSummary}`))))js";

/// Of dark pages, contrast alone: nothing else that it looks at depends on colors.
std::string axe(bool dark) {
    std::string script = kAxe;
    const std::string_view place = "OPTIONS";
    return script.replace(script.find(place), place.size(), dark ? "{ runOnly: [\"color-contrast\"] }" : "{}");
}

}  // namespace

void expectGoodPage(Browser& browser, const std::filesystem::path& page, const std::string& name) {
    for (const int width : {1400, 390})
        for (const char* colors : {"light", "dark"}) {
            const std::string where = fmt::format("{}, {} pixels, {}", name, width, colors);
            browser.resize(width, 900, width < 800);
            browser.preferColors(colors);
            browser.open(page);
            for (const char* check : {kCutOff, kOverlaps})
                for (const auto& fault : browser.evaluate(check)) ADD_FAILURE() << where << ": " << fault;
            browser.keepScreenshot(fmt::format("{}-{}-{}", name, width, colors));
            browser.evaluate(kUnfold);
            for (const auto& fault : browser.evaluate(kCutOff)) ADD_FAILURE() << where << ", unfolded: " << fault;
            if (std::filesystem::exists(BULKHEAD_AXE)) {
                browser.evaluate(readFile(BULKHEAD_AXE) + "; 0");
                for (const auto& fault : browser.evaluate(axe(std::string_view(colors) == "dark")))
                    ADD_FAILURE() << where << ": " << fault;
            }
            for (const std::string& complaint : browser.complaints()) ADD_FAILURE() << where << ": " << complaint;
        }
}

}  // namespace bulkhead::report
