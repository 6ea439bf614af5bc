// The adaptive scheduler: its search for a number of warps, its decisions fed by hand, and what they are worth.

#include "sim/sm/ciao_a.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "harness.h"
#include "sim/sim_context.h"
#include "sim/sm/shared_cache.h"
#include "sim/sm/warp_limit_search.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::profileWith;

// ---- the search

/// Runs trials until one limit is kept, and returns those that were tried.
template <class Rate>
std::vector<std::uint32_t> tried(WarpLimitSearch& search, Rate&& rate) {
    std::vector<std::uint32_t> limits;
    while (!search.settled() && limits.size() < 100) {
        limits.push_back(search.limit());
        search.measured(rate(search.limit()));
    }
    return limits;
}

constexpr std::uint32_t kAll = WarpLimitSearch::kAllWarps;

TEST(WarpLimitSearch, triesEveryOtherLimitAndThenTheNeighboursOfTheBest) {
    // 48 warps of two schedulers: 2, 4, 6, 8, 12, 16, 24, 32 and all. With 4 it is fastest.
    WarpLimitSearch search;
    search.begin(48, 2);
    const auto limits = tried(search, [](std::uint32_t n) {
        return n == 4 ? 500u : n == 6 ? 400u : n == 2 ? 350u : 100u;
    });
    EXPECT_EQ(limits, (std::vector<std::uint32_t>{kAll, 24, 12, 6, 2, 4}));
    EXPECT_EQ(search.limit(), 4u);
}

TEST(WarpLimitSearch, goesNoFurtherDownOnceItIsClearlySlower) {
    WarpLimitSearch search;
    search.begin(48, 2);
    // 24 warps have 0.74 of the speed of all; next to all are 32.
    const auto limits = tried(search, [](std::uint32_t n) { return n == kAll ? 1000u : n == 32 ? 900u : 740u; });
    EXPECT_EQ(limits, (std::vector<std::uint32_t>{kAll, 24, 32}));
    EXPECT_EQ(search.limit(), kAll);
}

TEST(WarpLimitSearch, triesNoLimitThatWouldLimitNobody) {
    WarpLimitSearch search;
    search.begin(5, 2);  // 2, 4 and all
    EXPECT_EQ(tried(search, [](std::uint32_t) { return 10u; }), (std::vector<std::uint32_t>{kAll, 2, 4}));
    EXPECT_EQ(search.limit(), kAll);  // the largest of equals
    search.begin(1, 2);
    EXPECT_EQ(tried(search, [](std::uint32_t) { return 10u; }), (std::vector<std::uint32_t>{kAll}));
}

/// Trials at the kept limit until another is tried.
std::uint32_t trialsUntilAnother(WarpLimitSearch& search, std::uint64_t rate) {
    std::uint32_t trials = 0;
    for (const std::uint32_t kept = search.limit(); search.limit() == kept && trials < 1000; ++trials)
        search.measured(rate);
    return trials;
}

TEST(WarpLimitSearch, looksAtNeighboursInTurnAndMoreAndMoreSeldom) {
    WarpLimitSearch search;
    search.begin(48, 2);
    tried(search, [](std::uint32_t n) { return n == 12 ? 500u : 300u; });
    ASSERT_EQ(search.limit(), 12u);
    std::vector<std::uint32_t> waits, limits;
    for (int i = 0; i < 5; ++i) {
        waits.push_back(trialsUntilAnother(search, 500));
        limits.push_back(search.limit());
        search.measured(510);  // 2 % faster: not worth it
        EXPECT_EQ(search.limit(), 12u);
    }
    EXPECT_EQ(waits, (std::vector<std::uint32_t>{8, 16, 32, 64, 64}));
    EXPECT_EQ(limits, (std::vector<std::uint32_t>{16, 8, 16, 8, 16}));
}

TEST(WarpLimitSearch, movesToANeighbourThatHasBecomeFaster) {
    WarpLimitSearch search;
    search.begin(48, 2);
    tried(search, [](std::uint32_t n) { return n == 12 ? 500u : 300u; });
    trialsUntilAnother(search, 500);
    ASSERT_EQ(search.limit(), 16u);
    search.measured(520);
    EXPECT_EQ(search.limit(), 16u);
    EXPECT_TRUE(search.settled());
}

TEST(WarpLimitSearch, beginsAnewWhereSomethingElseIsRun) {
    WarpLimitSearch search;
    search.begin(48, 2);
    tried(search, [](std::uint32_t n) { return n == 4 ? 500u : n < 8 ? 400u : 300u; });
    ASSERT_EQ(search.limit(), 4u);
    // Once or twice is chance, and so is what is within half as much again.
    for (std::uint64_t rate : {760, 760, 740, 1200, 1200}) search.measured(rate);
    EXPECT_EQ(search.limit(), 4u);
    search.measured(1200);
    EXPECT_EQ(search.limit(), kAll);
    EXPECT_FALSE(search.settled());
}

// ---- decisions

/// An SM of 24 warps, two schedulers, trials of 1000 cycles. Interference is above 10 VTA hits in 1000 instructions.
struct Bench {
    explicit Bench(const std::string& adapts = "both")
        : profile(profileWith("gtx480", {"ciao.trial=1000", "ciao.highCutoff=0.01", "ciao.adapts=" + adapts})),
          shared(profile),
          sim(shared),
          ciao({2, 48, &sim}) {
        for (std::uint32_t warp = 0; warp < 24; ++warp) ciao.warpStarted(warp, warp);
    }
    /// Until the time at which it wants to be asked.
    void trial(int instructions, int vtaHits) {
        for (int i = 0; i < vtaHits; ++i, ++line) {
            ciao.observe({CacheEvent::Kind::eviction, 1, 2, line});
            ciao.observe({CacheEvent::Kind::miss, 2, 2, line});
        }
        for (int i = 0; i < instructions; ++i) ciao.issued(2, 32);
        ciao.advance(ciao.due());
    }
    std::uint32_t running() const { return static_cast<std::uint32_t>(std::popcount(ciao.allowed() & 0xffffff)); }

    arch::DeviceProfile profile;
    SimShared shared;
    Simulation sim;
    CiaoA ciao;
    std::uint64_t line = 0;
};

TEST(CiaoA, doesNothingWhileWarpsHardlyInterfere) {
    Bench bench;
    for (int i = 0; i < 20; ++i) bench.trial(1000, 10);
    EXPECT_EQ(bench.ciao.due(), 21'000u);
    EXPECT_EQ(bench.ciao.route(2), Route::l1);
    EXPECT_EQ(bench.running(), 24u);
}

TEST(CiaoA, poolsTheMemoriesFirstAndLimitsWarpsWhereThatIsNotEnough) {
    Bench bench;
    bench.trial(1000, 11);
    EXPECT_EQ(bench.ciao.route(2), Route::both);
    EXPECT_EQ(bench.running(), 24u);
    // Half a trial passes until the change has its effect, whatever happens meanwhile.
    EXPECT_EQ(bench.ciao.due(), 1500u);
    bench.trial(1000, 500);
    EXPECT_FALSE(bench.ciao.searching());
    EXPECT_EQ(bench.ciao.due(), 2500u);
    bench.trial(1000, 10);
    EXPECT_FALSE(bench.ciao.searching());
    bench.trial(1000, 11);
    EXPECT_TRUE(bench.ciao.searching());
    // Limits are 2, 4, 6, 8, 12, 16 and all.
    EXPECT_EQ(bench.ciao.limit(), 12u);
    EXPECT_EQ(bench.running(), 12u);
    EXPECT_EQ(bench.ciao.allowed() & 0xffffff, 0xfffu);  // the oldest
}

TEST(CiaoA, keepsTheLimitWithWhichMostIsIssuedInACycle) {
    Bench bench("warps");
    bench.trial(1000, 11);
    EXPECT_EQ(bench.ciao.route(2), Route::l1);
    const auto rate = [&] { return bench.ciao.limit() == 6 ? 3000 : 1000; };
    // 12, 6, 2, 4 and 8 in turn, each with the time until it has its effect, and the way back to 6.
    for (int i = 0; i < 2 * 5 + 1; ++i) bench.trial(rate(), 0);
    EXPECT_EQ(bench.running(), 6u);
}

TEST(CiaoA, letsHeldWarpsRunFromTimeToTimeThoughNoneEnds) {
    // The others may wait for them, and what they issue meanwhile looks fast. Two are always fastest here.
    Bench bench("warps");
    bench.trial(1000, 11);
    const auto rate = [&] { return static_cast<int>(3000 / bench.ciao.limit()); };
    bool held = false;
    int trials = 0;
    for (int i = 0; i < 100; ++i) bench.trial(rate(), 0);
    for (; bench.running() < 24 && trials < 1000; ++trials) {
        held = true;
        bench.trial(rate(), 0);
    }
    EXPECT_TRUE(held);
    EXPECT_LE(trials, 2 * static_cast<int>(CiaoA::kMostUnended));
    // For one trial, and then it is as before.
    const Cycles since = bench.ciao.due() - 1000;
    bench.trial(1000, 0);
    EXPECT_EQ(bench.running(), 2u);
    EXPECT_EQ(bench.ciao.due(), since + 1000 + 500);
}

TEST(CiaoA, limitsNobodyWhereOnlyTheMemoriesMayBePooled) {
    Bench bench("memory");
    for (int i = 0; i < 20; ++i) bench.trial(1000, 100);
    EXPECT_EQ(bench.ciao.route(2), Route::both);
    EXPECT_EQ(bench.running(), 24u);
}

TEST(CiaoA, forgetsAllWithANewKernel) {
    Bench bench;
    for (int i = 0; i < 4; ++i) bench.trial(1000, 100);
    ASSERT_LT(bench.running(), 24u);
    bench.ciao.kernelStarted();
    EXPECT_EQ(bench.ciao.route(2), Route::l1);
    EXPECT_EQ(bench.running(), 24u);
}

// ---- a line's place where either cache may have it

TEST(PooledMemories, aBlockThatWasUsedIsSparedOnce) {
    SharedCache cache(49152);
    cache.blockStarted(0, 0);
    const std::uint64_t line = 0x10000, rival = line + cache.capacityBytes();  // the same block, as it is direct-mapped
    ASSERT_EQ(cache.placeOf(line), cache.placeOf(rival));
    EXPECT_TRUE(cache.takes(line));
    cache.fill(cache.placeOf(line), line, 1, 0);
    EXPECT_TRUE(cache.takes(line));
    EXPECT_FALSE(cache.takes(rival));  // two that are wanted in turn must not push each other out for ever
    cache.spare(rival);
    EXPECT_TRUE(cache.takes(rival));
    cache.use(line);
    EXPECT_FALSE(cache.takes(rival));
    cache.spare(rival);
    cache.fill(cache.placeOf(rival), rival, 1, 0);
    EXPECT_TRUE(cache.takes(rival));
    EXPECT_FALSE(cache.takes(line));
}

// ---- what it is worth

/// A thread a row of `words` words: each load of a warp takes 32 lines, which serve the next 31 loads if they stay.
std::string rowSums(int words) {
    return kernelText(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r1, %r2, %r3, %r1;\n"
        "mul.wide.u32 %rd4, %r1, " +
        std::to_string(4 * words) +
        "; add.s64 %rd4, %rd1, %rd4;\n"
        "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd5, %rd2, %rd5; mov.u32 %r6, 0;\n"
        "loop: ld.global.u32 %r8, [%rd4]; add.s32 %r9, %r9, %r8; add.s64 %rd4, %rd4, 4;\n"
        "add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, " +
        std::to_string(words) +
        "; @%p1 bra loop;\n"
        "st.global.u32 [%rd5], %r9;\n");
}

/// Lanes next to each other read words next to each other, so no line serves two loads of a warp.
std::string columnSums(std::uint32_t threads, int words) {
    return kernelText(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r1, %r2, %r3, %r1;\n"
        "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd4, %rd1, %rd5; add.s64 %rd5, %rd2, %rd5; mov.u32 %r6, 0;\n"
        "loop: ld.global.u32 %r8, [%rd4]; add.s32 %r9, %r9, %r8; add.s64 %rd4, %rd4, " +
        std::to_string(4 * threads) +
        ";\n"
        "add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, " +
        std::to_string(words) +
        "; @%p1 bra loop;\n"
        "st.global.u32 [%rd5], %r9;\n");
}

constexpr std::uint32_t kThreads = 1536;  // one SM's
constexpr int kWords = 512;

/// The cycles of a kernel that sums words that are all 1.
Cycles cyclesOf(const std::string& text, const std::string& scheduler, const std::vector<std::string>& more = {},
                const std::string& gpu = "gtx480", std::uint32_t threads = kThreads) {
    std::vector<std::string> settings = {"sm.count=1"};
    settings.insert(settings.end(), more.begin(), more.end());
    Machine::Options options;
    options.scheduler = scheduler;
    Harness h(gpu, settings, options);
    const VirtualAddress a = h.buffer(threads * kWords * 4), b = h.buffer(threads * 4);
    std::fill_n(h.data<std::uint32_t>(a, threads * kWords), threads * kWords, 1u);
    const LaunchId launch = h.run(text, {{threads / 256}, {256}}, {a, b});
    EXPECT_FALSE(h.gpu.record(launch).error);
    for (std::uint32_t row = 0; row < threads; ++row)
        EXPECT_EQ(h.data<std::uint32_t>(b, threads)[row], static_cast<std::uint32_t>(kWords)) << row;
    return h.gpu.record(launch).ended - h.gpu.record(launch).started;
}

TEST(CiaoA, gainsWhereWarpsInterfere) {
    const Cycles gto = cyclesOf(rowSums(kWords), "gto"), adaptive = cyclesOf(rowSums(kWords), "ciao-a");
    EXPECT_LT(adaptive * 2, gto);
    for (const char* other : {"ciao-t", "ciao-p", "ciao-c"})
        EXPECT_LT(adaptive * 100, cyclesOf(rowSums(kWords), other) * 102) << other;
}

TEST(CiaoA, eachOfItsMeansGainsAndBothGainMore) {
    const Cycles gto = cyclesOf(rowSums(kWords), "gto"), both = cyclesOf(rowSums(kWords), "ciao-a");
    for (const char* means : {"ciao.adapts=memory", "ciao.adapts=warps"}) {
        const Cycles alone = cyclesOf(rowSums(kWords), "ciao-a", {means});
        EXPECT_LT(alone, gto) << means;
        EXPECT_LT(both, alone) << means;
    }
}

TEST(CiaoA, losesLessThanOnePerCentToTheBestCarveoutWhereMemoryIsOneArray) {
    // 64 warps x 32 lines of 128 bytes are 256 KB, twice what L1D can have. But GTO runs few of them at a time, and
    // 64 x 512 loads that look up 32 lines each take a million cycles in any case.
    const auto cycles = [](const std::string& scheduler, std::int64_t carveout) {
        return cyclesOf(rowSums(kWords), scheduler, {fmt::format("sm.carveout={}", carveout)}, "v100", 2048);
    };
    Cycles best = kNever;
    for (const std::int64_t carveout : arch::findProfile("v100").sm.carveouts)
        best = std::min(best, cycles("gto", carveout));
    EXPECT_GT(best, Cycles{64} * 512 * 32);
    EXPECT_LE(cycles("ciao-a", 0) * 100, best * 101);
}

TEST(CiaoA, costsLessThanOnePerCentWhereNothingInterferes) {
    const std::string text = columnSums(kThreads, kWords);
    const Cycles gto = cyclesOf(text, "gto"), adaptive = cyclesOf(text, "ciao-a");
    EXPECT_LE(adaptive * 100, gto * 101);
    EXPECT_GE(adaptive * 101, gto * 100);
}

TEST(CiaoA, servesTwoKernelsOnAnSm) {
    const auto both = [](const std::string& scheduler) {
        Machine::Options options;
        options.scheduler = scheduler;
        Harness h("gtx480", {"sm.count=1"}, options);
        const StreamId other = h.newStream(h.context);
        constexpr std::uint32_t kEach = kThreads / 2;
        const Bytes bytes = Bytes{kEach} * kWords * 4;
        const VirtualAddress rows = h.buffer(bytes), columns = h.buffer(bytes);
        const VirtualAddress rowResult = h.buffer(kEach * 4), columnResult = h.buffer(kEach * 4);
        for (const VirtualAddress at : {rows, columns})
            std::fill_n(h.data<std::uint32_t>(at, kEach * kWords), kEach * kWords, 1u);
        const LaunchId first = h.start(rowSums(kWords), {{3}, {256}}, {rows, rowResult});
        const LaunchId second = h.start(columnSums(kEach, kWords), {{3}, {256}}, {columns, columnResult}, other);
        h.finishAll();
        Cycles end = 0;
        for (const LaunchId launch : {first, second}) {
            EXPECT_FALSE(h.gpu.record(launch).error);
            end = std::max(end, h.gpu.record(launch).ended);
        }
        for (const VirtualAddress at : {rowResult, columnResult})
            for (std::uint32_t i = 0; i < kEach; ++i)
                EXPECT_EQ(h.data<std::uint32_t>(at, kEach)[i], static_cast<std::uint32_t>(kWords)) << i;
        return end;
    };
    EXPECT_LT(both("ciao-a"), both("gto"));
}

}  // namespace
}  // namespace bulkhead::sim
