// What walls cost and what they keep out, as isolate cost measures it.

#include "evaluation/cost/cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "cost_kernels.ptx.h"
#include "driver/simulator_api.h"
#include "evaluation/cost/memory_kernels.h"
#include "sim/machine.h"
#include "temporary_directory.h"

namespace bulkhead::evaluation::cost {

static void PrintTo(const Measurement& measurement, std::ostream* out) {
    *out << measurement.name;
}

namespace {

/// The cells of a column by those of another one.
std::map<std::string, double> column(const Result& result, const std::string& by, const std::string& name) {
    const auto find = [&](const std::string& wanted) {
        for (std::size_t i = 0; i < result.columns.size(); ++i)
            if (result.columns[i].name == wanted) return i;
        throw Error("no column {}", wanted);
    };
    std::map<std::string, double> cells;
    for (const auto& row : result.rows) {
        const Value& key = row[find(by)];
        const auto* text = std::get_if<std::string>(&key);
        cells[text ? *text : std::to_string(std::get<std::int64_t>(key))] = std::get<double>(row[find(name)]);
    }
    return cells;
}

Result measured(const CostSpec& spec, const std::string& name) {
    CostReport report = measureCost(spec, {name});
    EXPECT_TRUE(report.failures.empty()) << report.failures.front();
    return report.results.at(0);
}

// Few SMs take less time.

CostSpec pagesOfAGtx1080() {
    CostSpec spec;
    spec.settings = {"sm.count=8"};
    spec.megabytes = 1;
    return spec;
}

CostSpec sidesOfAnH200() {
    CostSpec spec;
    spec.gpu = "sim:h200";
    spec.settings = {"sm.count=8"};
    spec.coloring = "sides";
    return spec;
}

class EveryMeasurement : public ::testing::TestWithParam<Measurement> {};

TEST_P(EveryMeasurement, GivesPlausibleRows) {
    CostSpec spec = GetParam().expect == expectSides ? sidesOfAnH200() : pagesOfAGtx1080();
    spec.workloads = {"VA"};
    const Result result = measured(spec, std::string(GetParam().name));
    EXPECT_FALSE(result.rows.empty());
    for (const auto& row : result.rows)
        for (const Value& cell : row)
            if (const auto* number = std::get_if<double>(&cell)) {
                EXPECT_TRUE(std::isfinite(*number));
            }
}

INSTANTIATE_TEST_SUITE_P(Cost, EveryMeasurement, ::testing::ValuesIn(measurements()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Cost, LaunchesAreTimedByTheSimulatedClock) {
    const Result first = measured(pagesOfAGtx1080(), "launches"), again = measured(pagesOfAGtx1080(), "launches");
    EXPECT_EQ(first.rows, again.rows);
    // Eight SMs hold eight blocks of 256 threads each: 256 empty blocks take longer than one.
    const auto plain = column(first, "blocks", "plain, waited for"),
               walled = column(first, "blocks", "walled, waited for");
    ASSERT_EQ(plain.size(), 4u);
    EXPECT_GT(plain.at("256"), plain.at("1"));
    for (const auto& [blocks, us] : plain) EXPECT_GT(walled.at(blocks), us) << blocks;
}

TEST(Cost, ARateIsBytesOverTheTimeThatTheMachineCounts) {
    Bench bench(pagesOfAGtx1080());
    TimedContext timed(bench, bench.gpu().context());
    timed.context().makeCurrent();
    driver::simulatorApi().keepLaunches(true);
    MemoryKernel kernel(timed, memoryKernels().front());
    EXPECT_DOUBLE_EQ(kernel.bytes(), 3.0 * (1 << 20));  // two arrays of a MB are read, one is written
    const double rate = kernel.rate();
    timed.context().makeCurrent();
    driver::CUdevice device = 0;
    timed.context().api().cuCtxGetDevice(&device);
    std::vector<sim::LaunchId> launches;
    driver::simulatorApi().launches(&launches);
    const sim::Machine& machine = *driver::simulatorApi().machine(device);
    const sim::LaunchRecord& record = machine.record(launches.back());
    EXPECT_NEAR(rate, 3.0 * (1 << 20) / machine.seconds(record.ended - record.submitted) * 1e-9, 0.01 * rate);
}

TEST(Cost, TenantsBehindBothWallsAddUpToWhatEachMakesAlone) {
    const Result result = measured(pagesOfAGtx1080(), "bandwidth");
    for (const char* kernel : {"vectorAdd", "saxpy", "stencil"}) {
        const auto at = [&](const char* name) { return column(result, "kernel", name).at(kernel); };
        EXPECT_LE(at("one, compute walls"), 1.01 * at("whole GPU, no walls")) << kernel;
        EXPECT_LE(at("one, both walls"), 1.01 * at("one, compute walls")) << kernel;
        EXPECT_LE(at("all, compute walls"), 2.02 * at("one, compute walls")) << kernel;
        EXPECT_NEAR(at("all, both walls"), 2 * at("one, both walls"), 0.1 * at("all, both walls")) << kernel;
    }
}

TEST(Cost, MemoryWallsKeepStreamsFromAVictimAndComputeWallsDoNot) {
    const Result result = measured(pagesOfAGtx1080(), "latency");
    ASSERT_EQ(result.rows.size(), 4u);
    for (const auto& row : result.rows) {
        const bool both = std::get<std::string>(row[0]) == "compute and memory";
        const double alone = std::get<double>(row[2]), beside = std::get<double>(row[3]);
        EXPECT_NEAR(std::get<double>(row[4]), 100 * (beside / alone - 1), 1e-9);
        EXPECT_GT(std::get<double>(row[5]), 1) << "GB/s of the aggressors";
        if (both) {
            EXPECT_NEAR(beside, alone, 0.01 * alone);
        } else {
            EXPECT_GT(beside, 1.1 * alone);
        }
    }
}

TEST(Cost, AggressorsBehindTranslatedMemoryCanBeStopped) {
    const Result result = measured(sidesOfAnH200(), "latency");
    for (const auto& row : result.rows)
        if (std::get<std::string>(row[0]) == "compute and memory") {
            EXPECT_LT(std::get<double>(row[4]), 2) << std::get<std::string>(row[1]);
        }
}

TEST(Cost, NoSampledAddressHasAnotherTenantsColor) {
    const Result result = measured(pagesOfAGtx1080(), "sample");
    ASSERT_EQ(result.rows.size(), 2u);
    for (const auto& row : result.rows) EXPECT_EQ(std::get<std::int64_t>(row[2]), 0);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    std::size_t count = 0;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()), ++count)
        text.replace(at, from.size(), to);
    if (count == 0) throw Error("the kernels have no {}", from);
    return text;
}

TEST(Cost, KernelsThatComputeSomethingElseAreFound) {
    const TemporaryDirectory folder;
    CostSpec spec = pagesOfAGtx1080();
    spec.ptx = (folder / "wrong.ptx").string();
    writeFile(spec.ptx, replaced(kCostKernelsPtx, "add.f32", "sub.f32"));
    const CostReport report = measureCost(spec, {"views"});
    ASSERT_EQ(report.results.size(), 1u);
    for (const auto& row : report.results[0].rows) EXPECT_EQ(std::get<std::string>(row[3]), "wrong");
    EXPECT_EQ(report.failures.size(), 2u);

    Bench bench(spec);
    TimedContext timed(bench, bench.gpu().context());
    for (const MemoryKernelType& type : memoryKernels()) MemoryKernel(timed, type).check();
    ASSERT_EQ(bench.failures().size(), 2u);  // saxpy multiplies and adds in one instruction
    EXPECT_EQ(bench.failures()[0].find("vectorAdd[1] is 0, the reference has 2"), 0u) << bench.failures()[0];
    EXPECT_EQ(bench.failures()[1].find("stencil["), 0u) << bench.failures()[1];
}

TEST(Cost, AControlThatWorksOnOtherMemoryIsFound) {
    const TemporaryDirectory folder;
    CostSpec spec = sidesOfAnH200();
    spec.ptx = (folder / "elsewhere.ptx").string();
    writeFile(spec.ptx, replaced(kCostKernelsPtx, "popc.b32", "not.b32"));
    const CostReport report = measureCost(spec, {"translation"});
    ASSERT_FALSE(report.failures.empty());
    EXPECT_EQ(report.failures.front().find("without translation: "), 0u) << report.failures.front();
}

void expectRefused(const CostSpec& spec, const std::string& measurement, const std::string& why) {
    try {
        measureCost(spec, {measurement});
        ADD_FAILURE() << why;
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
}

TEST(Cost, WhatCannotBeMeasuredIsRefusedBeforeAnythingIs) {
    CostSpec spec;
    expectRefused(spec, "bandwith", "did you mean bandwidth");
    expectRefused(spec, "translation", "choose --coloring sides");
    spec.coloring = "sides";
    expectRefused(spec, "launches", "has one side");
    spec.coloring = "slices";
    expectRefused(spec, "launches", "--map FILE");
    spec.coloring = "rainbow";
    expectRefused(spec, "launches", "there are usual, pages, sides and slices");
    spec = {};
    spec.placement = "somewhere";
    expectRefused(spec, "launches", "choose usual, blocks or driver");
    spec = {};
    spec.map = BULKHEAD_SOURCE_DIR "/results/h200/dissect.json";
    expectRefused(spec, "launches", "is a map of NVIDIA H200, but sim:gtx1080 is");
    spec = {};
    spec.megabytes = 2048;
    expectRefused(spec, "bandwidth", "3 arrays of 2048 MB do not fit into the 4096 MB of a partition");
    spec = {};
    spec.partitions = 1;
    expectRefused(spec, "latency", "2 or more");
    spec = {};
    spec.workloads = {"MMM"};
    expectRefused(spec, "workloads", "MMM");
    spec = sidesOfAnH200();
    spec.megabytes = 3;
    expectRefused(spec, "translation", "2, 4, 8 MB and so on, not 3");
}

}  // namespace
}  // namespace bulkhead::evaluation::cost
