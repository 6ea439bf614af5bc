// Pages of stored results, in a real Chromium; skipped where there is none. tests/pages has those of verbs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "report/browser.h"
#include "report/chapters.h"
#include "report/difference.h"
#include "report/gallery.h"
#include "report/page_checks.h"
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
    {"benchmark", [] { return html("bulkhead isolate benchmark", stored("h200/benchmark.json")); }},
    {"inference", [] { return html("Inference", stored("h200/inference.json")); }},
    {"sides", [] { return html("By side of the L2", stored("h200/stress-sides.json")); }},
    {"churn", [] { return html("Tenants that come and go", stored("h200/churn-quarters.json")); }},
    {"faults", [] { return html("Faults", stored("h200/mps-faults.json")); }},
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

class EveryPage : public testing::TestWithParam<PageKind> {};

TEST_P(EveryPage, FitsIsReadableAndAccessible) {
    const auto program = Browser::find();
    if (!program) GTEST_SKIP() << "chromium is not installed";
    const TemporaryDirectory folder;
    writeFile(folder / "page.html", GetParam().make());
    Browser browser(*program);
    expectGoodPage(browser, folder / "page.html", GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryPage, testing::ValuesIn(kKinds), [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace bulkhead::report
