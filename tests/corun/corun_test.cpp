// Victims and aggressors together: ways of sharing, dials, and what becomes of runs that give no sample.

#include <gtest/gtest.h>

#include "base/error.h"
#include "corun/waiting.h"
#include "stress/stress.h"

namespace bulkhead::corun {

static void PrintTo(const AggressorType& type, std::ostream* out) {
    *out << type.name;
}
static void PrintTo(const SharingWay& way, std::ostream* out) {
    *out << way.name;
}

namespace {

PairSpec smallPair(const std::string& kind, const std::string& sharing = "streams") {
    PairSpec spec;
    spec.gpu = "sim:tx2";
    spec.sharing = sharing;
    spec.victim.name = "random";
    spec.victim.bytes = 32 * 1024;
    spec.victim.accesses = 1024;
    spec.aggressor.kind = kind;
    return spec;
}

Pairing measure(const PairSpec& spec, unsigned count = 1) {
    const std::unique_ptr<CoRun> coRun = makeCoRun(coRunOf(spec));
    return measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), count);
}

class EveryAggressor : public ::testing::TestWithParam<AggressorType> {};

TEST_P(EveryAggressor, RunsAllTheWhileAndEnds) {
    PairSpec spec = smallPair(std::string(GetParam().name));
    spec.settings = {"l1.cachesGlobal=true"};  // which one of them is about
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    const ActorReport& report = pairing.pairs[0].aggressor;
    EXPECT_EQ(report.bytes > 0, std::string(GetParam().name) != "compute");
    EXPECT_EQ(report.sms, GetParam().kernel ? std::vector<unsigned>{1} : std::vector<unsigned>{});
    EXPECT_EQ(pairing.pairs[0].together.sms, std::vector<unsigned>{0});
}

INSTANTIATE_TEST_SUITE_P(Stress, EveryAggressor, ::testing::ValuesIn(aggressors()), [](const auto& info) {
    std::string name(info.param.name);
    std::erase(name, '-');
    return name;
});

class EveryWayOfSharing : public ::testing::TestWithParam<SharingWay> {};

TEST_P(EveryWayOfSharing, GivesSamplesOnSmsOfTheirOwnUnlessTheyTakeTurns) {
    CoRunSpec spec = coRunOf(smallPair("evict-random"));
    spec.gpu = "sim:gtx1080";  // with colors for two
    spec.settings = {"sm.count=4", "sharing.quantumUs=100", "sharing.switchUs=10"};
    spec.sharing.way = GetParam().name;
    const std::unique_ptr<CoRun> coRun = makeCoRun(spec);
    const Pairing pairing = measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 2);
    EXPECT_EQ(pairing.pairs.size(), 2u) << pairing.why;
    EXPECT_EQ(pairing.lost(), 0u);
    EXPECT_EQ(pairing.onDisjointSms(), !GetParam().timeSliced);
}

INSTANTIATE_TEST_SUITE_P(Stress, EveryWayOfSharing, ::testing::ValuesIn(sharingWays()), [](const auto& info) {
    std::string name(info.param.name);
    std::erase(name, '-');
    return name;
});

TEST(CoRun, MemoryWallsKeepOutWhatComputeWallsLetThrough) {
    const auto slowdown = [](const char* way) {
        CoRunSpec spec = coRunOf(smallPair("map-guided"));
        spec.gpu = "sim:gtx1080";
        spec.sharing.way = way;
        const std::unique_ptr<CoRun> coRun = makeCoRun(spec);
        const Pair measured = measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 1).pairs.at(0);
        return measured.together.seconds / measured.alone.seconds;
    };
    EXPECT_GT(slowdown("compute-walls"), 1.5);
    EXPECT_NEAR(slowdown("walls"), 1, 0.01);
}

TEST(CoRun, WorkloadsCanBeVictims) {
    PairSpec spec = smallPair("evict-random");
    spec.victim = VictimSpec();
    spec.victim.name = "ATAX";
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_GT(pairing.pairs[0].together.seconds, pairing.pairs[0].alone.seconds);
    EXPECT_EQ(pairing.pairs[0].alone.sms, (std::vector<unsigned>{0, 1}));
}

TEST(CoRun, AWorkloadIsLeftTheSmsThatAnAggressorDoesNotFill) {
    PairSpec spec = smallPair("compute");
    spec.victim = VictimSpec();
    spec.victim.name = "SYRK";
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_EQ(pairing.pairs[0].together.sms, std::vector<unsigned>{0});
    EXPECT_EQ(pairing.onDisjointSms(), true);
}

TEST(CoRun, AVictimThatDoesNotEndInTimeIsNoSample) {
    PairSpec spec = smallPair("evict-random");
    spec.victim.limitSeconds = 1e-5;
    spec.victim.bytes = 8 * 1024 * 1024;  // prepared by a sweep
    const std::unique_ptr<CoRun> coRun = makeCoRun(coRunOf(spec));
    EXPECT_EQ(coRun->actor(kVictim).run(), std::nullopt);
    coRun->actor(kVictim).settle();
}

TEST(CoRun, HalfTheDutyCycleMovesAboutHalfAsMuch) {
    const auto rate = [](unsigned duty) {
        PairSpec spec = smallPair("evict-random");
        spec.victim.accesses = 4096;
        spec.aggressor.dutyPercent = duty;
        const Pairing pairing = measure(spec);
        return pairing.pairs.at(0).aggressor.bytesPerSecond();
    };
    EXPECT_NEAR(rate(50) / rate(100), 0.55, 0.15);  // a little more: fewer are in each other's way
}

TEST(CoRun, ARateIsKept) {
    for (const char* kind : {"evict-random", "stream-read-write"}) {
        PairSpec spec = smallPair(kind);
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
    PairSpec spec = smallPair(kind);
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
        if (naive.needsMap || !naive.kernel || naive.name == "compute" || naive.name == "fill-l1") continue;
        EXPECT_GT(guided, harmPerByte(std::string(naive.name), GetParam())) << naive.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Stress, MapGuidedEviction, ::testing::Values(0.5, 2, 0), [](const auto& info) {
    return info.param == 0 ? std::string("unlimited") : std::to_string(static_cast<int>(info.param * 1000)) + "MBps";
});

TEST(CoRun, AnotherAggressorTakesTheFirstOnesPlace) {
    const std::unique_ptr<CoRun> coRun = makeCoRun(coRunOf(smallPair("compute")));
    EXPECT_EQ(measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 1).pairs.at(0).aggressor.bytes, 0u);
    AggressorSpec other;
    other.kind = "evict-random";
    coRun->replace(kAggressor, actorOf(other));
    const Pairing pairing = measurePairs(coRun->actor(kVictim), coRun->actor(kAggressor), 1);
    EXPECT_GT(pairing.pairs.at(0).aggressor.bytes, 0u);
    EXPECT_EQ(pairing.onDisjointSms(), true);
}

TEST(CoRun, HotSetsAreFoundInAnotherContextsMemory) {
    // Small enough to leave most sets alone; pages of both contexts lie where the machine put them.
    const Pairing pairing = measure(smallPair("hot-sets", "mps"));
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    const Pair& pair = pairing.pairs[0];
    EXPECT_GT(pair.together.counters.l2Misses, pair.alone.counters.l2Misses + 100);
}

TEST(CoRun, VictimAndAggressorMeetOnASmIfTheyMay) {
    PairSpec spec = smallPair("stream-read");
    spec.shareSms = true;
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_EQ(pairing.pairs[0].aggressor.sms, (std::vector<unsigned>{0, 1}));
    EXPECT_EQ(pairing.onDisjointSms(), false);
}

TEST(CoRun, AnAggressorUsesAsManySmsAsItIsTold) {
    PairSpec spec = smallPair("evict-random");
    spec.gpu = "sim:gtx1080";
    spec.aggressor.sms = 3;
    const Pairing pairing = measure(spec);
    ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
    EXPECT_EQ(pairing.pairs[0].aggressor.sms, (std::vector<unsigned>{1, 2, 3}));
    spec.aggressor.sms = 20;  // of 20, one is the victim's
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
    spec.aggressor.sms = 3;
    spec.sharing = "green";
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
}

TEST(CoRun, BlocksThatDoNotFitAreRefused) {
    PairSpec spec = smallPair("compute");
    spec.aggressor.layout = {3, 32, {1}};  // an SM holds 64 warps
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
}

TEST(CoRun, BadDialsAreRefused) {
    PairSpec spec = smallPair("compute");
    spec.aggressor.dutyPercent = 0;
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
    spec = smallPair("evict-random");
    spec.aggressor.lanes = 33;
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
    EXPECT_THROW(findAggressor("evict-rondom"), Error);
    EXPECT_THROW(findSharing("nowhere"), Error);
}

// A TX2's host and GPU share their memory, and copies take 10 GB/s or so; a GTX 1080's come over PCIe 3.0 x16.
TEST(CoRun, CopiesMoveNoMoreThanTheirLinkDoesAndSlowAStream) {
    for (const char* kind : {"copy-in", "copy-out"}) {
        PairSpec spec = smallPair(kind);
        spec.gpu = "sim:gtx1080";
        spec.victim.name = "bandwidth";
        spec.victim.bytes = 16 * 1024 * 1024;
        spec.victim.accesses = 1024 * 1024;
        const Pairing pairing = measure(spec);
        ASSERT_EQ(pairing.pairs.size(), 1u) << pairing.why;
        const Pair& pair = pairing.pairs[0];
        EXPECT_GT(pair.together.seconds, 1.005 * pair.alone.seconds) << kind;
        EXPECT_GT(pair.aggressor.bytes, 4u << 20) << kind;
        EXPECT_LE(pair.aggressor.bytesPerSecond(), 15.75e9) << kind;
        EXPECT_GT(pair.aggressor.bytesPerSecond(), 5e9) << kind;
    }
}

TEST(CoRun, CopiesHaveNoDials) {
    PairSpec spec = smallPair("copy-in");
    spec.aggressor.gigabytesPerSecond = 1;
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
    spec = smallPair("copy-out");
    spec.aggressor.dutyPercent = 50;
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
}

// A workload whose lines an L1D of 48 KB holds, beside one block on its SM.
TEST(CoRun, OneWhoFillsL1CostsHitsThere) {
    const auto misses = [](const char* kind) {
        PairSpec spec = smallPair(kind);
        spec.gpu = "sim:gtx480";
        spec.settings = {"sm.count=1", "l1.bytes=49152", "sm.onChipBytes=98304"};
        spec.shareSms = true;
        spec.victim.name = "SYRK";
        spec.victim.size = "test";
        spec.aggressor.layout = {1, 8, {}};
        const Pair pair = measure(spec).pairs.at(0);
        return static_cast<double>(pair.together.counters.l1Misses) / static_cast<double>(pair.alone.counters.l1Misses);
    };
    EXPECT_GT(misses("fill-l1"), 1.1 * misses("compute"));  // which takes the same room of blocks
}

TEST(CoRun, L1IsNotFilledWhereItCachesNothing) {
    EXPECT_THROW(makeCoRun(coRunOf(smallPair("fill-l1"))), Error);  // of a TX2
}

TEST(CoRun, TargetsThatDoNotExistAreRefused) {
    PairSpec spec = smallPair("slice");
    spec.aggressor.target = 2;  // there are two
    EXPECT_THROW(makeCoRun(coRunOf(spec)), Error);
}

}  // namespace
}  // namespace bulkhead::corun
