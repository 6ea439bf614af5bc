// The page as people see it, in a real Chromium. Skipped where there is none.
#include "report/browser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "report/gallery.h"
#include "report/report.h"

namespace bulkhead::report {
namespace {

class Page : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (const auto program = Browser::find()) browser_ = new Browser(*program);
    }
    static void TearDownTestSuite() {
        delete browser_;
        browser_ = nullptr;
    }

    void SetUp() override {
        if (browser_ == nullptr) GTEST_SKIP() << "chromium is not installed";
        browser_->resize(1100, 900);
        browser_->preferColors("light");
        writeFile(folder_ / "report.html", html("A report", gallery()));
        browser_->open(folder_ / "report.html");
    }

    void TearDown() override {
        if (browser_ == nullptr) return;
        for (const std::string& complaint : browser_->complaints()) ADD_FAILURE() << complaint;
    }

    static int number(const std::string& expression) { return browser_->evaluate(expression).get<int>(); }
    static std::string text(const std::string& expression) { return browser_->evaluate(expression).get<std::string>(); }

    inline static Browser* browser_ = nullptr;
    TemporaryDirectory folder_;
};

/// The number of charts whose canvas has more than a few pixels of the kind of color that only data has.
constexpr const char* kPainted = R"js(
[...document.querySelectorAll("figure.chart canvas")].filter((canvas) => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let colored = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    const [r, g, b] = [pixels[i], pixels[i + 1], pixels[i + 2]];
    if (pixels[i + 3] > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 40) ++colored;
  }
  return colored > 100;
}).length)js";

TEST_F(Page, DrawsEveryChart) {
    browser_->keepScreenshot("light");
    EXPECT_EQ(number("document.querySelectorAll('figure.chart').length"), 15);
    EXPECT_EQ(number(kPainted), 15);
}

TEST_F(Page, FollowsTheSystemIntoTheDark) {
    const std::string background = "getComputedStyle(document.body).backgroundColor";
    EXPECT_EQ(text(background), "rgb(255, 255, 255)");
    browser_->preferColors("dark");
    EXPECT_EQ(text(background), "rgb(21, 24, 28)");
    browser_->keepScreenshot("dark");
    EXPECT_EQ(number(kPainted), 15);
}

TEST_F(Page, ChangesTheThemeByItsButton) {
    browser_->evaluate("document.getElementById('theme').click()");
    EXPECT_EQ(text("getComputedStyle(document.body).backgroundColor"), "rgb(21, 24, 28)");
    EXPECT_EQ(text("document.getElementById('theme').textContent"), "Light");
}

TEST_F(Page, FitsAPhone) {
    browser_->resize(390, 800, true);
    browser_->open(folder_ / "report.html");
    browser_->keepScreenshot("phone");
    EXPECT_LE(number("document.documentElement.scrollWidth"), 390);
    EXPECT_EQ(number(kPainted), 15);
}

TEST_F(Page, RedrawsChartsForANewWidth) {
    const std::string width = "document.querySelector('figure canvas').clientWidth";
    const int wide = number(width);
    browser_->resize(600, 900);
    browser_->evaluate("new Promise((done) => setTimeout(done, 400))");
    EXPECT_LT(number(width), wide);
    EXPECT_LE(number("document.documentElement.scrollWidth"), 600);
}

TEST_F(Page, SortsATableByAColumn) {
    const std::string column =
        "[...document.querySelectorAll('#r1 tbody tr')].map((row) => row.cells[3].textContent).join(' ')";
    const std::string press = "document.querySelectorAll('#r1 thead button')[3].click()";
    EXPECT_EQ(text(column), "1.55 1.24 - 1.02");
    browser_->evaluate(press);
    EXPECT_EQ(text(column), "1.02 1.24 1.55 -");
    EXPECT_EQ(text("document.querySelectorAll('#r1 thead th')[3].getAttribute('aria-sort')"), "ascending");
    browser_->evaluate(press);
    EXPECT_EQ(text(column), "1.55 1.24 1.02 -");
}

TEST_F(Page, FiltersRowsByWords) {
    const auto type = [&](const std::string& words) {
        browser_->evaluate("(() => { const field = document.querySelector('#r4 input[type=search]'); field.value = '" +
                           words + "'; field.dispatchEvent(new Event('input')) })()");
        return number("[...document.querySelectorAll('#r4 tbody tr')].filter((row) => row.offsetHeight > 0).length");
    };
    EXPECT_EQ(type("bank"), 4);  // beside each of four victims
    EXPECT_EQ(type("BANDwidth bank"), 1);
    EXPECT_EQ(text("document.querySelector('#r4 .filter .note').textContent"), "1 of 24");
    EXPECT_EQ(type("nothing like it"), 0);
    EXPECT_EQ(type(""), 24);
}

TEST_F(Page, ShowsDetailsWhenAsked) {
    Result r = gallery()[0];
    r.columns[2].detail = true;
    writeFile(folder_ / "details.html", html("t", std::vector{r}));
    browser_->open(folder_ / "details.html");
    const std::string shown =
        "[...document.querySelectorAll('thead th')].filter((cell) => cell.offsetWidth > 0).length";
    EXPECT_EQ(number(shown), 3);
    browser_->evaluate("document.querySelector('.tool[aria-pressed]').click()");
    EXPECT_EQ(number(shown), 4);
    EXPECT_EQ(text("document.querySelector('.tool[aria-pressed]').getAttribute('aria-pressed')"), "true");
}

TEST_F(Page, KeepsTheFirstColumnInViewWhileTheRestScrolls) {
    browser_->resize(390, 800, true);
    Result r = gallery()[0];
    for (int i = 0; i < 12; ++i) r.columns.push_back({"more " + std::to_string(i), ""});
    for (auto& row : r.rows) row.resize(r.columns.size(), 1.5);
    writeFile(folder_ / "wide.html", html("t", std::vector{r}));
    browser_->open(folder_ / "wide.html");
    browser_->evaluate("document.querySelector('.table').scrollLeft = 500");
    EXPECT_GT(number("document.querySelector('.table').scrollLeft"), 300);
    const std::string left = "Math.round(document.querySelector('tbody tr').cells[{}].getBoundingClientRect().left)";
    EXPECT_EQ(number(fmt::format(fmt::runtime(left), 0)),
              number("Math.round(document.querySelector('.table').getBoundingClientRect().left)"));
    EXPECT_LT(number(fmt::format(fmt::runtime(left), 1)), 0);
}

TEST_F(Page, SavesTablesAndPictures) {
    browser_->call("Browser.setDownloadBehavior", {{"behavior", "allow"}, {"downloadPath", folder_.path().string()}});
    const auto saved = [&](const std::string& button, const std::string& name) {
        browser_->evaluate("[...document.querySelectorAll('#r1 .tool')].find((b) => b.textContent === '" + button +
                           "').click()");
        for (int i = 0; i < 50 && !std::filesystem::exists(folder_ / name); ++i)
            browser_->evaluate("new Promise((done) => setTimeout(done, 100))");
        return readFile(folder_ / name);
    };
    EXPECT_EQ(saved("CSV", "instructions-per-cycle-by-scheduler.csv"),
              "workload,gto,ciao-c,paper's ciao-c\r\nATAX,1,1.62,1.55\r\nBackprop,1,1.11,1.24\r\nKmeans,1,2.4,\r\n"
              "Hotspot,1,0.98,1.02\r\n");
    const std::string picture = saved("SVG", "ipc-relative-to-gto.svg");
    EXPECT_TRUE(picture.starts_with("<svg xmlns=")) << picture.substr(0, 80);
    EXPECT_NE(picture.find(">Kmeans</text>"), std::string::npos);
    EXPECT_TRUE(saved("PNG", "ipc-relative-to-gto.png").starts_with("\x89PNG"));
    // Every kind of chart can be saved, and what is saved can be read.
    for (const auto& drawn : browser_->evaluate("[...document.querySelectorAll('figure.chart')].map((figure, i) => { "
                                                "const made = []; const blob = window.Blob;"
                                                " window.Blob = class extends blob { constructor(parts, how) { "
                                                "super(parts, how); made.push(parts[0]); } };"
                                                " figure.querySelector('.tool').click(); window.Blob = blob;"
                                                " return new DOMParser().parseFromString(made[0], "
                                                "'image/svg+xml').querySelector('parsererror') ? i : -1 })"))
        EXPECT_EQ(drawn, -1);
}

/// What the first chart of the open page says when it is saved as SVG.
std::vector<std::string> textsOfPicture(Browser& browser) {
    const nlohmann::json texts = browser.evaluate(
        "(() => { const made = []; const blob = window.Blob;"
        " window.Blob = class extends blob { constructor(parts, how) { super(parts, how); made.push(parts[0]); } };"
        " document.querySelector('figure.chart .tool').click(); window.Blob = blob;"
        " return [...new DOMParser().parseFromString(made[0], 'image/svg+xml').querySelectorAll('text')]"
        ".map((text) => text.textContent); })()");
    return texts.get<std::vector<std::string>>();
}

std::size_t countWith(const std::vector<std::string>& texts, const std::string& beginning) {
    return static_cast<std::size_t>(
        std::count_if(texts.begin(), texts.end(), [&](const auto& text) { return text.starts_with(beginning); }));
}

TEST_F(Page, TellsTicksApart) {
    Result near;
    near.title = "Run times that hardly differ";
    near.columns = {{"run time", "ms"}, {"share", "%"}};
    for (int i = 0; i <= 10; ++i) near.add({4.9680 + 0.0001 * i, 10.0 * i});
    near.charts = {{Chart::Kind::line, "Run times", "run time", {"share"}, {}, {}, "share", false, false}};
    writeFile(folder_ / "near.html", html("Near", std::vector{near}));
    browser_->open(folder_ / "near.html");
    const std::vector<std::string> texts = textsOfPicture(*browser_);
    const std::set<std::string> apart(texts.begin(), texts.end());
    EXPECT_GE(countWith(texts, "4.9"), 4u);
    EXPECT_EQ(countWith({apart.begin(), apart.end()}, "4.9"), countWith(texts, "4.9"))
        << fmt::format("{}", fmt::join(texts, ", "));
}

TEST_F(Page, TellsLongNamesApartByTheirEnds) {
    Result tenants;
    tenants.title = "Tenants";
    tenants.columns = {{"tenant", ""}, {"slower", "%"}};
    tenants.add({"bandwidth-bound beside stream within L2", 1.3});
    tenants.add({"bandwidth-bound beside stream through DRAM", 4.6});
    tenants.charts = {{Chart::Kind::bar, "Tenants", "tenant", {"slower"}, {}, {}, "", false, false}};
    writeFile(folder_ / "long.html", html("Long", std::vector{tenants}));
    browser_->open(folder_ / "long.html");
    const std::vector<std::string> texts = textsOfPicture(*browser_);
    for (const char* name : {"bandwidth-boun…eam within L2", "bandwidth-boun… through DRAM"})
        EXPECT_EQ(countWith(texts, name), 1u) << fmt::format("{}", fmt::join(texts, ", "));
}

TEST_F(Page, OffersAChoiceOfResultsOfOneKind) {
    std::vector<Result> results = {gallery()[2], gallery()[2]};
    results[0].title = "Samples of A (sharing: mps)";
    results[1].title = "Samples of B (sharing: mps)";
    writeFile(folder_ / "choice.html", html("t", results));
    browser_->open(folder_ / "choice.html");
    EXPECT_TRUE(browser_->evaluate("document.getElementById('r2').hidden").get<bool>());
    EXPECT_EQ(number(kPainted), 2);
    browser_->evaluate(
        "(() => { const s = document.querySelector('select'); s.value = 'r2'; s.dispatchEvent(new Event('change')) "
        "})()");
    EXPECT_TRUE(browser_->evaluate("document.getElementById('r1').hidden").get<bool>());
    EXPECT_EQ(number("document.querySelectorAll('#r2 canvas').length"), 2);
    EXPECT_EQ(text("document.getElementById('live').textContent"), "Showing B");
    browser_->evaluate("location.hash = '#r1'");
    browser_->evaluate("new Promise((done) => setTimeout(done, 100))");
    EXPECT_FALSE(browser_->evaluate("document.getElementById('r1').hidden").get<bool>());
}

TEST_F(Page, KeepsTheContentsInView) {
    browser_->resize(1400, 900);
    browser_->open(folder_ / "report.html");
    EXPECT_TRUE(browser_->evaluate("document.querySelector('nav details').open").get<bool>());
    browser_->evaluate("document.querySelector('#r5').scrollIntoView({ behavior: 'instant' })");
    browser_->evaluate("new Promise((done) => setTimeout(done, 300))");
    EXPECT_GE(number("Math.round(document.querySelector('nav a').getBoundingClientRect().top)"), 0);
    EXPECT_EQ(text("document.querySelector('nav [aria-current]').hash"), "#r5");
    browser_->resize(390, 800, true);
    browser_->open(folder_ / "report.html");
    EXPECT_FALSE(browser_->evaluate("document.querySelector('nav details').open").get<bool>());
    browser_->evaluate("document.querySelector('#r5').scrollIntoView({ behavior: 'instant' })");
    EXPECT_EQ(number("Math.round(document.querySelector('nav').getBoundingClientRect().top)"), 0);
}

TEST_F(Page, SortsNumbersByTheirSize) {
    browser_->evaluate("document.querySelector('#r5 details summary').click()");
    browser_->evaluate("new Promise((done) => setTimeout(done, 200))");
    browser_->evaluate("document.querySelectorAll('#r5 thead button')[0].click()");
    EXPECT_EQ(text("document.querySelector('#r5 tbody').rows[0].cells[0].textContent"), "0");
    EXPECT_EQ(text("document.querySelector('#r5 tbody').rows[23].cells[0].textContent"), "1");
}

TEST_F(Page, HidesASeriesByItsLegend) {
    browser_->evaluate("document.querySelector('#r1 .legend button').click()");
    EXPECT_EQ(text("document.querySelector('#r1 .legend button').getAttribute('aria-pressed')"), "false");
}

TEST_F(Page, TellsValuesToTheKeyboard) {
    browser_->evaluate("document.querySelector('#r1 .plot').focus()");
    browser_->press("ArrowRight");
    browser_->press("ArrowRight");
    EXPECT_EQ(text("document.getElementById('live').textContent"),
              "Backprop. ciao-c: 1.11. ciao-c, paper: 1.24. gto: 1");
    browser_->evaluate("document.querySelector('#r4 .plot').focus()");
    browser_->press("ArrowRight");
    browser_->press("ArrowDown");
    EXPECT_EQ(text("document.getElementById('live').textContent"), "sequential / compute. slowdown: 3.59");
}

TEST_F(Page, ShowsValuesBesideThePointer) {
    browser_->evaluate("document.querySelector('#r1').scrollIntoView()");
    const nlohmann::json box = browser_->evaluate(
        "(() => { const b = document.querySelector('#r1 .u-over').getBoundingClientRect();"
        " return [b.x + b.width * 0.6, b.y + b.height / 2] })()");
    browser_->call("Input.dispatchMouseEvent", {{"type", "mouseMoved"}, {"x", box[0]}, {"y", box[1]}});
    browser_->evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))");
    EXPECT_EQ(text("document.querySelector('#r1 .tip strong').textContent"), "Kmeans");
    EXPECT_EQ(number("document.querySelectorAll('#r1 .tip:not([hidden]) .keyed').length"), 2);
}

/// Moves the pointer to a place of an element's box, both in [0, 1].
void pointAt(Browser& browser, const std::string& element, const std::string& x, const std::string& y) {
    browser.evaluate("document.querySelector('" + element +
                     "').scrollIntoView({ behavior: 'instant', block: 'center' })");
    const nlohmann::json at =
        browser.evaluate("(() => { const b = document.querySelector('" + element +
                         "').getBoundingClientRect(); return [b.x + " + x + ", b.y + " + y + "] })()");
    browser.call("Input.dispatchMouseEvent", {{"type", "mouseMoved"}, {"x", at[0]}, {"y", at[1]}});
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))");
}

TEST_F(Page, TellsOfTheUnitUnderThePointer) {
    // The first SM of the first GPC is at the upper left, below the group's heading.
    pointAt(*browser_, "#r12 canvas", "12", "30");
    EXPECT_EQ(text("document.querySelector('#r12 .tip:not([hidden]) strong').textContent"), "SM 0, GPC 0");
    EXPECT_EQ(text("document.querySelector('#r12 .tip span').textContent"), "partition: vision");
    pointAt(*browser_, "#r12 canvas", "2", "2");
    EXPECT_EQ(number("document.querySelectorAll('#r12 .tip:not([hidden])').length"), 0);
}

TEST_F(Page, TellsOfUnitsToTheKeyboard) {
    browser_->evaluate("document.querySelector('#r12 .plot').focus()");
    browser_->press("End");
    EXPECT_EQ(text("document.getElementById('live').textContent"), "DRAM channel 9, side 1");
    browser_->press("Home");
    browser_->press("ArrowRight");
    EXPECT_EQ(text("document.getElementById('live').textContent"), "SM 8, GPC 0. partition: vision");
}

TEST_F(Page, ColorsByWhatTheReaderChooses) {
    const std::string picture = "document.querySelector('#r12 canvas').toDataURL()";
    const std::string before = text(picture);
    EXPECT_EQ(number("document.querySelectorAll('#r12 .scale .named').length"), 2);  // partitions
    browser_->evaluate("document.querySelectorAll('#r12 .layers button')[1].click()");
    EXPECT_EQ(text("document.querySelector('#r12 .layers [aria-pressed=true]').textContent"), "latency (cycles)");
    EXPECT_EQ(text("document.querySelector('#r12 .scale').textContent"), "latency (cycles): 212251");
    EXPECT_NE(text(picture), before);
}

TEST_F(Page, TellsWhereAnAddressLies) {
    browser_->evaluate("document.querySelector('#r13 .plot').focus()");
    browser_->press("ArrowDown");
    browser_->press("ArrowRight");
    // Line 33 of 128 bytes: 33 ^ 4 = 37, which is 5 modulo 16.
    EXPECT_EQ(text("document.getElementById('live').textContent"), "address 4224. slice: 5. set: 2");
}

TEST_F(Page, LeavesRoomForABoundBeyondTheCurves) {
    const std::string label = text("document.querySelector('#r11 .plot').getAttribute('aria-label')");
    EXPECT_NE(label.find("Marked: bound at 1e-06 at 3.2."), std::string::npos) << label;
}

TEST_F(Page, HandsItsTraceToPerfetto) {
    const std::string trace = "{\"traceEvents\":[{\"name\":\"</script>\"}]}";
    writeFile(folder_ / "traced.html", html("t", std::vector{gallery()[0]}, Trace{"a run", trace}));
    browser_->open(folder_ / "traced.html");
    // In place of another tab: Perfetto answers PING with PONG, then takes a buffer.
    browser_->evaluate(
        "window.sent = []; window.open = (address) => ({ postMessage: (what, to) => {"
        " window.sent.push(typeof what === 'string' ? address + ' ' + what : new "
        "TextDecoder().decode(what.perfetto.buffer));"
        " if (what === 'PING') window.dispatchEvent(new MessageEvent('message', { data: 'PONG', origin: to })) } })");
    browser_->evaluate("document.getElementById('open-trace').click()");
    browser_->evaluate("new Promise((done) => setTimeout(done, 400))");
    EXPECT_EQ(text("window.sent[0]"), "https://ui.perfetto.dev PING");
    EXPECT_EQ(nlohmann::json::parse(text("window.sent[1]")), nlohmann::json::parse(trace));
    EXPECT_EQ(number("window.sent.length"), 2);
    browser_->call("Browser.setDownloadBehavior", {{"behavior", "allow"}, {"downloadPath", folder_.path().string()}});
    browser_->evaluate("document.getElementById('save-trace').click()");
    for (int i = 0; i < 50 && !std::filesystem::exists(folder_ / "a-run.trace.json"); ++i)
        browser_->evaluate("new Promise((done) => setTimeout(done, 100))");
    EXPECT_EQ(nlohmann::json::parse(readFile(folder_ / "a-run.trace.json")), nlohmann::json::parse(trace));
}

TEST_F(Page, MakesTheRowsOfAFoldedTableWhenItIsUnfolded) {
    const std::string rows = "document.querySelectorAll('#r13 tbody tr').length";
    EXPECT_EQ(number(rows), 0);
    browser_->evaluate("document.querySelector('#r13 details summary').click()");
    browser_->evaluate("new Promise((done) => setTimeout(done, 200))");
    EXPECT_EQ(number(rows), 512);
    EXPECT_EQ(text("document.querySelectorAll('#r13 tbody tr')[33].cells[2].textContent"), "address 4224");
    EXPECT_EQ(text("document.querySelectorAll('#r13 tbody tr')[33].cells[3].dataset.value"), "5");
    EXPECT_EQ(number("document.querySelectorAll('#r13 .tools .filter').length"), 1);
}

TEST_F(Page, CopiesTheCommandThatMakesAResultAgain) {
    browser_->call("Browser.grantPermissions", {{"permissions", {"clipboardReadWrite", "clipboardSanitizedWrite"}}});
    browser_->evaluate(
        "(async () => { document.querySelector('#r1 .copy').click();"
        " await new Promise((done) => setTimeout(done, 100)) })()");
    EXPECT_EQ(text("document.querySelector('#r1 .copy').textContent"), "Copied");
    EXPECT_EQ(text("navigator.clipboard.readText()"), "bulkhead compare --workloads ATAX,Backprop --html 'a b.html'");
}

TEST_F(Page, ShowsHostileTextAsText) {
    EXPECT_TRUE(browser_->evaluate("window.broken").is_null());
    EXPECT_EQ(text("document.querySelector('#r6 h2').textContent"), kHostile);
    EXPECT_EQ(text("document.querySelector('#r6 figcaption').textContent"), kHostile);
    EXPECT_EQ(number("document.images.length"), 0);
}

TEST_F(Page, PrintsUnfoldedAndOnWhite) {
    browser_->preferColors("dark");
    browser_->evaluate(
        "addEventListener('beforeprint', () => { window.printed = [document.querySelectorAll('details[open]').length,"
        " getComputedStyle(document.body).backgroundColor,"
        " document.querySelector('figure canvas').clientWidth].join(' ') });"
        "window.afterPrint = new Promise((done) => addEventListener('afterprint', done)); 0");
    const std::string pdf = browser_->call("Page.printToPDF", {{"printBackground", true}})["data"];
    EXPECT_GT(pdf.size(), 20'000u);
    browser_->evaluate("window.afterPrint.then(() => 0)");  // which may come after the answer
    EXPECT_EQ(text("window.printed"), "21 rgb(255, 255, 255) 680");
    EXPECT_EQ(number("document.querySelectorAll('details[open]').length"), 0);
}

/// Of all pixels, how many differ clearly between two pictures drawn on the same canvas.
constexpr const char* kDifference = R"js((async () => {
  const pixels = async (name) => {
    const image = new Image();
    image.src = name;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 760, height: 480 });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.fillStyle = "white";
    context.fillRect(0, 0, 760, 480);
    context.drawImage(image, 0, 0, 760, image.height * 760 / image.width);
    return context.getImageData(0, 0, 760, 480).data;
  };
  const [a, b] = [await pixels("picture.svg"), await pixels("picture.png")];
  let differ = 0, ink = 0;
  for (let i = 0; i < a.length; i += 4) {
    const apart = Math.max(...[0, 1, 2].map((c) => Math.abs(a[i + c] - b[i + c])));
    if (apart > 100) ++differ;
    if (a[i] + a[i + 1] + a[i + 2] < 500) ++ink;
  }
  return [differ / ink, ink];
})())js";

TEST_F(Page, ShowsPngsLikeTheirSvgs) {
    try {
        expectPng();
    } catch (const Error& error) {
        GTEST_SKIP() << error.what();
    }
    for (const Result& result : gallery())
        for (const Chart& chart : result.charts) {
            const std::string picture = svg(result, chart);
            writeFile(folder_ / "picture.svg", picture);
            writeFile(folder_ / "picture.png", png(picture));
            writeFile(folder_ / "pictures.html", "<!doctype html><title>Pictures</title>");
            browser_->open(folder_ / "pictures.html");
            const nlohmann::json found = browser_->evaluate(kDifference);
            EXPECT_GT(found[1].get<int>(), 1000) << chart.title;
            // Letters lie a little elsewhere.
            EXPECT_LT(found[0].get<double>(), 0.15) << chart.title;
        }
}

/// Smallest contrast of any text with its background, by the formula of WCAG 2.
constexpr const char* kLeastContrast = R"js((() => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const color = channels(getComputedStyle(element).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let least = 100;
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const [a, b] = [channels(getComputedStyle(element).color), behind(element)].map(luminance);
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
})())js";

TEST_F(Page, HasTextOfEnoughContrastInBothThemes) {
    EXPECT_GE(browser_->evaluate(kLeastContrast).get<double>(), 4.5);
    browser_->preferColors("dark");
    EXPECT_GE(browser_->evaluate(kLeastContrast).get<double>(), 4.5);
}

TEST_F(Page, NamesEverythingThatCanBeFocused) {
    EXPECT_EQ(number("[...document.querySelectorAll('button, a, [tabindex]')].filter((e) => !(e.textContent.trim() ||"
                     " e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))).length"),
              0);
}

}  // namespace
}  // namespace bulkhead::report
