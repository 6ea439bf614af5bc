// Pages as verbs write them, in a real Chromium; skipped where there is none. tests/report has those of stored results.
#include <gtest/gtest.h>

#include "cli/command.h"
#include "report/page_checks.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

struct Verb {
    const char* name;
    /// `page` is where it is to be written.
    std::vector<std::string> (*command)(const std::string& page);
};
void PrintTo(const Verb& verb, std::ostream* out) {
    *out << verb.name;
}

using Words = std::vector<std::string>;

const Verb kVerbs[] = {
    {"gpus",
     [](const std::string& page) {
         return Words{"gpus", "h200", "--html", page};
     }},
    {"plan",
     [](const std::string& page) {
         return Words{"isolate", "plan", "--gpu", "sim:h200", "--partitions", "vision=50%,speech=50%", "--html", page};
     }},
    {"observe",
     [](const std::string& page) {
         return Words{"run",    "NN",        "--size", "test",       "--scheduler",
                      "ciao-c", "--observe", page,     "--timeline", page + ".trace"};
     }},
    {"compare",
     [](const std::string& page) {
         return Words{"compare", "--workloads", "ATAX,NN",      "--schedulers", "gto,ciao-c", "--size",
                      "test",    "--store",     page + "-runs", "--html",       page};
     }},
    {"correlate",
     [](const std::string& page) {
         return Words{"correlate", "VA",         "NN",      "--size",       "test",   "--gpu", "sim:gtx1080",
                      "--twin",    "sim:gtx480", "--store", page + "-runs", "--html", page};
     }},
    {"dissect",
     [](const std::string& page) {
         return Words{"dissect", "--gpu", "sim:gtx1080", "--html", page};
     }},
    {"bounds",
     [](const std::string& page) {
         const std::string stored = std::string(BULKHEAD_SOURCE_DIR) + "/results/h200/stress-bound.json";
         return Words{"stress", "--again", stored, "--html", page};
     }},
    {"reproduce",
     [](const std::string& page) {
         return Words{"reproduce", "fgpu", "--quick", "--figures", "3,8", "--store", page + "-runs", "--html", page};
     }},
    {"cost",
     [](const std::string& page) {
         return Words{"isolate", "cost", "--gpu", "sim:gtx1080", "--measure", "launches,latency", "--html", page};
     }},
};

class PageOfAVerb : public testing::TestWithParam<Verb> {};

TEST_P(PageOfAVerb, FitsIsReadableAndAccessible) {
    const auto program = report::Browser::find();
    if (!program) GTEST_SKIP() << "chromium is not installed";
    const TemporaryDirectory folder;
    const std::string page = (folder / "page.html").string();
    const Outcome o = run(GetParam().command(page));
    ASSERT_EQ(o.exitCode, 0) << o.err;
    report::Browser browser(*program);
    report::expectGoodPage(browser, page, std::string("verb-") + GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Verbs, PageOfAVerb, testing::ValuesIn(kVerbs),
                         [](const auto& verb) { return std::string(verb.param.name); });

}  // namespace
}  // namespace bulkhead::cli
