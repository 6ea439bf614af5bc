// Every workload of the table, at test size, on every profile: its result equals its CPU reference.

#include <gtest/gtest.h>

#include "arch/device_profile.h"
#include "base/error.h"
#include "workloads/measure.h"

namespace bulkhead::workloads {
namespace {

using Case = std::tuple<std::string, std::string>;

class EveryWorkload : public ::testing::TestWithParam<Case> {};

TEST_P(EveryWorkload, EqualsItsReference) {
    const auto& [name, profile] = GetParam();
    gpu::Gpu gpu = gpu::Gpu::open("sim:" + profile);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(name).create(gpu.context(), Size::test, 7);
    const Measurement first = measure(gpu, stream, *instance);
    EXPECT_NO_THROW(instance->check());
    EXPECT_GT(first.counters.warpInstructions, 0u);
    EXPECT_GT(instance->footprint(), 0u);
}

class Repeated : public ::testing::TestWithParam<std::string> {};

TEST_P(Repeated, StartsFromTheSameInput) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(GetParam()).create(gpu.context(), Size::test, 7);
    const Measurement first = measure(gpu, stream, *instance);
    const Measurement second = measure(gpu, stream, *instance);
    EXPECT_NO_THROW(instance->check());
    // Who waits for a barrier in shared memory asks as often as it takes.
    const InferenceFigures figures = find(GetParam()).inference.value_or(InferenceFigures{});
    const auto expected = static_cast<double>(first.counters.warpInstructions);
    EXPECT_NEAR(static_cast<double>(second.counters.warpInstructions), expected,
                figures.tensorMaps ? 0.02 * expected : 0);
}

TEST_P(Repeated, EqualsItsReferenceAsAnAssemblerLeavesIt) {
    gpu::SimulationOptions options;
    options.settings = {"compiler.optimise=true"};
    gpu::Gpu gpu = gpu::Gpu::open("sim:h200", options);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(GetParam()).create(gpu.context(), Size::test, 7);
    instance->run(stream);
    stream.synchronize();
    EXPECT_NO_THROW(instance->check());
}

TEST_P(Repeated, IsCheckedForWhatItsLastRunComputed) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480");
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(GetParam()).create(gpu.context(), Size::test, 7);
    EXPECT_THROW(instance->check(), Error);
    for (int round = 0; round < 2; ++round) {
        instance->run(stream);
        stream.synchronize();
        EXPECT_NO_THROW(instance->check());
        EXPECT_THROW(instance->check(), Error);
    }
}

std::vector<std::string> names() {
    std::vector<std::string> list;
    for (const Workload& workload : all()) list.emplace_back(workload.name);
    return list;
}

std::vector<Case> cases() {
    std::vector<Case> list;
    for (const Workload& workload : all())
        for (const std::string& profile : arch::profileNames()) list.emplace_back(std::string(workload.name), profile);
    return list;
}

INSTANTIATE_TEST_SUITE_P(, EveryWorkload, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

/// On a GPU of a single SM that holds a single block, so that even small grids are many waves. Blocks that were timed,
/// of all of them.
std::pair<std::uint64_t, std::uint64_t> runSampled(const std::string& workload) {
    gpu::SimulationOptions options;
    options.settings = {"sm.count=1", "sm.maxBlocks=1"};
    options.timing = sim::Timing::sampled;
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx480", options);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(workload).create(gpu.context(), Size::test, 7);
    const Measurement m = measure(gpu, stream, *instance);
    EXPECT_NO_THROW(instance->check());
    return {m.sampled.timedBlocks, m.sampled.blocks};
}

TEST_P(Repeated, EqualsItsReferenceWhereSomeBlocksAreNotTimed) {
    const auto [timed, blocks] = runSampled(GetParam());
    EXPECT_LE(timed, blocks);
}

TEST_P(Repeated, EqualsItsReferenceWhereNothingIsTimed) {
    gpu::SimulationOptions options;
    options.timing = sim::Timing::functional;
    gpu::Gpu gpu = gpu::Gpu::open("sim:h200", options);
    gpu::Stream stream = gpu.context().createStream();
    const auto instance = find(GetParam()).create(gpu.context(), Size::test, 7);
    const Measurement m = measure(gpu, stream, *instance);
    EXPECT_NO_THROW(instance->check());
    EXPECT_EQ(m.sampled.timedBlocks, 0u);
    EXPECT_GT(m.counters.warpInstructions, 0u);
}

TEST(Workloads, OfLargeGridsMostBlocksAreNotTimed) {
    const auto [timed, blocks] = runSampled("2DCONV");
    EXPECT_LT(timed, blocks / 2);
}

INSTANTIATE_TEST_SUITE_P(, Repeated, ::testing::ValuesIn(names()), [](const auto& info) { return info.param; });

TEST(Workloads, AreFoundWhateverTheirCase) {
    for (const Workload& workload : all()) {
        std::string lower(workload.name);
        for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        EXPECT_EQ(&find(lower), &workload);
    }
}

TEST(Workloads, AMistypedNameIsSuggested) {
    try {
        find("ATAXX");
        FAIL();
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("did you mean ATAX?"), std::string::npos) << e.what();
    }
}

TEST(Workloads, HaveTheClassesOfTheCiaoPaper) {
    // Table II: 5 LWS, 8 SWS and 8 CI.
    std::map<std::string, int> count;
    for (const Workload& workload : all())
        if (workload.ciao) ++count[workload.ciao->workloadClass];
    EXPECT_EQ(count["LWS"], 5);
    EXPECT_EQ(count["SWS"], 8);
    EXPECT_EQ(count["CI"], 8);
}

}  // namespace
}  // namespace bulkhead::workloads
