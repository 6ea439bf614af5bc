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
    Aggressor aggressor(gpu.context(), CacheShape::of(gpu), spec, {});
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

TEST(Aggressor, ComputingTouchesNothingButTheFlag) {
    const Moved moved = runFor(AggressorKind::compute, 2e-4);
    EXPECT_EQ(moved.said.bytes, 0u);
    EXPECT_LT(moved.counted.bytesL2, 100000u);
}

}  // namespace
}  // namespace bulkhead::stress
