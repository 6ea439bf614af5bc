// The rivals of CIAO by themselves, and all of them on a kernel that thrashes L1D.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "harness.h"
#include "sim/sim_context.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

std::string messageOf(const std::string& scheduler) {
    try {
        findScheduler(scheduler);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

TEST(FindScheduler, takesTheNumberOfWarpsBehindAColon) {
    EXPECT_EQ(findScheduler("best-swl:6").limit, 6);
    EXPECT_EQ(findScheduler("statpcal:48").policy->name, "statpcal");
    EXPECT_EQ(findScheduler("ciao-c").policy->name, "ciao-c");
}

TEST(FindScheduler, refusesANumberThatIsMissingOrWrong) {
    EXPECT_EQ(messageOf("best-swl"), "scheduler 'best-swl' needs a number of warps, as in best-swl:4");
    for (const char* bad : {"best-swl:", "best-swl:0", "best-swl:65", "best-swl:4x", "statpcal:-1"})
        EXPECT_NE(messageOf(bad).find("must be from 1 to 64"), std::string::npos) << bad;
    EXPECT_EQ(messageOf("gto:3"), "scheduler 'gto:3' takes no number: write gto");
}

// ---- Best-SWL

TEST(BestSwl, letsTheOldestRunAndPassesPlacesOn) {
    const auto swl = findScheduler("best-swl:2").make({1, 8});
    swl->warpStarted(5, 0);
    swl->warpStarted(1, 1);
    swl->warpStarted(2, 2);
    swl->warpStarted(0, 3);
    EXPECT_EQ(swl->allowed(), bitOf(5) | bitOf(1));
    swl->warpFinished(5);
    EXPECT_EQ(swl->allowed(), bitOf(1) | bitOf(2));
    swl->warpWaits(1);  // at a barrier
    EXPECT_EQ(swl->allowed(), bitOf(2) | bitOf(0));
    swl->warpResumes(1);
    EXPECT_EQ(swl->allowed(), bitOf(1) | bitOf(2));
}

TEST(BestSwl, dividesThePlacesAmongTheSchedulers) {
    // Slots 0, 2 and 4 belong to the first of two schedulers, and are all older than 1, 3 and 5.
    const auto allowedUnder = [](const char* name) {
        const auto swl = findScheduler(name).make({2, 8});
        std::uint64_t age = 0;
        for (std::uint32_t slot : {0, 2, 4, 1, 3, 5}) swl->warpStarted(slot, age++);
        return swl->allowed();
    };
    EXPECT_EQ(allowedUnder("best-swl:4"), bitOf(0) | bitOf(2) | bitOf(1) | bitOf(3));
    EXPECT_EQ(allowedUnder("best-swl:3"), bitOf(0) | bitOf(2) | bitOf(1));
    EXPECT_EQ(allowedUnder("best-swl:1"), bitOf(0) | bitOf(1));  // a scheduler without a place would never issue
}

// ---- CCWS

struct CcwsBench {
    CcwsBench()
        : profile(arch::findProfile("gtx480")),
          shared(profile),
          sim(shared),
          ccws(findScheduler("ccws").make({1, 48, &sim})) {
        for (std::uint32_t warp = 0; warp < 48; ++warp) ccws->warpStarted(warp, warp);
        for (int i = 0; i < 4800; ++i) ccws->issued(0, 32);
    }
    void lose(std::uint32_t warp) {
        ccws->observe({CacheEvent::Kind::eviction, warp + 1, warp, 77});
        ccws->observe({CacheEvent::Kind::miss, warp, warp, 77});
    }
    void advanceTo(Cycles now) {
        sim.advanceTo(now);
        if (now >= ccws->due()) ccws->advance(now);
    }
    arch::DeviceProfile profile;
    SimShared shared;
    Simulation sim;
    std::unique_ptr<WarpScheduler> ccws;
};

TEST(Ccws, holdsTheYoungestWarpsFromMemoryWhileAnOldScoreIsHigh) {
    CcwsBench b;
    EXPECT_EQ(b.ccws->heldFromMemory(), 0u);
    // 50 hits in 4800 instructions of 48 warps: LLDS = 50 x 8 x 4800 / 4800 = 400, 300 above the base. The sum is
    // over by as much, and three warps of 100 no longer fit.
    for (int i = 0; i < 50; ++i) b.lose(20);
    b.advanceTo(1000);
    EXPECT_EQ(b.ccws->heldFromMemory(), 0u);  // it was hit at cycle 0: 400 points are gone by now
    b.lose(20);
    b.advanceTo(1032);  // 51 hits: 408, less 32 of decay
    EXPECT_EQ(b.ccws->heldFromMemory(), bitOf(45) | bitOf(46) | bitOf(47));
    EXPECT_EQ(b.ccws->allowed(), ~WarpMask{0});
}

TEST(Ccws, scoresFallByOneACycleToTheBase) {
    CcwsBench b;
    for (int i = 0; i < 50; ++i) b.lose(20);
    b.advanceTo(32);  // 400 - 32: 268 above the base
    EXPECT_EQ(std::popcount(b.ccws->heldFromMemory()), 3);
    for (const auto& [now, held] :
         std::vector<std::pair<Cycles, int>>{{99, 3}, {100, 2}, {199, 2}, {200, 1}, {300, 0}}) {
        b.advanceTo(now);
        // Rankings are an interval apart: what is due earlier comes with the next.
        b.ccws->advance(now);
        EXPECT_EQ(std::popcount(b.ccws->heldFromMemory()), held) << now;
    }
}

TEST(Ccws, aLineThatItPushedOutItselfIsLostLocalityToo) {
    CcwsBench b;
    for (int i = 0; i < 100; ++i) {
        b.ccws->observe({CacheEvent::Kind::eviction, 3, 3, 5});
        b.ccws->observe({CacheEvent::Kind::miss, 3, 3, 5});
    }
    b.advanceTo(32);
    EXPECT_NE(b.ccws->heldFromMemory(), 0u);
}

// ---- on an SM

/// A thread a row of 128 words: lanes lie a line's multiple apart, so each load takes 32 lines, which serve the next
/// 31 loads if they stay.
std::string rowSums() {
    return kernelText(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r1, %r2, %r3, %r1;\n"
        "mul.wide.u32 %rd4, %r1, 512; add.s64 %rd4, %rd1, %rd4; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd5, %rd2, %rd5;\n"
        "mov.u32 %r6, 0;\n"
        "loop: ld.global.u32 %r8, [%rd4]; add.s32 %r9, %r9, %r8; add.s64 %rd4, %rd4, 4;\n"
        "add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 128; @%p1 bra loop;\n"
        "st.global.u32 [%rd5], %r9;\n");
}

class Activity final : public Observer {
  public:
    Cycles sampleInterval() const override { return 100; }
    void sampleSm(Cycles, std::uint32_t, const SmSample& sample) override {
        most = std::max(most, sample.activeWarps);
        least = std::min(least, sample.residentWarps == 48 ? sample.activeWarps : least);
        mostIsolated = std::max(mostIsolated, sample.isolatedWarps);
    }
    std::uint32_t most = 0, least = 48, mostIsolated = 0;
};

struct Outcome {
    Cycles cycles = 0;
    Counters counters;
    Activity activity;
    double hitRate() const { return ratio(counters.l1Hits, counters.l1Misses); }
};

void sumRows(Outcome& outcome, const std::string& scheduler, std::vector<std::string> settings = {}) {
    constexpr std::uint32_t kThreads = 1536;  // one SM's
    settings.emplace_back("sm.count=1");
    Machine::Options options;
    options.scheduler = scheduler;
    options.observer = &outcome.activity;
    Harness h("gtx480", settings, options);
    const VirtualAddress a = h.buffer(kThreads * 512), b = h.buffer(kThreads * 4);
    for (std::uint32_t i = 0; i < kThreads * 128; ++i) h.data<std::uint32_t>(a, kThreads * 128)[i] = i;
    const LaunchId launch = h.run(rowSums(), {{6}, {256}}, {a, b});
    const LaunchRecord& record = h.gpu.record(launch);
    ASSERT_FALSE(record.error);
    for (std::uint32_t row = 0; row < kThreads; ++row)
        ASSERT_EQ(h.data<std::uint32_t>(b, kThreads)[row], row * 128 * 128 + 127 * 128 / 2) << row;
    outcome.cycles = record.ended - record.started;
    outcome.counters = h.gpu.counters(launch);
}

TEST(Thrashing, limitingTheWarpsToThoseThatFitMakesLoadsHit) {
    // 4 warps x 32 lines are the 128 lines of L1D.
    Outcome gto, swl;
    sumRows(gto, "gto");
    sumRows(swl, "best-swl:3");
    EXPECT_EQ(gto.activity.most, 48u);
    EXPECT_LE(swl.activity.most, 3u);
    EXPECT_GT(swl.hitRate(), 0.8);
    EXPECT_LT(gto.hitRate(), 0.6);
    EXPECT_LT(swl.cycles, gto.cycles);
}

TEST(Thrashing, ccwsHoldsWarpsBackAndKeepsMoreLines) {
    Outcome gto, ccws;
    sumRows(gto, "gto");
    sumRows(ccws, "ccws");
    EXPECT_LT(ccws.activity.least, 40u);
    EXPECT_GT(ccws.hitRate(), gto.hitRate());
    EXPECT_LT(ccws.cycles, gto.cycles);
}

TEST(Thrashing, ciaoTStallsInterferingWarps) {
    Outcome gto, ciao;
    sumRows(gto, "gto");
    sumRows(ciao, "ciao-t");
    EXPECT_LT(ciao.activity.least, 40u);
    EXPECT_GT(ciao.hitRate(), gto.hitRate());
    EXPECT_LT(ciao.cycles, gto.cycles);
    EXPECT_EQ(ciao.counters.sharedCacheHits, 0u);
}

TEST(Thrashing, ciaoPIsolatesThemAndKeepsEveryWarpActive) {
    Outcome gto, ciao;
    // With room for many loads before L1D, many warps interfere at a time.
    const std::vector<std::string> roomy = {"l1.queue=8"};
    sumRows(gto, "gto", roomy);
    sumRows(ciao, "ciao-p", roomy);
    EXPECT_EQ(ciao.activity.least, 48u);
    EXPECT_GT(ciao.activity.mostIsolated, 8u);
    EXPECT_GT(ciao.counters.sharedCacheHits, 0u);
    EXPECT_LT(ciao.cycles, gto.cycles);
}

TEST(Thrashing, ciaoCDoesBoth) {
    Outcome gto, ciao;
    sumRows(gto, "gto");
    sumRows(ciao, "ciao-c");
    EXPECT_LT(ciao.activity.least, 48u);
    EXPECT_GT(ciao.activity.mostIsolated, 0u);
    EXPECT_LT(ciao.cycles, gto.cycles);
}

TEST(StatPcal, isBestSwlWhereBandwidthNeverCountsAsIdle) {
    Outcome swl, pcal;
    sumRows(swl, "best-swl:3");
    sumRows(pcal, "statpcal:3", {"pcal.busy=0"});
    EXPECT_EQ(pcal.cycles, swl.cycles);
    EXPECT_EQ(pcal.counters.l1Bypasses, 0u);
}

TEST(StatPcal, letsTheOthersPastL1WhereBandwidthIsIdle) {
    Outcome swl, pcal;
    sumRows(swl, "best-swl:3");
    sumRows(pcal, "statpcal:3", {"pcal.busy=1"});
    EXPECT_GT(pcal.activity.most, 3u);
    EXPECT_GT(pcal.counters.l1Bypasses, 0u);
}

/// Every policy that holds warps back, on a block whose 32 warps meet at barriers in turn with loads that thrash.
class AtBarriers : public testing::TestWithParam<std::string> {};

TEST_P(AtBarriers, nobodyIsHeldBackForEver) {
    Machine::Options options;
    options.scheduler = GetParam();
    Harness h("gtx480", {"ciao.highEpoch=64", "ciao.highCutoff=0.0001", "ciao.lowCutoff=0", "sm.count=1"}, options);
    const std::string body =
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 128; add.s64 %rd4, %rd1, %rd4; mov.u32 %r6, 0;\n"
        "loop: ld.global.u32 %r8, [%rd4]; add.s32 %r9, %r9, %r8; bar.sync 0;\n"
        "add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 20; @%p1 bra loop;\n";
    const LaunchId launch = h.run(kernelText(body), {{2}, {1024}, 0, {}, 2'000'000}, {h.buffer(1024 * 128)});
    EXPECT_FALSE(h.gpu.record(launch).error) << h.gpu.record(launch).error->what();
}

INSTANTIATE_TEST_SUITE_P(Policies, AtBarriers,
                         testing::Values("ccws", "best-swl:1", "best-swl:5", "statpcal:1", "ciao-t", "ciao-c",
                                         "ciao-a"));

/// Warps 0 and 1, one a scheduler, spin until warp 2 has set a flag.
std::string spinningForTheYounger() {
    return kernelText(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 64; @%p1 bra set;\n"
        "loop: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra loop; bra end;\n"
        "set: mov.u32 %r3, 1; st.volatile.global.u32 [%rd1], %r3;\n"
        "end:\n");
}

std::string spinUnder(const std::string& scheduler) {
    Machine::Options options;
    options.scheduler = scheduler;
    Harness h("gtx480", {}, options);
    const LaunchId launch = h.run(spinningForTheYounger(), {{1}, {96}}, {h.buffer(128)});
    return h.gpu.record(launch).error ? h.gpu.record(launch).error->what() : "";
}

TEST(Spinning, endsWithAnErrorWhereAStaticLimitHoldsTheOneItWaitsFor) {
    const std::string error = spinUnder("best-swl:2");
    EXPECT_NE(error.find("no progress: kernel k, PTX line"), std::string::npos) << error;
    EXPECT_NE(error.find("the scheduler holds back every warp that could end it"), std::string::npos) << error;
}

TEST(Spinning, endsWellUnderPoliciesThatLetTheOtherOneRun) {
    for (const char* scheduler : {"lrr", "gto", "ccws", "best-swl:3", "statpcal:1", "ciao-t", "ciao-c", "ciao-a"})
        EXPECT_EQ(spinUnder(scheduler), "") << scheduler;
}

}  // namespace
}  // namespace bulkhead::sim
