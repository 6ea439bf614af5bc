// Launches that are executed without time, against what the same ones do with time.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

Harness functional(const std::string& gpu = "gtx480", unsigned threads = 1) {
    Machine::Options options;
    options.timing = Timing::functional;
    options.threads = threads;
    return Harness(gpu, {}, options);
}

/// %r1: thread in its block, %r2: block; %rd5: the thread's word of the first buffer.
const std::string kNumbers =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r3, %r2, %r4, %r1;\n"
    "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4;\n";
/// Adds up 0 to 9 times its number, and to a word of the second buffer how many threads there were.
const std::string kSums =
    kernelText(kNumbers +
               "mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
               "L: mad.lo.u32 %r7, %r6, %r3, %r7; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 10; @%p1 bra L;\n"
               "st.global.u32 [%rd5], %r7; red.global.add.u32 [%rd2], 1;");
/// The thread's word of the first buffer is made itself plus 3, as often as the lower bits of the block's number say,
/// and once more: some blocks take fifty times as long as others.
const std::string kUneven = kernelText(kNumbers +
                                       "and.b32 %r6, %r2, 63; mad.lo.u32 %r6, %r6, 4, 1;\n"
                                       "L: ld.global.u32 %r7, [%rd5]; add.u32 %r7, %r7, 3; st.global.u32 [%rd5], %r7;\n"
                                       "sub.u32 %r6, %r6, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra L;");
/// Waits until the first word of the first buffer is the second buffer's address, low word; then makes it the third's.
const std::string kTurn = kernelText(
    "cvt.u32.u64 %r1, %rd2; cvt.u32.u64 %r2, %rd3;\n"
    "W: ld.volatile.global.u32 %r3, [%rd1]; setp.ne.u32 %p1, %r3, %r1; @%p1 bra W;\n"
    "st.volatile.global.u32 [%rd1], %r2;");

LaunchError::Cause causeOf(const Harness& h, LaunchId launch) {
    const LaunchRecord& record = h.gpu.record(launch);
    if (!record.error) throw Error("the launch has not failed");
    return record.error->cause;
}

bool succeeded(const Harness& h, LaunchId launch) {
    return h.gpu.record(launch).state == LaunchRecord::State::done;
}

TEST(Functional, ComputesAndCountsWhatATimedRunDoes) {
    constexpr std::uint32_t kBlocks = 3000, kThreads = 96;
    Harness timed, h = functional();
    for (Harness* gpu : {&timed, &h}) {
        const VirtualAddress words = gpu->buffer(4 * kBlocks * kThreads), count = gpu->buffer(4);
        const LaunchId launch = gpu->run(kSums, {{kBlocks}, {kThreads}}, {words, count});
        ASSERT_TRUE(succeeded(*gpu, launch));
        const std::uint32_t* word = gpu->data<std::uint32_t>(words, kBlocks * kThreads);
        for (std::uint32_t i = 0; i < kBlocks * kThreads; ++i) ASSERT_EQ(word[i], 45 * i);
        EXPECT_EQ(*gpu->data<std::uint32_t>(count), kBlocks * kThreads);
    }
    const Counters expected = timed.gpu.counters(1), counted = h.gpu.counters(1);
    EXPECT_EQ(counted.warpInstructions, expected.warpInstructions);
    EXPECT_EQ(counted.threadInstructions, expected.threadInstructions);
    EXPECT_EQ(counted.memoryInstructions, expected.memoryInstructions);
    EXPECT_EQ(counted.blocks, kBlocks);
    ASSERT_TRUE(h.gpu.record(1).sample);
    EXPECT_EQ(h.gpu.record(1).sample->timedBlocks, 0u);
}

TEST(Functional, BlocksAreSharedOutAmongThreadsThatChangeNothing) {
    constexpr std::uint32_t kBlocks = 1000, kThreads = 64;
    Cycles ended = 0;
    for (const unsigned threads : {1u, 2u, 5u}) {
        Harness h = functional("gtx480", threads);
        const VirtualAddress words = h.buffer(4 * kBlocks * kThreads);
        // One on another stream is in between.
        const StreamId other = h.newStream(h.context);
        const VirtualAddress sums = h.buffer(4 * 960), count = h.buffer(4);
        const LaunchId launch = h.start(kUneven, {{kBlocks}, {kThreads}}, {words});
        const LaunchId beside = h.start(kSums, {{10}, {96}}, {sums, count}, other);
        h.finishAll();
        ASSERT_TRUE(succeeded(h, launch) && succeeded(h, beside));
        std::uint64_t rounds = 0;
        for (std::uint32_t i = 0; i < kBlocks * kThreads; ++i) {
            const std::uint32_t expected = 4 * (i / kThreads & 63) + 1;
            ASSERT_EQ(h.data<std::uint32_t>(words, kBlocks * kThreads)[i], 3 * expected);
            rounds += expected;
        }
        EXPECT_EQ(h.gpu.counters(launch).blocks, kBlocks);
        EXPECT_EQ(h.gpu.counters(launch).memoryInstructions,
                  2 * rounds / 32 + 3 * kBlocks * kThreads / 32);  // ld.param
        if (ended) {
            EXPECT_EQ(h.gpu.now(), ended) << threads;
        }
        ended = h.gpu.now();
    }
}

TEST(Functional, OfSeveralErrorsThatOfTheFirstBlockIsToldWithAnyNumberOfThreads) {
    const std::string text = kernelText(
        "mov.u32 %r2, %ctaid.x; rem.u32 %r3, %r2, 10; setp.ne.u32 %p1, %r3, 7; @%p1 bra D; mov.u64 %rd9, 16;\n"
        "st.global.u32 [%rd9], 1; D:");
    for (const unsigned threads : {1u, 4u}) {
        Harness h = functional("gtx480", threads);
        const LaunchId wrong = h.run(text, {{100}, {32}});
        ASSERT_EQ(causeOf(h, wrong), LaunchError::Cause::illegalAddress);
        EXPECT_NE(std::string(h.gpu.record(wrong).error->what()).find("block (7,0,0)"), std::string::npos)
            << h.gpu.record(wrong).error->what();
    }
}

TEST(Functional, ClustersStayTogetherWhenBlocksAreSharedOut) {
    // Each block takes the number that the other of its cluster has left in its shared memory.
    Harness h = functional("h200", 3);
    constexpr std::uint32_t kBlocks = 202;
    const VirtualAddress words = h.buffer(4 * kBlocks);
    const std::string text = kernelText(
        "mov.u32 %r1, %ctaid.x; st.shared.u32 [s], %r1;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
        "mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1; mov.u32 %r4, s; mapa.shared::cluster.u32 %r5, %r4, %r3;\n"
        "ld.shared::cluster.u32 %r6, [%r5]; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4;\n"
        "st.global.u32 [%rd5], %r6;\n"
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        ".shared .u32 s;");
    std::string hopper = text;
    hopper.replace(hopper.find(".version 7.0"), 12, ".version 7.8").replace(hopper.find("sm_80"), 5, "sm_90");
    Harness::Shape shape{{kBlocks}, {32}};
    shape.cluster = {2, 1, 1};
    ASSERT_TRUE(succeeded(h, h.run(hopper, shape, {words})));
    for (std::uint32_t b = 0; b < kBlocks; ++b) EXPECT_EQ(h.data<std::uint32_t>(words, kBlocks)[b], b ^ 1);
}

TEST(Functional, TimePassesAsIfEverySchedulerIssuedAllTheTime) {
    Harness h = functional();
    const LaunchId launch = h.run(kSums, {{3000}, {96}}, {h.buffer(4 * 3000 * 96), h.buffer(4)});
    const LaunchRecord& record = h.gpu.record(launch);
    const auto least = h.gpu.counters(launch).warpInstructions / (15 * 2);  // SMs of a GTX 480, and their schedulers
    EXPECT_GE(record.ended - record.started, least);
    EXPECT_LE(record.ended - record.started, least + 1 + h.gpu.profile().launch.setup);
}

TEST(Functional, AKernelThatReadsAClockIsTimed) {
    Harness timed, h = functional();
    const std::string text = kernelText(
        "mov.u32 %r1, %clock; ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2;\n"
        "mov.u32 %r3, %clock; sub.u32 %r4, %r3, %r1; st.global.u32 [%rd2], %r4;");
    for (Harness* gpu : {&timed, &h}) {
        const VirtualAddress words = gpu->buffer(64), took = gpu->buffer(64);
        gpu->run(text, {{1}, {1}}, {words, took});
        EXPECT_EQ(*gpu->data<std::uint32_t>(words), 1u);
    }
    EXPECT_FALSE(h.gpu.record(1).sample);
    EXPECT_EQ(h.cycles(text, {{1}, {1}}, {h.buffer(64), h.buffer(64)}),
              timed.cycles(text, {{1}, {1}}, {timed.buffer(64), timed.buffer(64)}));
}

TEST(Functional, BlocksThatWaitForEachOtherEnd) {
    // All that fit on the GPU count themselves, and wait until all have.
    Harness h = functional();
    const VirtualAddress count = h.buffer(4);
    const std::string text = kernelText(
        "red.global.add.u32 [%rd1], 1;\n"
        "W: ld.volatile.global.u32 %r3, [%rd1]; setp.ne.u32 %p1, %r3, 120; @%p1 bra W;");
    EXPECT_TRUE(succeeded(h, h.run(text, {{120}, {1}}, {count})));  // 8 on each of 15 SMs
}

TEST(Functional, LaunchesOfTwoStreamsTakeTurns) {
    Harness h = functional();
    const VirtualAddress turn = h.buffer(4);
    const StreamId other = h.newStream(h.context);
    // Each stream's wait for the other's: 0 is made 1 there, that 2 here, ...
    const LaunchId late = h.start(kTurn, {{1}, {1}}, {turn, 1, 2}), later = h.start(kTurn, {{1}, {1}}, {turn, 3, 4});
    const LaunchId early = h.start(kTurn, {{1}, {1}}, {turn, 0, 1}, other),
                   between = h.start(kTurn, {{1}, {1}}, {turn, 2, 3}, other);
    h.finishAll();
    for (const LaunchId launch : {late, later, early, between}) EXPECT_TRUE(succeeded(h, launch)) << launch;
    EXPECT_EQ(*h.data<std::uint32_t>(turn), 4u);
}

TEST(Functional, ALaunchWaitsForSomethingThatTakesTime) {
    // It counts while it waits: something happens all the time, and yet time must pass.
    for (const std::string& busy :
         {std::string(), std::string("add.u32 %r4, %r4, 1; st.global.u32 [%rd1+8], %r4;\n")}) {
        Harness h = functional();
        const VirtualAddress flag = h.buffer(64);
        const StreamId other = h.newStream(h.context);
        const LaunchId launch =
            h.start(kernelText("mov.u32 %r4, 0;\nW: " + busy +
                               "ld.volatile.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra W;\n"
                               "st.global.u32 [%rd1+4], 5;"),
                    {{1}, {1}}, {flag});
        h.gpu.enqueue(other, 100'000, [&] { *h.data<std::uint32_t>(flag) = 1; });
        h.finishAll();
        EXPECT_TRUE(succeeded(h, launch));
        EXPECT_EQ(h.data<std::uint32_t>(flag, 2)[1], 5u);
        EXPECT_GE(h.gpu.now(), 100'000u);
    }
}

TEST(Functional, ALaunchWaitsForTheHost) {
    // By volatile loads, and by plain ones, which are no reason to keep blocks from being shared out.
    for (const std::string& load : {std::string("ld.volatile.global.u32"), std::string("ld.global.u32")}) {
        Harness h = functional("gtx480", 2);
        const VirtualAddress flag = h.buffer(4), words = h.buffer(4 * 500);
        const LaunchId launch = h.start(kernelText(kNumbers + "W: " + load +
                                                   " %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; @%p1 bra W;\n"
                                                   "st.global.u32 [%rd5], %r6;"),
                                        {{500}, {1}}, {words, flag});
        EXPECT_EQ(h.gpu.work([] { return false; }), Machine::Left::waiting);
        EXPECT_FALSE(h.gpu.record(launch).over());
        *h.data<std::uint32_t>(flag) = 9;
        EXPECT_EQ(h.gpu.work([] { return false; }), Machine::Left::nothing);
        EXPECT_TRUE(succeeded(h, launch));
        for (std::uint32_t b = 0; b < 500; ++b) EXPECT_EQ(h.data<std::uint32_t>(words, 500)[b], 9u);
    }
}

TEST(Functional, ContextsRunBesideEachOther) {
    Harness h = functional();
    const ContextId second = h.gpu.createContext();
    const StreamId there = h.newStream(second);
    const VirtualAddress here = h.buffer(4 * 960), count = h.buffer(4);
    const VirtualAddress words = h.gpu.memory(second).allocate(4 * 960, {}), sum = h.gpu.memory(second).allocate(4, {});
    const LaunchId a = h.start(kSums, {{10}, {96}}, {here, count}),
                   b = h.start(kSums, {{10}, {96}}, {words, sum}, there);
    h.finishAll();
    EXPECT_TRUE(succeeded(h, a));
    EXPECT_TRUE(succeeded(h, b));
    EXPECT_EQ(*h.data<std::uint32_t>(count), 960u);
}

TEST(Functional, ALaunchMayBeCutShort) {
    Harness h = functional();
    const VirtualAddress turn = h.buffer(4);
    const LaunchId launch = h.start(kTurn, {{1}, {1}}, {turn, 1, 2});
    EXPECT_EQ(h.gpu.work([] { return false; }), Machine::Left::waiting);
    h.gpu.discardWork();
    EXPECT_EQ(h.gpu.record(launch).state, LaunchRecord::State::discarded);
    EXPECT_TRUE(succeeded(h, h.run(kTurn, {{1}, {1}}, {turn, 0, 2})));
}

// What goes wrong.

TEST(Functional, WhatNeverEndsIsAnError) {
    Harness loop = functional();
    EXPECT_EQ(causeOf(loop, loop.run(kTurn, {{1}, {1}}, {loop.buffer(4), 1, 2})), LaunchError::Cause::noProgress);
    // Nothing but its own registers decides whether one of its blocks ends.
    Harness circle = functional("gtx480", 2);
    EXPECT_EQ(causeOf(circle, circle.run(kernelText("mov.u32 %r2, %ctaid.x; W: setp.eq.u32 %p1, %r2, 40; @%p1 bra W;"),
                                         {{100}, {32}})),
              LaunchError::Cause::noProgress);
    // One warp of two is at the barrier, the other at another one.
    Harness barrier = functional();
    const std::string text = kernelText(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; barrier.sync 1, 64; bra E; A: barrier.sync 2, 64; "
        "E:");
    EXPECT_EQ(causeOf(barrier, barrier.run(text, {{1}, {64}})), LaunchError::Cause::deadlock);
}

TEST(Functional, AnErrorNamesItsPlaceAndLeavesTheGpuUsable) {
    Harness timed, h = functional();
    const std::string text = kernelText(
        "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 70; @%p1 bra D; mov.u64 %rd9, 16; st.global.u32 [%rd9], 1; D:");
    const LaunchId wrong = h.run(text, {{100}, {32}});
    EXPECT_EQ(causeOf(h, wrong), LaunchError::Cause::illegalAddress);
    EXPECT_STREQ(h.gpu.record(wrong).error->what(), timed.gpu.record(timed.run(text, {{100}, {32}})).error->what());
    EXPECT_TRUE(succeeded(h, h.run(kSums, {{10}, {96}}, {h.buffer(4 * 960), h.buffer(4)})));
}

TEST(Functional, LimitsHold) {
    Harness h = functional();
    h.gpu.limitInstructions(50'000);
    const LaunchId launch = h.run(kSums, {{3000}, {96}}, {h.buffer(4 * 3000 * 96), h.buffer(4)});
    EXPECT_EQ(causeOf(h, launch), LaunchError::Cause::timeout);
    EXPECT_TRUE(h.gpu.instructionLimitReached());
    EXPECT_LT(h.gpu.counters(launch).warpInstructions, 60'000u);

    Harness shared = functional();
    shared.gpu.limitInstructions(50'000);
    const LaunchId apart = shared.run(kUneven, {{3000}, {64}}, {shared.buffer(4 * 3000 * 64)});
    EXPECT_EQ(causeOf(shared, apart), LaunchError::Cause::timeout);
    EXPECT_GE(shared.gpu.counters(apart).warpInstructions, 50'000u);
    EXPECT_LT(shared.gpu.counters(apart).warpInstructions, 100'000u);

    Harness late = functional();
    Harness::Shape shape{{3000}, {96}};
    shape.maxCycles = 5'000;  // 9000 warps of some 60 instructions take 18,000
    EXPECT_EQ(causeOf(late, late.run(kSums, shape, {late.buffer(4 * 3000 * 96), late.buffer(4)})),
              LaunchError::Cause::timeout);
}

}  // namespace
}  // namespace bulkhead::sim
