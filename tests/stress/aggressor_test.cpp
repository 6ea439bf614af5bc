// What aggressors say that they moved, against the simulated machine's own counters.

#include "stress/aggressor.h"

#include <gtest/gtest.h>

#include "driver/simulator_api.h"
#include "sim/gpu.h"
#include "stress/waiting.h"

namespace bulkhead::stress {
namespace {

struct Moved {
    AggressorReport said;
    sim::Counters counted;
};

/// Runs an aggressor on the second multiprocessor for a while.
Moved runFor(AggressorKind kind, double seconds) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:tx2");
    AggressorSpec spec;
    spec.kind = kind;
    spec.layout = {1, 16, {1}};
    Aggressor aggressor(gpu.context(), CacheShape::of(gpu), spec, mapSimulatedMemory(gpu.simulator()->profile().map));
    const auto launches = [&] {
        std::vector<sim::LaunchId> ids;
        driver::simulator().launches(&ids);
        return ids;
    };
    const std::size_t before = launches().size();
    aggressor.start(1);
    // Asking whether it still runs lets simulated time pass.
    for (const Deadline end(gpu.context(), seconds); !end.passed();) aggressor.ended();
    Moved moved;
    moved.said = aggressor.stop();
    const std::vector<sim::LaunchId> ids = launches();
    for (std::size_t i = before; i < ids.size(); ++i) moved.counted += gpu.simulator()->counters(ids[i]);
    return moved;
}

TEST(Aggressor, AStreamOfReadsComesFromDramByteForByte) {
    const Moved moved = runFor(AggressorKind::streamRead, 2e-4);
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_GT(said, 2e6);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesDram), said, 0.02 * said);
    EXPECT_LE(moved.said.bytesPerSecond(), 59.7e9);  // LPDDR4 of the TX2
}

TEST(Aggressor, AStreamOfWritesCrossesToL2ByteForByte) {
    const Moved moved = runFor(AggressorKind::streamWrite, 2e-4);
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_GT(said, 2e6);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesL2), said, 0.02 * said);
}

TEST(Aggressor, AChaseMovesASectorAnAccess) {
    const Moved moved = runFor(AggressorKind::evictRandom, 2e-4);
    EXPECT_EQ(moved.said.bytes, moved.said.accesses * 32);
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesL2), said, 0.05 * said);
}

TEST(Aggressor, AVisitMovesASectorAndItsEntryInTheList) {
    const Moved moved = runFor(AggressorKind::mapGuided, 2e-4);
    EXPECT_EQ(moved.said.bytes, moved.said.accesses * (32 + 4));
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesL2), said, 0.05 * said);
}

/// Memory of a GPU whose L2 has two sides, with a multiprocessor near each: pages are at home on them in turn.
class SidedMemory final : public MappedMemory {
  public:
    explicit SidedMemory(std::unique_ptr<MappedMemory> memory) : memory_(std::move(memory)) {}
    std::uint64_t base() const override { return memory_->base(); }
    Bytes bytes() const override { return memory_->bytes(); }
    const arch::AddressMap& map() const override { return memory_->map(); }
    arch::AddressMap::Location locate(std::uint64_t address) const override { return memory_->locate(address); }
    std::vector<std::uint8_t> sidesOfMultiprocessors() const override { return {0, 1}; }
    unsigned side(std::uint64_t address) const override { return (address >> 12) & 1; }

  private:
    std::unique_ptr<MappedMemory> memory_;
};

TEST(Aggressor, MapGuidedEvictionReadsAcrossTheSidesOfACache) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:tx2");
    const MapMemory plain = mapSimulatedMemory(gpu.simulator()->profile().map);
    const MapMemory sided = [&](gpu::Context& context, Bytes bytes) {
        return std::make_unique<SidedMemory>(plain(context, bytes));
    };
    AggressorSpec spec;
    spec.kind = AggressorKind::mapGuided;
    spec.layout = {2, 1, {0, 1}};
    Aggressor aggressor(gpu.context(), CacheShape::of(gpu), spec, sided);
    for (const std::uint64_t address : aggressor.ring()) ASSERT_EQ((address >> 12) & 1, 1u);
    aggressor.start(1);
    const AggressorReport report = aggressor.stop();
    EXPECT_EQ(report.multiprocessors, std::vector<unsigned>{0});
    EXPECT_GT(report.bytes, 0u);
}

TEST(Aggressor, ComputingTouchesNothingButTheFlag) {
    const Moved moved = runFor(AggressorKind::compute, 2e-4);
    EXPECT_EQ(moved.said.bytes, 0u);
    EXPECT_LT(moved.counted.bytesL2, 100000u);
}

}  // namespace
}  // namespace bulkhead::stress
