// CIAO's detection of interference and its decisions, on the paper's own small examples.

#include <gtest/gtest.h>

#include "harness.h"
#include "sim/interference_matrix.h"
#include "sim/sim_context.h"
#include "sim/sm/ciao.h"
#include "sim/sm/interference_list.h"
#include "sim/sm/pair_list.h"
#include "sim/sm/victim_tag_array.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::profileWith;

// ---- victim tag array

TEST(VictimTagArray, saysWhoPushedOutALineThatComesBack) {
    VictimTagArray vta(48, 8);
    vta.insert(3, 100, 7);
    EXPECT_EQ(vta.probe(7, 100), VictimTagArray::kNobody);  // not its own
    EXPECT_EQ(vta.probe(3, 101), VictimTagArray::kNobody);
    EXPECT_EQ(vta.probe(3, 100), 7u);
    EXPECT_EQ(vta.probe(3, 100), VictimTagArray::kNobody);  // it is in the cache again
}

TEST(VictimTagArray, forgetsTheOldestOfEightTags) {
    VictimTagArray vta(48, 8);
    for (std::uint64_t line = 0; line < 9; ++line) vta.insert(0, line, 1);
    EXPECT_EQ(vta.probe(0, 0), VictimTagArray::kNobody);
    for (std::uint64_t line = 1; line < 9; ++line) EXPECT_EQ(vta.probe(0, line), 1u) << line;
}

TEST(VictimTagArray, warpsHaveSetsOfTheirOwn) {
    VictimTagArray vta(48, 8);
    vta.insert(47, 5, 0);
    for (std::uint64_t line = 0; line < 100; ++line) vta.insert(46, line, 1);
    EXPECT_EQ(vta.probe(47, 5), 0u);
}

// ---- Figure 4c

TEST(InterferenceList, walksTheCounterOfFigure4c) {
    InterferenceList list(48, 2);
    EXPECT_EQ(list[34].warp, InterferenceList::kNobody);
    list.record(34, 32);
    EXPECT_EQ(list[34].warp, 32);
    EXPECT_EQ(list[34].counter, 0b00);
    for (int i = 0; i < 5; ++i) list.record(34, 32);
    EXPECT_EQ(list[34].counter, 0b11);  // saturated
    list.record(34, 42);
    EXPECT_EQ(list[34].warp, 32);
    EXPECT_EQ(list[34].counter, 0b10);
    list.record(34, 32);
    EXPECT_EQ(list[34].counter, 0b11);
}

TEST(InterferenceList, replacesTheWarpWhenItsCounterIsDownToZero) {
    InterferenceList list(48, 2);
    for (int i = 0; i < 3; ++i) list.record(34, 32);
    EXPECT_EQ(list[34].counter, 0b10);
    list.record(34, 42);
    EXPECT_EQ(list[34].warp, 32);
    list.record(34, 41);
    EXPECT_EQ(list[34].warp, 41);
    EXPECT_EQ(list[34].counter, 0b00);
    list.record(34, 42);
    EXPECT_EQ(list[34].warp, 42);
    EXPECT_EQ(list[33].warp, InterferenceList::kNobody);
}

// ---- equation 1

TEST(InterferenceDetector, scoresAreVtaHitsOverTheInstructionsOfAWarp) {
    InterferenceDetector detector(8, 2, 48);
    for (std::uint64_t line = 0; line < 3; ++line) {
        detector.observe({CacheEvent::Kind::eviction, 9, 4, line});
        detector.observe({CacheEvent::Kind::miss, 4, 4, line});
    }
    detector.executed(4800);
    // IRS = 3 / (4800 / 48) = 0.03, and 3 / (4800 / 16) = 0.01.
    EXPECT_TRUE(detector.scoreExceeds(29'999, 4, 48));
    EXPECT_FALSE(detector.scoreExceeds(30'000, 4, 48));
    EXPECT_TRUE(detector.scoreExceeds(9'999, 4, 16));
    EXPECT_FALSE(detector.scoreExceeds(10'000, 4, 16));
    EXPECT_FALSE(detector.scoreExceeds(0, 9, 48));
    EXPECT_EQ(detector.mostInterfering(4), 9u);
    detector.kernelStarted();
    EXPECT_EQ(detector.vtaHits(4), 0u);
}

TEST(InterferenceDetector, aWarpDoesNotInterfereWithItself) {
    InterferenceDetector detector(8, 2, 48);
    detector.observe({CacheEvent::Kind::eviction, 4, 4, 1});
    detector.observe({CacheEvent::Kind::miss, 4, 4, 1});
    EXPECT_EQ(detector.vtaHits(4), 0u);
}

// ---- the scheduler, fed by hand

/// An SM of a few warps in which only what the test says happens. Epochs of 100 and 10 warp instructions.
struct Bench {
    explicit Bench(Ciao::Means means, std::uint32_t warps = 4, const std::string& scores = "warps")
        : profile(profileWith("gtx480", {"ciao.instructions=warps", "ciao.scores=" + scores, "ciao.highEpoch=100",
                                         "ciao.lowEpoch=10"})),
          shared(profile),
          sim(shared),
          ciao({1, 48, &sim}, means) {
        for (std::uint32_t warp = 0; warp < warps; ++warp) ciao.warpStarted(warp, warp);
    }
    /// `by` pushes out a line of `warp`, which wants it back.
    void interfere(std::uint32_t warp, std::uint32_t by, int times = 1) {
        for (int i = 0; i < times; ++i, ++line) {
            ciao.observe({CacheEvent::Kind::eviction, by, warp, line});
            ciao.observe({CacheEvent::Kind::miss, warp, warp, line});
        }
    }
    void issue(std::uint32_t warp, int instructions) {
        for (int i = 0; i < instructions; ++i) ciao.issued(warp, 32);
    }
    bool isolated(std::uint32_t warp) { return ciao.route(warp) == Route::sharedCache; }
    bool stalled(std::uint32_t warp) const { return !(ciao.allowed() >> warp & 1); }

    arch::DeviceProfile profile;
    SimShared shared;
    Simulation sim;
    Ciao ciao;
    std::uint64_t line = 0;
};
constexpr Ciao::Means kT{.isolation = false, .throttling = true}, kP{.isolation = true, .throttling = false},
    kC{.isolation = true, .throttling = true};

TEST(Ciao, figure5IsolatesAndRedirectsBack) {
    Bench sm(kC);
    sm.issue(0, 100);
    for (std::uint32_t warp = 0; warp < 4; ++warp) EXPECT_FALSE(sm.isolated(warp));  // 5a
    sm.interfere(0, 2, 4);
    sm.interfere(1, 3, 4);
    sm.issue(0, 100);
    sm.issue(1, 100);
    EXPECT_TRUE(sm.isolated(2));  // 5b
    EXPECT_TRUE(sm.isolated(3));
    EXPECT_FALSE(sm.isolated(0));
    EXPECT_EQ(sm.ciao.pairs()[2].isolatedFor, 0);
    EXPECT_EQ(sm.ciao.pairs()[3].isolatedFor, 1);
    // IRS_0 = 4 hits x 4 warps / 3200 instructions is the low cut-off of 0.005.
    sm.issue(2, 2890);
    EXPECT_TRUE(sm.isolated(2));
    sm.issue(2, 10);
    EXPECT_FALSE(sm.isolated(2));  // 5c
    EXPECT_EQ(sm.ciao.pairs()[2].isolatedFor, PairList::kNobody);
    EXPECT_TRUE(sm.isolated(3));  // not at the front yet
    sm.issue(3, 10);
    EXPECT_FALSE(sm.isolated(3));
    EXPECT_EQ(sm.ciao.allowed(), ~WarpMask{0});
}

TEST(Ciao, figure5StallsAnIsolatedWarpAndReactivatesItWhenAnotherEnds) {
    Bench sm(kC);
    sm.interfere(0, 2, 4);
    sm.interfere(1, 3, 4);
    sm.issue(0, 100);
    sm.issue(1, 100);
    ASSERT_TRUE(sm.isolated(2) && sm.isolated(3));
    sm.interfere(3, 2, 4);  // 5d: both thrash shared memory
    sm.issue(3, 100);
    EXPECT_TRUE(sm.stalled(2));  // 5e
    EXPECT_EQ(sm.ciao.pairs()[2].stalledFor, 3);
    EXPECT_TRUE(sm.isolated(2));
    EXPECT_FALSE(sm.stalled(3));
    sm.ciao.warpFinished(3);
    sm.issue(1, 10);
    EXPECT_FALSE(sm.stalled(2));  // 5f
    EXPECT_EQ(sm.ciao.pairs()[2].stalledFor, PairList::kNobody);
    EXPECT_TRUE(sm.isolated(2));  // reactivated into shared memory
}

TEST(Ciao, figure6RecordsWhoTriggeredInBothFields) {
    Bench sm(kC);
    sm.interfere(0, 3, 1);
    sm.issue(0, 100);  // W3 works in shared memory
    ASSERT_TRUE(sm.isolated(3));
    sm.interfere(0, 1, 8);
    sm.issue(0, 100);
    EXPECT_TRUE(sm.isolated(1));
    EXPECT_EQ(sm.ciao.pairs()[1].isolatedFor, 0);
    EXPECT_EQ(sm.ciao.pairs()[1].stalledFor, PairList::kNobody);
    sm.interfere(3, 1, 8);
    sm.issue(3, 100);
    EXPECT_TRUE(sm.stalled(1));
    EXPECT_EQ(sm.ciao.pairs()[1].isolatedFor, 0);
    EXPECT_EQ(sm.ciao.pairs()[1].stalledFor, 3);
    // IRS_3 and IRS_0 fall as instructions go by: first it is reactivated, then it is redirected.
    sm.issue(2, 20000);
    EXPECT_FALSE(sm.stalled(1));
    EXPECT_EQ(sm.ciao.pairs()[1].stalledFor, PairList::kNobody);
    EXPECT_EQ(sm.ciao.pairs()[1].isolatedFor, 0);
    sm.issue(1, 10);
    EXPECT_FALSE(sm.isolated(1));
    EXPECT_EQ(sm.ciao.pairs()[1].isolatedFor, PairList::kNobody);
}

TEST(Ciao, onlyTheFrontWarpIsExaminedAndOnlyAtTheEndOfAnEpoch) {
    Bench sm(kP);
    sm.interfere(0, 2, 4);
    sm.issue(0, 99);
    EXPECT_FALSE(sm.isolated(2));
    sm.issue(1, 1);  // W1 is at the front, and does not suffer
    EXPECT_FALSE(sm.isolated(2));
    sm.issue(1, 99);
    sm.issue(0, 1);
    EXPECT_TRUE(sm.isolated(2));
}

TEST(Ciao, aScoreAtTheHighCutoffIsNotAboveIt) {
    // One hit of four warps in 400 instructions: IRS = 0.01.
    Bench at(kP), above(kP);
    at.issue(1, 300);
    at.interfere(0, 2);
    at.issue(0, 100);
    EXPECT_FALSE(at.isolated(2));
    above.issue(1, 200);
    above.interfere(0, 2);
    above.issue(0, 100);
    EXPECT_TRUE(above.isolated(2));
}

TEST(Ciao, scoresMayCountThreads) {
    // Three hits of four warps in 3200 instructions of threads: IRS = 0.00375, of warps 0.12.
    Bench warps(kP), threads(kP, 4, "threads");
    for (Bench* sm : {&warps, &threads}) {
        sm->interfere(0, 2, 3);
        sm->issue(0, 100);
    }
    EXPECT_TRUE(warps.isolated(2));
    EXPECT_FALSE(threads.isolated(2));
    threads.interfere(0, 2, 14);  // 17 x 4 / 6400
    threads.issue(0, 100);
    EXPECT_TRUE(threads.isolated(2));
}

TEST(Ciao, tStallsAtOnceAndReactivatesInReverseOrder) {
    Bench sm(kT);
    sm.interfere(0, 2, 4);
    sm.issue(0, 100);
    sm.interfere(0, 3, 8);
    sm.issue(0, 100);
    EXPECT_TRUE(sm.stalled(2) && sm.stalled(3));
    EXPECT_FALSE(sm.isolated(2));
    // Both were stalled for W0. When it ends, the last one comes back first, one at the end of each low epoch.
    sm.ciao.warpFinished(0);
    sm.issue(1, 10);
    EXPECT_TRUE(sm.stalled(2));
    EXPECT_FALSE(sm.stalled(3));
    sm.issue(1, 10);
    EXPECT_FALSE(sm.stalled(2));
}

TEST(Ciao, aStalledWarpDoesNotWaitForOneThatWasStalledLater) {
    Bench sm(kT);
    sm.interfere(0, 2, 4);
    sm.issue(0, 100);
    sm.interfere(1, 3, 8);
    sm.issue(1, 100);
    ASSERT_TRUE(sm.stalled(2) && sm.stalled(3));
    sm.ciao.warpFinished(0);
    sm.issue(1, 10);
    EXPECT_FALSE(sm.stalled(2));  // it was stalled for W0
    EXPECT_TRUE(sm.stalled(3));   // IRS_1 = 8 hits x 1 warp / 210 instructions
}

TEST(Ciao, cStallsNobodyForAWarpThatUsesL1D) {
    Bench sm(kC);
    sm.interfere(0, 2, 4);
    sm.issue(0, 100);
    ASSERT_TRUE(sm.isolated(2));
    sm.issue(0, 100);  // what W0 lost to W2 is past: they no longer share a cache
    EXPECT_FALSE(sm.stalled(2));
    sm.interfere(1, 0, 4);
    sm.issue(1, 100);
    ASSERT_TRUE(sm.isolated(0));
    sm.interfere(0, 2, 4);
    sm.issue(0, 100);
    EXPECT_TRUE(sm.stalled(2));
}

TEST(Ciao, pNeverStalls) {
    Bench sm(kP);
    sm.interfere(0, 2, 50);
    sm.issue(0, 100);
    sm.interfere(0, 2, 50);
    sm.issue(0, 100);
    EXPECT_TRUE(sm.isolated(2));
    EXPECT_EQ(sm.ciao.allowed(), ~WarpMask{0});
}

TEST(Ciao, aWarpThatTheOthersAwaitAtABarrierIsNotLeftStalled) {
    Bench sm(kT, 3);
    sm.interfere(0, 2, 4);
    sm.issue(0, 100);
    ASSERT_TRUE(sm.stalled(2));
    sm.ciao.warpWaits(0);
    EXPECT_TRUE(sm.stalled(2));
    sm.ciao.warpWaits(1);
    EXPECT_FALSE(sm.stalled(2));
}

TEST(Ciao, theLastWarpIsNotLeftStalled) {
    Bench sm(kT, 2);
    sm.interfere(0, 1, 4);
    sm.issue(0, 100);
    ASSERT_TRUE(sm.stalled(1));
    sm.ciao.warpFinished(0);
    EXPECT_FALSE(sm.stalled(1));
}

TEST(Ciao, aNewWarpInASlotBeginsActive) {
    Bench sm(kC);
    sm.interfere(0, 2, 4);
    sm.issue(0, 100);
    ASSERT_TRUE(sm.isolated(2));
    sm.ciao.warpFinished(2);
    sm.ciao.warpStarted(2, 10);
    EXPECT_FALSE(sm.isolated(2));
    EXPECT_EQ(sm.ciao.pairs()[2].isolatedFor, PairList::kNobody);
}

// ---- Figure 3a, on an SM

TEST(Thrashing, figure3aWarpsThatShareASetLoseTheirLinesToEachOther) {
    // An L1D of four sets and one way: D0 and D4, four lines apart, share set 0. W0 and W1 take turns at a barrier.
    const std::string body =
        "mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5; mul.wide.u32 %rd4, %r1, 512; add.s64 %rd4, %rd1, %rd4;\n"
        "mov.u32 %r2, 0;\n"
        "loop: and.b32 %r3, %r2, 1; setp.ne.s32 %p1, %r3, %r1;\n"
        "@!%p1 ld.global.u32 %r4, [%rd4];\n"
        "@!%p1 add.s32 %r5, %r5, %r4;\n"
        "bar.sync 0;\n"
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, 8; @%p2 bra loop;\n";
    const std::vector<std::string> tiny = {"l1.bytes=512", "l1.ways=1", "l1.setHash=linear", "sm.onChipBytes=49664"};
    const arch::DeviceProfile profile = profileWith("gtx480", tiny);
    InterferenceMatrix matrix(profile);
    Machine::Options options;
    options.observer = &matrix;
    Harness h("gtx480", tiny, options);
    const LaunchId launch = h.run(kernelText(body), {{1}, {64}}, {h.buffer(1024)});
    ASSERT_FALSE(h.gpu.record(launch).error);
    // Four loads each, none of which hits; each but the first of a warp would have, had the other not been there.
    EXPECT_EQ(h.gpu.counters(launch).l1Hits, 0u);
    EXPECT_EQ(h.gpu.counters(launch).l1Misses, 8u);
    EXPECT_EQ(h.gpu.counters(launch).l1Evictions, 7u);
    EXPECT_EQ(matrix.hits(0, 0, 1), 3u);
    EXPECT_EQ(matrix.hits(0, 1, 0), 3u);
    EXPECT_EQ(matrix.total(), 6u);
}

}  // namespace
}  // namespace bulkhead::sim
