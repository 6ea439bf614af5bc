#include "dissect/figures.h"

#include <gtest/gtest.h>

#include "arch/device_profile.h"
#include "dissect/memory_view.h"
#include "dissect/slice_latencies.h"
#include "hidden_maps.h"
#include "temporary_directory.h"

namespace bulkhead::dissect {
namespace {

// Slices 0 to 2 are on one side and 3 to 5 on the other, and a far atomic takes the profile's far latency longer.
TEST(Figures, EverySmIsNearToTheSlicesOfOneSide) {
    const TemporaryDirectory directory;
    const std::string name = writeResidueMap((directory / "residue.json").string(), 3, 1);
    const arch::DeviceProfile profile = arch::findProfile(name);
    gpu::Gpu gpu = gpu::Gpu::open(name);
    Probe probe(gpu);
    const MemoryView memory(gpu, 1_GiB);
    Random random(1);
    std::vector<std::uint64_t> lines(profile.map.slices(), 0);
    while (std::count(lines.begin(), lines.end(), 0) != 0) {
        const arch::PhysicalAddress at = memory.random(random, 128);
        lines[profile.map.locate(at).slice] = *memory.reach(at);
    }
    const Result r = latencyTable(timeSlices(probe, lines));
    ASSERT_EQ(r.rows.size(), 16 * lines.size());
    ASSERT_EQ(r.charts.size(), 1);
    EXPECT_EQ(r.charts[0].kind, Chart::Kind::heatmap);
    const auto latency = [&](std::size_t sm, std::size_t slice) {
        return static_cast<double>(std::get<std::int64_t>(r.rows[sm * lines.size() + slice][2]));
    };
    int nearFirst = 0;
    for (std::size_t sm = 0; sm < 16; ++sm) {
        const auto half = static_cast<double>(profile.l2.halfLatency), far = static_cast<double>(profile.l2.farLatency);
        for (std::size_t slice : {1, 2}) EXPECT_NEAR(latency(sm, slice), latency(sm, 0), half + 2);
        EXPECT_NEAR(std::abs(latency(sm, 3) - latency(sm, 0)), far, half + 2);
        nearFirst += latency(sm, 0) < latency(sm, 3) ? 1 : 0;
    }
    EXPECT_EQ(nearFirst, 8);
}

TEST(Figures, SlicesByAddressHasARowForEachKilobyteAndLeavesUnknownOnesEmpty) {
    const Result r = slicesByAddress(8_KiB, 16_KiB, [](std::uint64_t offset) {
        return offset == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(offset >> 10));
    });
    ASSERT_EQ(r.rows.size(), 16);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(r.rows[0][2]));
    for (std::int64_t kb = 1; kb < 16; ++kb) {
        EXPECT_EQ(std::get<std::int64_t>(r.rows[static_cast<std::size_t>(kb)][0]), kb / 8);
        EXPECT_EQ(std::get<std::int64_t>(r.rows[static_cast<std::size_t>(kb)][1]), kb % 8);
        EXPECT_EQ(std::get<std::int64_t>(r.rows[static_cast<std::size_t>(kb)][2]), kb);
    }
}

TEST(LatencyPlan, GroupsWhatIsNearAndColorsByWhatWasMeasured) {
    // Two sides: even SMs and slices on one, odd ones on the other; 300 cycles within, 500 across.
    SliceLatencies latencies;
    for (unsigned sm = 0; sm < 6; ++sm) {
        latencies.sms.push_back(2 * sm);  // not all were asked
        Times& row = latencies.cycles.emplace_back();
        for (unsigned slice = 0; slice < 4; ++slice) row.push_back(sm % 2 == slice % 2 ? 300 : 500);
    }
    const std::optional<Result> plan = latencyPlan(latencies);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->rows.size(), 10u);
    ASSERT_EQ(plan->charts.size(), 1u);
    EXPECT_EQ(plan->charts.front().kind, Chart::Kind::floorplan);
    for (std::size_t i = 0; i < 10; ++i) {
        const std::vector<Value>& row = plan->rows[i];
        const bool isSm = i < 6, even = (isSm ? i : i - 6) % 2 == 0;
        EXPECT_EQ(row[1], Value(std::string(even ? "near " : "far from ") + (isSm ? "slice 0" : "SM 0"))) << i;
        EXPECT_EQ(row[2], Value(std::int64_t(isSm ? 2 * i : i - 6)));
        EXPECT_EQ(row[3], Value(even ? 300.0 : 500.0));
        EXPECT_EQ(row[4], Value(400.0));
    }
    EXPECT_EQ(plan->answer, "3 of 6 SMs are near to slice 0 and 3 far from it.");
}

TEST(LatencyPlan, IsNoneWhereAllAreEquallyFar) {
    EXPECT_FALSE(latencyPlan({{0, 1}, {{300, 300}, {300, 300}}}));
}

}  // namespace
}  // namespace bulkhead::dissect
