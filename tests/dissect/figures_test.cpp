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

}  // namespace
}  // namespace bulkhead::dissect
