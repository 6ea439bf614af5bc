// The page as people use it, in a real Chromium. Skipped where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/files.h"
#include "cli/command.h"
#include "report/browser.h"
#include "serve/running_server.h"
#include "temporary_directory.h"

namespace bulkhead::serve {
namespace {

using report::Browser;

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump();
}

/// A browser that looks at the page.
class Visitor {
  public:
    Visitor(const std::filesystem::path& program, const std::string& address) : browser_(program) {
        browser_.resize(1100, 900);
        browser_.preferColors("light");
        browser_.visit(address);
    }

    Browser& browser() { return browser_; }
    std::string text(const std::string& expression) { return browser_.evaluate("String(" + expression + ")"); }
    bool holds(const std::string& expression) { return browser_.evaluate("Boolean(" + expression + ")").get<bool>(); }

    /// Waits until it holds; fails after 40 seconds.
    void expect(const std::string& expression) {
        const std::string wait =
            "new Promise((done) => { const begin = Date.now(); const look = () => { let met = false; try { met = (" +
            expression +
            ") } catch {} if (met || Date.now() - begin > 40000) done(Boolean(met)); else setTimeout(look, 50) }; "
            "look() })";
        bool met = false;
        try {
            met = browser_.evaluate(wait).get<bool>();
        } catch (const std::runtime_error&) {
            met = browser_.evaluate(wait).get<bool>();  // it has left for another page meanwhile
        }
        EXPECT_TRUE(met) << expression << "\n" << text("document.body.innerText");
    }
    void click(const std::string& selector) {
        browser_.evaluate("document.querySelector(" + quoted(selector) + ").click()");
    }
    void type(const std::string& selector, const std::string& value) {
        browser_.evaluate("(() => { const field = document.querySelector(" + quoted(selector) + "); field.value = " +
                          quoted(value) + "; field.dispatchEvent(new Event('input', { bubbles: true })) })()");
    }
    /// A question of many short runs.
    void fillIn(const std::string& samples) {
        click("input[value=cause]");
        type("input[name=victim]", "latency");
        type("input[name=aggressors]", "compute");
        type("input[name=accesses]", "64");
        type("input[name=samples]", samples);
        expect("document.getElementById('command').textContent.includes('--samples " + samples + " ')");
    }

  private:
    Browser browser_;
};

class ServePage : public testing::Test {
  protected:
    void SetUp() override {
        program_ = Browser::find();
        if (!program_) GTEST_SKIP() << "chromium is not installed";
        std::filesystem::create_directory(outside_ / "results");
        for (const auto& [name, cycles, date] :
             {std::tuple("old.json", 100, "2026-01-01T00:00:00Z"), std::tuple("new.json", 150, "2026-02-01T00:00:00Z")})
            writeFile(
                outside_ / "results" / name,
                nlohmann::json{
                    {"title", "Cycles <b>of</b> a kernel"},
                    {"answer", fmt::format("It took {} cycles.", cycles)},
                    {"columns", {{{"name", "kernel"}, {"unit", ""}}, {{"name", "cycles"}, {"unit", ""}}}},
                    {"rows", {{{"kernel", "add"}, {"cycles", cycles}}}},
                    {"provenance", {{"command", "bulkhead run"}, {"gpu", "sim:tx2"}, {"version", "0"}, {"date", date}}}}
                    .dump());
        server_ = std::make_unique<RunningServer>(outside_ / "results", outside_ / "store");
        visitor_ = visit();
    }

    void TearDown() override {
        if (!visitor_) return;
        for (const std::string& complaint : visitor_->browser().complaints())
            // The console notes what the server refuses, which the page shows.
            if (complaint.find("422") == std::string::npos) ADD_FAILURE() << complaint;
    }

    std::unique_ptr<Visitor> visit() const { return std::make_unique<Visitor>(*program_, server_->address()); }

    std::optional<std::filesystem::path> program_;
    TemporaryDirectory outside_;
    std::unique_ptr<RunningServer> server_;
    std::unique_ptr<Visitor> visitor_;
};

constexpr const char* kState = "document.querySelector('#jobs li')?.dataset.state";

TEST_F(ServePage, AsksShowsProgressAndTheResult) {
    visitor_->expect("document.querySelectorAll('#files tr').length === 2");
    visitor_->fillIn("30");
    visitor_->click("#form button[type=submit]");
    visitor_->expect(
        fmt::format("{} === 'running' && document.querySelector('#jobs progress').value > 0 && "
                    "document.querySelector('#jobs .doing').textContent.includes('of 30 runs')",
                    kState));
    visitor_->browser().keepScreenshot("serve-running");
    visitor_->expect(fmt::format("{} === 'done'", kState));
    visitor_->expect("document.querySelector('#jobs .found a').textContent === 'cause-tx2-1.json'");
    visitor_->expect("document.querySelectorAll('#files tr').length === 3");
    // The next one has another name.
    visitor_->expect("document.getElementById('command').textContent.includes('cause-tx2-2.json')");
    visitor_->browser().visit(server_->address() + "result?file=cause-tx2-1.json");
    EXPECT_EQ(visitor_->text("document.querySelector('h1').textContent"), "cause-tx2-1.json");
    EXPECT_TRUE(visitor_->holds("document.querySelectorAll('figure.chart canvas').length > 0"));
}

TEST_F(ServePage, CancelsAndResumes) {
    visitor_->fillIn("300");
    visitor_->click("#form button[type=submit]");
    visitor_->expect("document.querySelector('#jobs progress').value > 0");
    EXPECT_EQ(visitor_->text("document.querySelector('#jobs .tool').textContent"), "Cancel");
    visitor_->click("#jobs .tool");
    visitor_->expect(fmt::format("{} === 'canceled'", kState));
    EXPECT_TRUE(server_->children().empty());
    EXPECT_EQ(visitor_->text("document.querySelector('#jobs .tool').textContent"), "Resume");
    EXPECT_EQ(visitor_->text("document.getElementById('live').textContent"), "Question 1 is canceled");
    visitor_->click("#jobs .tool");
    visitor_->expect(fmt::format("{} === 'running' && document.querySelector('#jobs progress').value > 0", kState));
}

TEST_F(ServePage, ShowsTheSameToTwoBrowsersAndAfterAReload) {
    const std::unique_ptr<Visitor> other = visit();
    visitor_->fillIn("300");
    visitor_->click("#form button[type=submit]");
    other->expect(fmt::format("{} === 'running' && document.querySelector('#jobs progress').value > 0", kState));
    visitor_->browser().visit(server_->address());
    visitor_->expect(fmt::format("{} === 'running'", kState));
    // What one asks for, the other may cancel.
    other->click("#jobs .tool");
    visitor_->expect(fmt::format("{} === 'canceled'", kState));
    EXPECT_TRUE(other->browser().complaints().empty());
}

TEST_F(ServePage, SaysWhatIsWrongBeforeAndAfterAsking) {
    visitor_->fillIn("2");
    visitor_->type("input[name=samples]", "many");
    visitor_->expect("document.getElementById('refusal').textContent.includes('not a whole number')");
    EXPECT_TRUE(visitor_->holds("document.querySelector('#form button[type=submit]').disabled"));
    visitor_->type("input[name=samples]", "2");
    visitor_->expect("document.getElementById('refusal').textContent === ''");
    visitor_->type("input[name=gpu]", "sim:<img src=x onerror=alert(1)>");
    visitor_->expect("document.getElementById('command').textContent.includes('<img')");
    visitor_->click("#form button[type=submit]");
    visitor_->expect(fmt::format("{} === 'failed'", kState));
    EXPECT_TRUE(visitor_->holds("document.querySelector('#jobs .refusal').textContent.includes('<img')"));
    EXPECT_TRUE(visitor_->holds("document.querySelectorAll('img').length === 0"));
    EXPECT_EQ(visitor_->text("document.querySelector('#jobs .tool').textContent"), "Try again");
}

TEST_F(ServePage, ComparesTwoResultsTheOlderOneFirst) {
    visitor_->expect("document.querySelectorAll('#files tr').length === 2");
    EXPECT_TRUE(visitor_->holds("document.getElementById('compare').disabled"));
    visitor_->click("input[aria-label='Compare new.json']");
    visitor_->click("input[aria-label='Compare old.json']");
    EXPECT_EQ(visitor_->text("document.getElementById('chosen').textContent"), "From old.json to new.json");
    visitor_->browser().evaluate("window.went = document.getElementById('compare').click()");
    visitor_->expect("document.querySelector('h1').textContent === 'What changed'");
    visitor_->expect("document.querySelector('tbody').textContent.includes('150')");
}

TEST_F(ServePage, FiltersResults) {
    visitor_->expect("document.querySelectorAll('#files tr').length === 2");
    visitor_->type("#filter", "150 CYCLES");
    EXPECT_EQ(
        visitor_->text("[...document.querySelectorAll('#files tr')].filter((row) => row.offsetHeight > 0).length"),
        "1");
    EXPECT_EQ(visitor_->text("document.getElementById('filtered').textContent"), "1 of 2");
    EXPECT_TRUE(visitor_->holds("document.querySelector('#files').textContent.includes('<b>of</b>')"));
}

TEST_F(ServePage, TellsOfPartitionsAndKeptRuns) {
    visitor_->type("#partitions input", "sim:gtx9999");
    visitor_->click("#partitions button");
    visitor_->expect("document.getElementById('partitions-said').textContent.includes('gtx9999')");
    visitor_->expect("document.getElementById('runs-said').textContent.startsWith('0 in ')");
    visitor_->fillIn("2");
    visitor_->click("#form button[type=submit]");
    visitor_->expect("document.getElementById('runs-said').textContent.startsWith('2 in ')");
    visitor_->expect("document.querySelectorAll('#gpus option').length > 5");
}

/// A program in partition A of sim:gtx1080 until this goes: it waits for the end of its input.
class Tenant {
  public:
    explicit Tenant(const std::filesystem::path& folder) {
        writeFile(folder / "tenant.cu", "#include <cstdio>\nint main() { cudaFree(nullptr); std::getchar(); }\n");
        const std::string program = (folder / "tenant").string();
        EXPECT_EQ(cli::run({"cc", (folder / "tenant.cu").string(), "-o", program}).exitCode, 0);
        EXPECT_EQ(cli::run({"isolate", "set", "--gpu", "sim:gtx1080", "--partitions", "A=50%,B=50%"}).exitCode, 0);
        running_ = ::popen(
            (std::string(BULKHEAD_PROGRAM) + " isolate run --gpu sim:gtx1080 --partition A -- '" + program + "'")
                .c_str(),
            "we");
        constexpr int kPatience = 300;
        const auto joined = [] {
            return cli::run({"isolate", "list", "--gpu", "sim:gtx1080"}).out.find("tenant") != std::string::npos;
        };
        for (int i = 0; i < kPatience && !joined(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ~Tenant() { end(); }
    Tenant(const Tenant&) = delete;
    Tenant& operator=(const Tenant&) = delete;
    void end() {
        if (running_) ::pclose(running_);
        running_ = nullptr;
    }

  private:
    FILE* running_ = nullptr;
};

TEST_F(ServePage, ShowsATenantOfAPartitionAsLongAsItIsThere) {
    ::setenv("BULKHEAD_LEASES", (outside_ / "leases").c_str(), 1);
    server_ = std::make_unique<RunningServer>(outside_ / "results", outside_ / "store");
    Tenant tenant(outside_.path());
    ::unsetenv("BULKHEAD_LEASES");
    visitor_ = visit();
    visitor_->type("#partitions input", "sim:gtx1080");
    visitor_->click("#partitions button");
    const std::string row = "[...document.querySelectorAll('#tenants tbody td')].map((cell) => cell.textContent)";
    visitor_->expect(row + "[3]?.includes('tenant') && " + row + "[0] === 'A' && " + row + "[5] === '10'");
    tenant.end();
    visitor_->click("#partitions button");
    visitor_->expect("document.getElementById('partitions-said').textContent === 'Nobody.'");
}

TEST_F(ServePage, SaysWhenTheServerIsGone) {
    EXPECT_TRUE(visitor_->holds("document.getElementById('lost').hidden"));
    server_ = nullptr;
    visitor_->expect("!document.getElementById('lost').hidden");
    visitor_ = nullptr;  // its console is right to complain
}

constexpr const char* kAxe = R"js(axe.run(document, { resultTypes: ["violations"] }).then((found) =>
  found.violations.flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.failureSummary}`))))js";

TEST_F(ServePage, FitsIsReadableAndAccessible) {
    server_->waitFor(server_->ask("cause", {{"gpu", "sim:gtx9999"}}), "failed");
    server_->waitFor(server_->ask("cause", {{"victim", "latency"}, {"aggressors", "compute"}, {"samples", "1"}}),
                     "done");
    server_->ask("cause", {{"victim", "latency"}, {"aggressors", "compute"}, {"samples", "300"}});
    server_->ask("see", nlohmann::json::object());
    for (const int width : {1400, 390})
        for (const char* colors : {"light", "dark"}) {
            const std::string where = fmt::format("{} pixels, {}", width, colors);
            visitor_->browser().resize(width, 900, width < 800);
            visitor_->browser().preferColors(colors);
            visitor_->browser().visit(server_->address());
            visitor_->expect("document.querySelectorAll('#jobs li').length === 4");
            visitor_->expect("document.querySelectorAll('#files tr').length === 3");
            EXPECT_LE(visitor_->browser().evaluate("document.documentElement.scrollWidth").get<int>(), width) << where;
            visitor_->browser().keepScreenshot(fmt::format("serve-{}-{}", width, colors));
            if (std::filesystem::exists(BULKHEAD_AXE)) {
                visitor_->browser().evaluate(readFile(BULKHEAD_AXE) + "; 0");
                for (const auto& fault : visitor_->browser().evaluate(kAxe)) ADD_FAILURE() << where << ": " << fault;
            }
        }
}

}  // namespace
}  // namespace bulkhead::serve
