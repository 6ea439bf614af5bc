// What aggressors say that they moved, against the simulated machine's own counters.

#include "corun/aggressor.h"

#include <gtest/gtest.h>

#include "arch/device_profile.h"
#include "base/error.h"
#include "corun/waiting.h"
#include "gpu/launch_log.h"

namespace bulkhead::corun {
namespace {

struct Moved {
    ActorReport said;
    sim::Counters counted;
};

/// Runs an aggressor on the second SM for a while.
Moved runFor(const std::string& kind, double seconds, const std::vector<std::string>& settings = {}) {
    gpu::SimulationOptions options;
    options.settings = settings;
    gpu::Gpu gpu = gpu::Gpu::open("sim:tx2", options);
    AggressorSpec spec;
    spec.kind = kind;
    spec.layout = {1, 16, {1}};
    Aggressor aggressor(gpu.context(), CacheGeometry::of(gpu), spec, mapByPhysicalAddress(gpu.profile()->map));
    gpu::LaunchLog log(gpu, gpu.context());
    aggressor.start(1);
    // Asking whether it still runs lets simulated time pass.
    for (const Deadline end(gpu.context(), seconds); !end.passed();) aggressor.ended();
    Moved moved;
    moved.said = aggressor.stop();
    for (const gpu::Launch& launch : log.launches()) moved.counted += launch.counters;
    return moved;
}

TEST(Aggressor, AStreamOfReadsComesFromDramByteForByte) {
    const Moved moved = runFor("stream-read", 2e-4);
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_GT(said, 2e6);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesDram), said, 0.02 * said);
    EXPECT_LE(moved.said.bytesPerSecond(), 59.7e9);  // LPDDR4 of the TX2
}

// An L1D of 192 KB holds a third more than the 64 KB of shared memory: after the first round L2 sees nothing of it.
TEST(Aggressor, FillsL1AndLeavesL2AloneWhereItFits) {
    const Moved moved = runFor("fill-l1", 1e-3, {"l1.cachesGlobal=true", "l1.bytes=196608"});
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_GT(said, 2e6);
    const auto hits = static_cast<double>(moved.counted.l1Hits), misses = static_cast<double>(moved.counted.l1Misses);
    EXPECT_GT(hits / (hits + misses), 0.8);  // looks at the stop flag miss
    EXPECT_LT(static_cast<double>(moved.counted.bytesL2), 0.2 * said);
}

TEST(Aggressor, AStreamOfWritesCrossesToL2ByteForByte) {
    const Moved moved = runFor("stream-write", 2e-4);
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_GT(said, 2e6);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesL2), said, 0.02 * said);
}

TEST(Aggressor, AChaseMovesASectorAnAccess) {
    const Moved moved = runFor("evict-random", 2e-4);
    EXPECT_EQ(moved.said.bytes, moved.said.accesses * 32);
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesL2), said, 0.05 * said);
}

TEST(Aggressor, AVisitMovesASectorAndItsEntryInTheList) {
    const Moved moved = runFor("map-guided", 2e-4);
    EXPECT_EQ(moved.said.bytes, moved.said.accesses * (32 + 4));
    const auto said = static_cast<double>(moved.said.bytes);
    EXPECT_NEAR(static_cast<double>(moved.counted.bytesL2), said, 0.05 * said);
}

/// Memory of a GPU whose L2 has two sides: pages are at home on them in turn.
class SidedMemory final : public MappedMemory {
  public:
    SidedMemory(std::unique_ptr<MappedMemory> memory, std::vector<std::uint8_t> sides)
        : memory_(std::move(memory)), sides_(std::move(sides)) {}
    std::uint64_t base() const override { return memory_->base(); }
    Bytes bytes() const override { return memory_->bytes(); }
    const arch::AddressMap& map() const override { return memory_->map(); }
    arch::AddressMap::Location locate(std::uint64_t address) const override { return memory_->locate(address); }
    std::vector<std::uint8_t> sidesOfSms() const override { return sides_; }
    unsigned side(std::uint64_t address) const override { return (address >> 12) & 1; }

  private:
    std::unique_ptr<MappedMemory> memory_;
    std::vector<std::uint8_t> sides_;
};

/// The side of the lines that map-guided eviction reads, and the SMs that do, given which may.
std::pair<unsigned, std::vector<unsigned>> readAcross(std::vector<std::uint8_t> sides, std::vector<unsigned> own) {
    gpu::SimulationOptions options;
    options.settings = {"sm.count=" + std::to_string(sides.size())};
    gpu::Gpu gpu = gpu::Gpu::open("sim:tx2", options);
    const MapMemory plain = mapByPhysicalAddress(gpu.profile()->map);
    const MapMemory sided = [&](gpu::Context& context, Bytes bytes) {
        return std::make_unique<SidedMemory>(plain(context, bytes), sides);
    };
    AggressorSpec spec;
    spec.kind = "map-guided";
    spec.layout = {static_cast<unsigned>(own.size()), 1, own};
    Aggressor aggressor(gpu.context(), CacheGeometry::of(gpu), spec, sided);
    const unsigned side = (aggressor.ring().at(0) >> 12) & 1;
    for (const std::uint64_t address : aggressor.ring()) EXPECT_EQ((address >> 12) & 1, side);
    aggressor.start(1);
    const ActorReport report = aggressor.stop();
    EXPECT_GT(report.bytes, 0u);
    return {side, report.sms};
}

using Across = std::pair<unsigned, std::vector<unsigned>>;

TEST(Aggressor, MapGuidedEvictionReadsFromTheSideWithMoreOfItsSmsWhatIsAtHomeOnTheOther) {
    EXPECT_EQ(readAcross({0, 1, 1}, {0, 1, 2}), (Across{0, {1, 2}}));
    EXPECT_EQ(readAcross({0, 1, 1, 0}, {0, 1, 3}), (Across{1, {0, 3}}));
}

TEST(Aggressor, BanksThatAMapDoesNotKnowAreRefused) {
    gpu::Gpu gpu = gpu::Gpu::open("sim:tx2");
    arch::AddressMap::Roles roles = gpu.profile()->map.roles();
    roles.bank.clear();
    AggressorSpec spec;
    spec.kind = "bank";
    EXPECT_THROW(Aggressor(gpu.context(), CacheGeometry::of(gpu), spec, mapByPhysicalAddress(arch::AddressMap(roles))),
                 Error);
}

TEST(Aggressor, ComputingTouchesNothingButTheFlag) {
    const Moved moved = runFor("compute", 2e-4);
    EXPECT_EQ(moved.said.bytes, 0u);
    EXPECT_LT(moved.counted.bytesL2, 100000u);
}

}  // namespace
}  // namespace bulkhead::corun
