#include "metrics/ncu_csv.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "metrics/metric_table.h"

namespace bulkhead::metrics {
namespace {

/// As `ncu --csv --page raw` prints it.
const char* const kTwoLaunches =
    "==PROF== Connected to process 2352 (/usr/bin/program)\n"
    "\"quoted\" by the program, before any header\n"
    "==PROF== Profiling \"vectorAdd\": 0%....50%....100% - 1 pass\n"
    "==PROF== Disconnected from process 2352\n"
    R"~("ID","Process Name","Kernel Name","Block Size","Grid Size","device__attribute_display_name","dram__bytes.sum","gpc__cycles_elapsed.max","gpu__time_duration.sum","sm__warps_active.avg.per_cycle_active")~"
    "\n"
    R"~("","","","","","","Mbyte","cycle","us","warp")~"
    "\n"
    R"~("0","program","vectorAdd(const float *, float *)","(256, 1, 1)","(64, 1, 1)","NVIDIA H200","1.5","32,439","16.448","46.74")~"
    "\r\n"
    R"~("1","program","he said ""k""","(32, 1, 1)","(1, 1, 1)","NVIDIA H200","0","1,234,567","700","n/a")~"
    "\n"
    "the program's last words\n";

std::vector<LaunchRow> readOne(const std::string& text) {
    const auto runs = readNcuCsv(text, "file");
    EXPECT_EQ(runs.size(), 1u);
    return runs.front();
}

TEST(NcuCsv, unitsAndSeparatorsAreObeyed) {
    const std::vector<LaunchRow> rows = readOne(kTwoLaunches);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].kernel, "vectorAdd(const float *, float *)");
    EXPECT_EQ(rows[0].grid, "(64, 1, 1)");
    EXPECT_EQ(rows[0].block, "(256, 1, 1)");
    EXPECT_EQ(rows[0].process, "program");
    EXPECT_DOUBLE_EQ(*rows[0].value("dram__bytes.sum"), 1'500'000);
    EXPECT_DOUBLE_EQ(*rows[0].value("gpc__cycles_elapsed.max"), 32'439);
    EXPECT_DOUBLE_EQ(*rows[0].value("gpu__time_duration.sum"), 16.448e-6);
    EXPECT_DOUBLE_EQ(*rows[1].value("gpc__cycles_elapsed.max"), 1'234'567);
    EXPECT_DOUBLE_EQ(*rows[1].value("gpu__time_duration.sum"), 0.0007);
}

TEST(NcuCsv, whatWasNotCountedIsMissing) {
    const std::vector<LaunchRow> rows = readOne(kTwoLaunches);
    EXPECT_DOUBLE_EQ(*rows[0].value("sm__warps_active.avg.per_cycle_active"), 46.74);
    EXPECT_FALSE(rows[1].value("sm__warps_active.avg.per_cycle_active"));
    EXPECT_FALSE(rows[0].value("device__attribute_display_name"));
    EXPECT_EQ(rows[1].kernel, "he said \"k\"");
}

TEST(NcuCsv, aSecondHeaderBeginsAnotherRun) {
    const auto runs = readNcuCsv(std::string(kTwoLaunches) + kTwoLaunches, "file");
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[1].size(), 2u);
}

TEST(NcuCsv, instancesBehindANumberAreLeftOut) {
    const auto rows = readOne(
        "\"ID\",\"Kernel Name\",\"dram__bytes.sum\"\n\"\",\"\",\"byte\"\n"
        "\"0\",\"k\",\"3,072 (1024; 2048)\"\n");
    EXPECT_DOUBLE_EQ(*rows[0].value("dram__bytes.sum"), 3072);
}

void expectRefused(const std::string& text, const std::string& part) {
    try {
        readNcuCsv(text, "f.csv");
        ADD_FAILURE() << text;
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        EXPECT_TRUE(std::string(error.what()).starts_with("f.csv")) << error.what();
    }
}

TEST(NcuCsv, whatIsNoPageIsRefusedWithItsLine) {
    const std::string header = "\"ID\",\"Kernel Name\",\"dram__bytes.sum\"\n\"\",\"\",\"byte\"\n";
    expectRefused("", "no header");
    expectRefused("==PROF== nothing\n", "no header");
    expectRefused(header + "\"0\",\"k\"\n", "line 3: has 2 fields, but its header 3");
    expectRefused(header + "\"0\",\"k\",\"much\"\n", "line 3: dram__bytes.sum is 'much'");
    expectRefused(header + "\"0\",\"k\",\"1,2\"\n", "'1,2'");
    expectRefused(header + "\"0\",\"k\",\"1,2345\"\n", "'1,2345'");
    expectRefused(header + "\"0\",\"k\",\"1\n", "line 3: a quotation mark");
    expectRefused(header + "\"0\",\"\",\"1\"\n", "line 3: has no Kernel Name");
}

LaunchRow rowWith(const std::string& kernel, std::map<std::string, double, std::less<>> values) {
    return {"", kernel, "", "", std::move(values)};
}

TEST(NcuCsv, runsAreMergedByKernelAndOrder) {
    // The second run counted k's launches alone, and one fewer; the first run's cycles stay.
    const auto merged =
        mergeRuns({{rowWith("k(int)", {{"c", 1}}), rowWith("other", {{"c", 2}}), rowWith("k(int)", {{"c", 3}})},
                   {rowWith("k", {{"c", 10}, {"d", 11}})}});
    ASSERT_EQ(merged.size(), 3u);
    EXPECT_EQ(merged[0].value("c"), 1);
    EXPECT_EQ(merged[0].value("d"), 11);
    EXPECT_FALSE(merged[1].value("d"));
    EXPECT_EQ(merged[2].value("c"), 3);
    EXPECT_FALSE(merged[2].value("d"));
}

TEST(NcuCsv, whatIsWrittenIsReadAgain) {
    const std::vector<LaunchRow> rows = {
        {"bulkhead",
         "scale<(int)2>(float *)",
         "(64, 2, 1)",
         "(256, 1, 1)",
         {{"gpu__time_duration.sum", 1.5e-6}, {"gpc__cycles_elapsed.max", 2100}, {"dram__bytes.sum", 4096}}},
        {"bulkhead", "a \"quoted\" name", "", "", {{"gpc__cycles_elapsed.max", 7}}}};
    const std::string text = ncuCsv(rows);
    // The unit of time is Nsight Compute's.
    EXPECT_NE(text.find("\"1500\""), std::string::npos) << text;
    const std::vector<LaunchRow> again = readOne(text);
    ASSERT_EQ(again.size(), 2u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(again[i].kernel, rows[i].kernel);
        EXPECT_EQ(again[i].grid, rows[i].grid);
        EXPECT_EQ(again[i].block, rows[i].block);
        ASSERT_EQ(again[i].values.size(), rows[i].values.size());
        for (const auto& [name, value] : rows[i].values) EXPECT_DOUBLE_EQ(*again[i].value(name), value);
    }
}

TEST(Metrics, everyOneHasANameOfItsOwnAndADefinition) {
    std::map<std::string_view, int> seen;
    for (const Metric& metric : metricTable()) {
        EXPECT_EQ(++seen[metric.name], 1) << metric.name;
        EXPECT_FALSE(metric.definition.empty()) << metric.name;
        EXPECT_EQ(findMetric(metric.name), &metric);
    }
    EXPECT_EQ(findMetric("no__such.sum"), nullptr);
}

TEST(Metrics, aLaunchBecomesARow) {
    arch::DeviceProfile profile = arch::findProfile("gtx480");
    SimulatedLaunch launch{"k", "(2, 1, 1)", "(64, 1, 1)", 1401, {}};
    launch.counters.warpInstructions = 40;
    launch.counters.bytesDram = 4096;
    profile.clock.coreMHz = 1401;
    const LaunchRow row = rowOf(launch, profile);
    EXPECT_DOUBLE_EQ(*row.value(names::kCycles), 1401);
    EXPECT_DOUBLE_EQ(*row.value(names::kTime), 1e-6);
    EXPECT_DOUBLE_EQ(*row.value(names::kInstructions), 40);
    EXPECT_DOUBLE_EQ(*row.value(names::kDramBytes), 4096);
}

}  // namespace
}  // namespace bulkhead::metrics
