#include "correlate/profiler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "metrics/ncu_csv.h"
#include "temporary_directory.h"

namespace bulkhead::correlate {
namespace {

/// A profiler that counts 7 of everything, and writes down how it was called.
std::filesystem::path makeProfiler(const TemporaryDirectory& folder, const std::string& body) {
    const std::filesystem::path file = folder / "ncu";
    writeFile(file,
              "#!/bin/sh\n"
              "while [ $# -gt 0 ]; do case $1 in\n"
              "  --log-file) log=$2; shift ;;\n"
              "  --metrics) metrics=$2; shift; shift; break ;;\n"
              "  *) options=\"$options $1\" ;;\n"
              "esac; shift; done\n" +
                  body);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
}

const char* const kCountsSeven =
    "header='\"ID\",\"Kernel Name\"'; units='\"\",\"\"'; row='\"0\",\"k\"'\n"
    "for m in $(echo $metrics | tr , ' '); do header=\"$header,\\\"$m\\\"\"; units=\"$units,\\\"\\\"\"; "
    "row=\"$row,\\\"7\\\"\"; done\n"
    "{ echo \"==PROF== Connected\"; echo \"$header\"; echo \"$units\"; echo \"$row\"; } > \"$log\"\n"
    "echo \"$options : $*\" >> \"$(dirname \"$log\")/calls\"\n";

TEST(Profiler, runsTheCommandOnceForEachGroup) {
    const TemporaryDirectory folder;
    const std::filesystem::path ncu = makeProfiler(folder, kCountsSeven);
    const auto runs = profile(ncu, {{"./program", "its", "words"}, {}, folder.path(), "VA", 60});
    ASSERT_EQ(runs.size(), metricGroups().size());
    const auto merged = metrics::mergeRuns(runs);
    ASSERT_EQ(merged.size(), 1u);
    for (const MetricGroup& group : metricGroups()) {
        for (const std::string& metric : group.metrics) EXPECT_EQ(merged[0].value(metric), 7) << metric;
        EXPECT_TRUE(std::filesystem::exists(folder / ("VA." + std::string(group.name) + ".csv")));
    }
    const std::string calls = readFile(folder / "calls");
    EXPECT_NE(calls.find("--cache-control none --clock-control none"), std::string::npos) << calls;
    EXPECT_NE(calls.find(": ./program its words\n"), std::string::npos) << calls;
}

TEST(Profiler, saysWhatNcuSaid) {
    const TemporaryDirectory folder;
    const std::filesystem::path ncu =
        makeProfiler(folder, "echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > \"$log\"\nexit 1\n");
    try {
        profile(ncu, {{"./program"}, {}, folder.path(), "VA", 60});
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("ERR_NVGPUCTRPERM"), std::string::npos) << error.what();
    }
}

TEST(Profiler, countsNoMetricTwice) {
    std::set<std::string> seen;
    for (const MetricGroup& group : metricGroups())
        for (const std::string& metric : group.metrics) EXPECT_TRUE(seen.insert(metric).second) << metric;
}

}  // namespace
}  // namespace bulkhead::correlate
