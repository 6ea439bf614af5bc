// Victims and aggressors together: placements, dials, and what becomes of runs that give no sample.

#include <gtest/gtest.h>

#include "base/error.h"
#include "corun/waiting.h"
#include "stress/stress.h"

namespace bulkhead::corun {
namespace {

ArenaSpec smallArena(const std::string& kind, Placement placement = Placement::streams) {
    ArenaSpec spec;
    spec.gpu = "sim:tx2";
    spec.placement = placement;
    spec.victim.name = "random";
    spec.victim.bytes = 32 * 1024;
    spec.victim.accesses = 1024;
    spec.aggressor.kind = kind;
    return spec;
}

Pairing measure(const ArenaSpec& spec, unsigned count = 1) {
    const std::unique_ptr<Arena> arena = makeArena(spec);
    return measurePairs(arena->victim(), arena->aggressor(), count);
}

class EveryAggressor : public ::testing::TestWithParam<AggressorType> {};

TEST_P(EveryAggressor, RunsAllTheWhileAndEnds) {
    const ArenaSpec spec = smallArena(std::string(GetParam().name));
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    const AggressorReport& report = pairing.pairs[0].aggressor;
    EXPECT_EQ(report.bytes > 0, std::string(GetParam().name) != "compute");
    EXPECT_EQ(report.multiprocessors, std::vector<unsigned>{1});
    EXPECT_EQ(pairing.pairs[0].together.multiprocessors, std::vector<unsigned>{0});
}

INSTANTIATE_TEST_SUITE_P(Stress, EveryAggressor, ::testing::ValuesIn(aggressors()), [](const auto& info) {
    std::string name(info.param.name);
    std::erase(name, '-');
    return name;
});

class EveryPlacement : public ::testing::TestWithParam<Placement> {};

TEST_P(EveryPlacement, GivesSamples) {
    const Pairing pairing = measure(smallArena("evict-random", GetParam()), 2);
    EXPECT_EQ(pairing.pairs.size(), 2u) << pairing.why;
    EXPECT_EQ(pairing.lost(), 0u);
    if (GetParam() == Placement::mps || GetParam() == Placement::green) {
        EXPECT_EQ(pairing.onDisjointMultiprocessors(), true);
    }
}

INSTANTIATE_TEST_SUITE_P(Stress, EveryPlacement, ::testing::ValuesIn(placements()),
                         [](const auto& info) { return std::string(placementName(info.param)); });

TEST(Arena, WorkloadsCanBeVictims) {
    ArenaSpec spec = smallArena("evict-random");
    spec.victim = VictimSpec();
    spec.victim.name = "ATAX";
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_GT(pairing.pairs[0].together.seconds, pairing.pairs[0].alone.seconds);
    EXPECT_EQ(pairing.pairs[0].alone.multiprocessors, (std::vector<unsigned>{0, 1}));
}

TEST(Arena, AWorkloadLosesToTimeSlicingWhatItWaitsForItsTurns) {
    for (const char* kind : {"compute", "evict-random"}) {
        ArenaSpec spec = smallArena(kind, Placement::processes);
        spec.victim = VictimSpec();
        spec.victim.name = "ATAX";
        const std::unique_ptr<Arena> arena = makeArena(spec);
        const Pairing pairing = measurePairs(arena->victim(), arena->aggressor(), 1);
        ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
        const Causes causes = arena->explain(pairing.pairs[0]).value();
        EXPECT_GT(causes.timeSlicing, 0.95 * causes.total());
        EXPECT_EQ(pairing.onDisjointMultiprocessors(), false);
    }
}

TEST(Arena, AWorkloadThatIsLeftFewerMultiprocessorsLosesToThat) {
    ArenaSpec spec = smallArena("compute");
    spec.victim = VictimSpec();
    spec.victim.name = "SYRK";
    const std::unique_ptr<Arena> arena = makeArena(spec);
    const Pairing pairing = measurePairs(arena->victim(), arena->aggressor(), 1);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_EQ(pairing.pairs[0].together.multiprocessors, std::vector<unsigned>{0});
    EXPECT_EQ(pairing.onDisjointMultiprocessors(), true);
    const Causes causes = arena->explain(pairing.pairs[0]).value();
    EXPECT_GT(causes.multiprocessors, 0.5 * causes.total());
    EXPECT_EQ(causes.bus, 0);
}

TEST(Arena, AVictimThatDoesNotEndInTimeIsNoSample) {
    ArenaSpec spec = smallArena("evict-random");
    spec.victim.limitSeconds = 1e-5;
    spec.victim.bytes = 8 * 1024 * 1024;  // prepared by a sweep
    const std::unique_ptr<Arena> arena = makeArena(spec);
    EXPECT_EQ(arena->victim().run(), std::nullopt);
    arena->victim().settle();
}

TEST(Arena, HalfTheDutyCycleMovesAboutHalfAsMuch) {
    const auto rate = [](unsigned duty) {
        ArenaSpec spec = smallArena("evict-random");
        spec.victim.accesses = 4096;
        spec.aggressor.dutyPercent = duty;
        const Pairing pairing = measure(spec);
        return pairing.pairs.at(0).aggressor.bytesPerSecond();
    };
    EXPECT_NEAR(rate(50) / rate(100), 0.55, 0.15);  // a little more: fewer are in each other's way
}

TEST(Arena, ARateIsKept) {
    for (const char* kind : {"evict-random", "stream-read-write"}) {
        ArenaSpec spec = smallArena(kind);
        spec.victim.accesses = 4096;
        spec.aggressor.layout = {1, 8, {}};
        spec.aggressor.gigabytesPerSecond = 0.5;
        const Pairing pairing = measure(spec);
        ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
        EXPECT_NEAR(pairing.pairs[0].aggressor.bytesPerSecond(), 0.5e9, 0.06e9) << kind;
    }
}

/// Seconds that a latency victim loses for each byte that the aggressor moves.
double harmPerByte(const std::string& kind, double gigabytesPerSecond) {
    ArenaSpec spec = smallArena(kind);
    spec.victim.name = "latency";
    spec.victim.bytes = 0;
    spec.victim.accesses = gigabytesPerSecond > 0 ? 2048 : 1024;
    spec.aggressor.gigabytesPerSecond = gigabytesPerSecond;
    const Pair pair = measure(spec).pairs.at(0);
    const double moved = pair.aggressor.bytesPerSecond() * pair.together.seconds;
    return (pair.together.seconds - pair.alone.seconds) / moved;
}

/// At a rate in GB/s; 0: as fast as it can.
class MapGuidedEviction : public ::testing::TestWithParam<double> {};

TEST_P(MapGuidedEviction, HurtsMorePerByteThanAnyNaiveAggressor) {
    const double guided = harmPerByte("map-guided", GetParam());
    for (const AggressorType& naive : aggressors()) {
        if (naive.needsMap || naive.name == "compute") continue;
        EXPECT_GT(guided, harmPerByte(std::string(naive.name), GetParam())) << naive.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Stress, MapGuidedEviction, ::testing::Values(0.5, 2, 0), [](const auto& info) {
    return info.param == 0 ? std::string("unlimited") : std::to_string(static_cast<int>(info.param * 1000)) + "MBps";
});

TEST(Arena, AnotherAggressorTakesTheFirstOnesPlace) {
    const std::unique_ptr<Arena> arena = makeArena(smallArena("compute"));
    EXPECT_EQ(measurePairs(arena->victim(), arena->aggressor(), 1).pairs.at(0).aggressor.bytes, 0u);
    AggressorSpec other;
    other.kind = "evict-random";
    arena->setAggressor(other);
    const Pairing pairing = measurePairs(arena->victim(), arena->aggressor(), 1);
    EXPECT_GT(pairing.pairs.at(0).aggressor.bytes, 0u);
    EXPECT_EQ(pairing.onDisjointMultiprocessors(), true);
}

TEST(Arena, HotSetsAreFoundInAnotherContextsMemory) {
    // Small enough to leave most sets alone; pages of both contexts lie where the machine put them.
    const Pairing pairing = measure(smallArena("hot-sets", Placement::mps));
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    const Pair& pair = pairing.pairs[0];
    EXPECT_GT(pair.together.counters.l2Misses, pair.alone.counters.l2Misses + 100);
}

TEST(Arena, VictimAndAggressorMeetOnAMultiprocessorIfTheyMay) {
    ArenaSpec spec = smallArena("stream-read");
    spec.shareMultiprocessors = true;
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_EQ(pairing.pairs[0].aggressor.multiprocessors, (std::vector<unsigned>{0, 1}));
    EXPECT_EQ(pairing.onDisjointMultiprocessors(), false);
}

TEST(Arena, AnAggressorUsesAsManyMultiprocessorsAsItIsTold) {
    ArenaSpec spec = smallArena("evict-random");
    spec.gpu = "sim:gtx1080";
    spec.aggressor.multiprocessors = 3;
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_EQ(pairing.pairs[0].aggressor.multiprocessors, (std::vector<unsigned>{1, 2, 3}));
    spec.aggressor.multiprocessors = 20;  // of 20, one is the victim's
    EXPECT_THROW(makeArena(spec), Error);
    spec.aggressor.multiprocessors = 3;
    spec.placement = Placement::green;
    EXPECT_THROW(makeArena(spec), Error);
}

TEST(Arena, BlocksThatDoNotFitAreRefused) {
    ArenaSpec spec = smallArena("compute");
    spec.aggressor.layout = {3, 32, {1}};  // an SM holds 64 warps
    EXPECT_THROW(makeArena(spec), Error);
}

TEST(Arena, BadDialsAreRefused) {
    ArenaSpec spec = smallArena("compute");
    spec.aggressor.dutyPercent = 0;
    EXPECT_THROW(makeArena(spec), Error);
    spec = smallArena("evict-random");
    spec.aggressor.lanes = 33;
    EXPECT_THROW(makeArena(spec), Error);
    EXPECT_THROW(findAggressor("evict-rondom"), Error);
    EXPECT_THROW(parsePlacement("nowhere"), Error);
}

TEST(Arena, TargetsThatDoNotExistAreRefused) {
    ArenaSpec spec = smallArena("slice");
    spec.aggressor.target = 2;  // there are two
    EXPECT_THROW(makeArena(spec), Error);
}

}  // namespace
}  // namespace bulkhead::corun
