#include <gtest/gtest.h>

#include <regex>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

struct Times {
    double before, after;
};

/// Those in the row of the story that begins so, over that alone.
Times times(const std::string& out, const std::string& act) {
    std::smatch row;
    const std::string text = out.substr(out.rfind("Before and after"));
    const std::regex pattern(act + R"(  .* us .* us .*  +([0-9.]+)  +([0-9.]+)\n)");
    if (!std::regex_search(text, row, pattern)) return {-1, -1};
    return {std::stod(row[1]), std::stod(row[2])};
}

TEST(Demo, FollowsOneProgramThroughFourActs) {
    const TemporaryDirectory folder;
    const std::string page = (folder / "report.html").string();
    const Outcome demo = run({"demo", "--out", page, "--store", (folder / "runs").string()});
    ASSERT_EQ(demo.exitCode, 0) << demo.err;

    // The Fractional GPUs paper's numbers for this GPU.
    EXPECT_NE(demo.out.find("4 of 4 numbers are the same."), std::string::npos);

    // Pure computation does no harm, a stream through memory does (all three papers); memory walls give it back as far
    // as half of the GPU allows, which makes a program that waits for memory at most twice as slow.
    const Times see = times(demo.out, "See it"), cause = times(demo.out, "Cause it"),
                wall = times(demo.out, "Wall it off"), design = times(demo.out, "Design it away");
    EXPECT_EQ(see.before, 1);
    EXPECT_NEAR(see.after, 1, 0.1);
    EXPECT_EQ(cause.before, 1);
    EXPECT_GT(cause.after, 2);
    EXPECT_EQ(wall.before, cause.after);
    EXPECT_LT(wall.after, 2.1);
    EXPECT_EQ(design.before, cause.after);
    EXPECT_LT(design.after, cause.after / 2);

    const std::string html = readFile(page);
    EXPECT_LT(html.size(), 1'500'000u);
    for (const char* command :
         {"bulkhead dissect --gpu sim:gtx1080", "bulkhead run SYR2K --gpu sim:gtx1080",
          "bulkhead isolate plan --gpu sim:gtx1080", "bulkhead stress --gpu sim:gtx1080 --victim SYR2K",
          "bulkhead compare --gpu sim:gtx1080 --set l1.cachesGlobal=true --workloads SYR2K"})
        EXPECT_NE(html.find(command), std::string::npos) << command;
}

TEST(Demo, RefusesAnUnknownGpuAndAnUnwritableReportBeforeItBegins) {
    expectRefused({"demo", "--gpu", "sim:gtx9999"}, "gtx9999");
    expectRefused({"demo", "--out", "/no/such/folder/report.html"}, "/no/such/folder");
}

}  // namespace
}  // namespace bulkhead::cli
