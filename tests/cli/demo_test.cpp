#include <gtest/gtest.h>

#include <regex>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

/// The measured number in the row of the last table that begins so.
double measured(const std::string& out, const std::string& quantity) {
    std::smatch row;
    const std::string text = out.substr(out.rfind("Measured and published values"));
    const std::regex pattern(quantity + R"(.*sim:\w+\s+([-0-9.]+)\s)");
    return std::regex_search(text, row, pattern) ? std::stod(row[1]) : -1;
}

TEST(Demo, ShowsAllFourPartsBesideThePapers) {
    const TemporaryDirectory folder;
    const std::string page = (folder / "report.html").string();
    const Outcome demo = run({"demo", "--out", page, "--store", (folder / "runs").string()});
    ASSERT_EQ(demo.exitCode, 0) << demo.err;

    // The papers: 128 banks, 8 modules; pure computation does no harm, eviction does; memory walls hold where compute
    // walls alone do not; CIAO-C is ahead of GTO where L1D thrashes.
    EXPECT_EQ(measured(demo.out, "DRAM banks"), 128);
    EXPECT_EQ(measured(demo.out, "memory modules"), 8);
    EXPECT_NEAR(measured(demo.out, "slowdown beside pure computation"), 1, 0.02);
    EXPECT_GT(measured(demo.out, "slowdown beside random eviction"), 1.5);
    EXPECT_GT(measured(demo.out, "slowdown with compute walls"), 48);
    EXPECT_LT(measured(demo.out, "slowdown with compute and memory walls"), 7.5);
    EXPECT_GT(measured(demo.out, "IPC of CIAO-C"), 1.56);

    // The story: what a neighbour costs without walls, more than with compute walls, is gone behind both.
    const std::string story = demo.out.substr(demo.out.rfind("Before and after"));
    std::smatch walls;
    ASSERT_TRUE(
        std::regex_search(story, walls, std::regex(R"(([\d.]+) % slower beside a neighbour\s+(-?[\d.]+) % behind)")))
        << story;
    EXPECT_GT(std::stod(walls[1]), 48);
    EXPECT_LT(std::stod(walls[2]), 7.5);

    const std::string html = readFile(page);
    EXPECT_LT(html.size(), 1'500'000u);
    for (const char* command : {"bulkhead dissect --gpu sim:gtx1080", "bulkhead stress --gpu sim:tx2",
                                "bulkhead isolate evaluate --gpu sim:gtx1080", "bulkhead compare --workloads ATAX"})
        EXPECT_NE(html.find(command), std::string::npos) << command;
}

TEST(Demo, RefusesAnUnknownGpuAndAnUnwritableReportBeforeItBegins) {
    expectRefused({"demo", "--gpu", "sim:gtx9999"}, "gtx9999");
    expectRefused({"demo", "--out", "/no/such/folder/report.html"}, "/no/such/folder");
}

}  // namespace
}  // namespace bulkhead::cli
