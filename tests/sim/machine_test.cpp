// Launches, streams, contexts, errors, observation: the GPU as its users see it.

#include "sim/machine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness.h"
#include "sim/timeline.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

/// Busy for about `rounds` x 8 cycles, then writes its SM's number.
std::string busy(int rounds) {
    return kernelText("mov.u32 %r1, 0;\nL: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, " + std::to_string(rounds) +
                      "; @%p1 bra L;\nmov.u32 %r2, %smid; mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd4, %r3, 4; add.u64 "
                      "%rd5, %rd1, %rd4; "
                      "st.global.u32 [%rd5], %r2;");
}

// ---- correctness end to end, with everything in play

TEST(Machine, aReductionOverAllLevelsIsRight) {
    Harness h;
    const std::uint32_t n = 100000;
    const VirtualAddress in = h.buffer(4 * n), out = h.buffer(8);
    std::uint64_t expected = 0;
    for (std::uint32_t i = 0; i < n; ++i) expected += h.data<std::uint32_t>(in, n)[i] = i * 2654435761u >> 7;
    const std::string body =
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1; mov.u32 %r9, " + std::to_string(n) +
        ";\n"
        "mov.u64 %rd9, 0; mov.u32 %r8, %nctaid.x; mul.lo.u32 %r8, %r8, 256;\n"
        "L: setp.ge.u32 %p1, %r3, %r9; @%p1 bra D; mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; ld.global.u32 "
        "%r4, [%rd5];\n"
        "cvt.u64.u32 %rd6, %r4; add.u64 %rd9, %rd9, %rd6; add.u32 %r3, %r3, %r8; bra L;\n"
        "D: mov.u64 %rd7, part; mul.wide.u32 %rd8, %r1, 8; add.u64 %rd7, %rd7, %rd8; st.shared.u64 [%rd7], %rd9; "
        "bar.sync 0;\n"
        "setp.ne.u32 %p2, %r1, 0; @%p2 bra E; mov.u64 %rd10, 0; mov.u32 %r5, 0; mov.u64 %rd7, part;\n"
        "S: ld.shared.u64 %rd11, [%rd7]; add.u64 %rd10, %rd10, %rd11; add.u64 %rd7, %rd7, 8; add.u32 %r5, %r5, 1; "
        "setp.lt.u32 %p3, %r5, 256; @%p3 bra S;\n"
        "red.global.add.u64 [%rd2], %rd10;\nE:\n";
    h.cycles(kernelText(body, ".shared .align 8 .b8 part[2048];\n"), {{30}, {256}}, {in, out});
    EXPECT_EQ(*h.data<std::uint64_t>(out), expected);
}

TEST(Machine, theSameRunTakesTheSameCycles) {
    const auto once = [] {
        Harness h("gtx1080");
        const VirtualAddress a = h.buffer(1 << 20);
        return h.cycles(
            kernelText(
                "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1; mul.wide.u32 %rd4, %r3, 68;"
                "and.b64 %rd4, %rd4, 1048572; add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r4, [%rd5]; atom.global.add.u32 "
                "%r5, [%rd5], %r4;"),
            {{200}, {256}}, {a});
    };
    const Cycles first = once();
    EXPECT_EQ(once(), first);
    EXPECT_EQ(once(), first);
}

TEST(Machine, everyBlockRunsOnceWhateverTheGrid) {
    for (const Dim3 grid : {Dim3{1, 1, 1}, Dim3{7, 3, 2}, Dim3{1, 1, 40}, Dim3{500, 1, 1}}) {
        Harness h;
        const auto blocks = static_cast<std::uint32_t>(grid.count());
        const VirtualAddress a = h.buffer(4 * blocks);
        h.cycles(kernelText("mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, "
                            "%nctaid.x; mov.u32 %r5, %nctaid.y;"
                            "mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1; mul.wide.u32 %rd4, %r6, 4; "
                            "add.u64 %rd5, %rd1, %rd4;"
                            "red.global.add.u32 [%rd5], 1;"),
                 {grid, {1}}, {a});
        for (std::uint32_t i = 0; i < blocks; ++i) ASSERT_EQ(h.data<std::uint32_t>(a, blocks)[i], 1u);
    }
}

TEST(Machine, aLaunchTakesLongerByItsSetUp) {
    const auto cycles = [](const std::string& setup) {
        Harness h("gtx480", {"launch.setup=" + setup});
        return h.cycles(kernelText(""), {{30}, {64}});
    };
    EXPECT_EQ(cycles("1234"), cycles("0") + 1234);
}

TEST(Machine, setUpOfOneLaunchOverlapsWithAnotherOne) {
    const auto both = [](const std::string& setup) {
        Harness h("gtx480", {"launch.setup=" + setup});
        const StreamId other = h.newStream(h.context);
        const std::string spin =
            kernelText("mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 2000; @%p1 bra L;");
        const LaunchId one = h.start(spin, {{1}, {32}}), two = h.start(spin, {{1}, {32}}, {}, other);
        h.finishAll();
        return std::max(h.gpu.record(one).ended, h.gpu.record(two).ended) - h.gpu.record(one).started;
    };
    EXPECT_EQ(both("500"), both("0") + 500);
}

TEST(Machine, discardedWorkIncludesALaunchThatIsBeingSetUp) {
    Harness h("gtx480", {"launch.setup=100000"});
    const LaunchId launch = h.start(kernelText(""), {{1}, {32}});
    h.gpu.runFor(50'000);
    h.gpu.discardWork();
    EXPECT_EQ(h.gpu.record(launch).state, LaunchRecord::State::discarded);
    EXPECT_LT(h.cycles(kernelText(""), {{1}, {32}}), 101'000u);
}

TEST(Machine, blocksArePlacedAtTheirInterval) {
    const auto cycles = [](const std::string& interval) {
        Harness h("gtx480", {"launch.blockInterval=" + interval});
        return static_cast<double>(h.cycles(kernelText(""), {{4001}, {32}}));
    };
    // Far longer than a block takes: the interval is all that counts.
    EXPECT_NEAR(cycles("42.5") - cycles("40"), 2.5 * 4000, 200);
}

// ---- placement

TEST(Machine, aMaskOfSmsIsKept) {
    Harness h;
    const VirtualAddress out = h.buffer(400);
    std::vector<bool> sms(15, false);
    sms[3] = sms[11] = true;
    h.cycles(busy(10), {{100}, {32}, 0, sms, 0}, {out});
    for (int i = 0; i < 100; ++i) {
        const std::uint32_t sm = h.data<std::uint32_t>(out, 100)[i];
        EXPECT_TRUE(sm == 3 || sm == 11) << sm;
    }
}

TEST(Machine, streamsOverlapAndOneStreamDoesNot) {
    Harness h;
    const VirtualAddress a = h.buffer(4096), b = h.buffer(4096);
    const StreamId other = h.newStream(h.context);
    const LaunchId first = h.start(busy(1000), {{4}, {32}}, {a});
    const LaunchId second = h.start(busy(1000), {{4}, {32}}, {b}, other);
    const LaunchId third = h.start(busy(1000), {{4}, {32}}, {b}, other);
    h.finishAll();
    EXPECT_LT(h.gpu.record(second).started, h.gpu.record(first).ended);
    EXPECT_GE(h.gpu.record(third).started, h.gpu.record(second).ended);
}

TEST(Machine, aStreamWaitsForAMarkerOfAnother) {
    Harness h;
    const VirtualAddress a = h.buffer(4096);
    const StreamId other = h.newStream(h.context);
    const MarkerId marker = h.gpu.createMarker();
    const LaunchId first = h.start(busy(500), {{1}, {32}}, {a});
    h.gpu.record(h.stream, marker);
    h.gpu.wait(other, marker);
    const LaunchId second = h.start(busy(10), {{1}, {32}}, {a}, other);
    h.finishAll();
    EXPECT_GE(h.gpu.record(second).started, h.gpu.record(first).ended);
    EXPECT_EQ(h.gpu.recordedAt(marker), h.gpu.record(first).ended);
}

TEST(Machine, anActionTakesItsTimeInItsStream) {
    Harness h;
    bool happened = false;
    h.gpu.enqueue(h.stream, 5000, [&] { happened = true; });
    const LaunchId after = h.start(busy(1), {{1}, {32}}, {h.buffer(4)});
    EXPECT_FALSE(happened);
    h.gpu.finishLaunch(after);
    EXPECT_TRUE(happened);
    EXPECT_GE(h.gpu.record(after).started, 5000u);
}

TEST(Machine, timePassesWhereNothingHappens) {
    Harness h;
    h.gpu.runFor(12'345);
    EXPECT_EQ(h.gpu.now(), 12'345u);
    const LaunchId launch = h.start(busy(10000), {{1}, {32}}, {h.buffer(4)});
    h.gpu.runFor(1'000);
    EXPECT_EQ(h.gpu.now(), 13'345u);
    EXPECT_FALSE(h.gpu.record(launch).over());
}

TEST(Machine, aKernelThatIsStuckStopsNoTime) {
    Harness h;
    const LaunchId launch = h.start(kernelText("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; "
                                               "bar.sync 2, 64; bra B;\nA: bar.sync 1, 64;\nB:\n"),
                                    {{1}, {64}});
    h.gpu.runFor(100'000);
    EXPECT_EQ(h.gpu.now(), 100'000u);
    EXPECT_FALSE(h.gpu.record(launch).over());
    h.gpu.finishLaunch(launch);
    ASSERT_TRUE(h.gpu.record(launch).error);
    EXPECT_EQ(h.gpu.record(launch).error->cause, LaunchError::Cause::deadlock);
}

TEST(Machine, discardedWorkEndsWithoutTakingTime) {
    Harness h;
    const StreamId other = h.newStream(h.context);
    const MarkerId marker = h.gpu.createMarker();
    const LaunchId running = h.start(busy(10000), {{15}, {32}}, {h.buffer(4)});
    const LaunchId queued = h.start(busy(10000), {{15}, {32}}, {h.buffer(4)});
    h.gpu.record(h.stream, marker);
    h.gpu.wait(other, marker);
    bool happened = false;
    h.gpu.enqueue(other, 10, [&] { happened = true; });
    h.gpu.runFor(10'000);
    ASSERT_EQ(h.gpu.record(running).state, LaunchRecord::State::running);
    h.gpu.discardWork();
    EXPECT_EQ(h.gpu.record(running).state, LaunchRecord::State::discarded);
    EXPECT_EQ(h.gpu.record(queued).state, LaunchRecord::State::discarded);
    EXPECT_EQ(h.gpu.recordedAt(marker), 10'000u);
    h.finishAll();
    EXPECT_EQ(h.gpu.now(), 10'000u);
    EXPECT_FALSE(happened);
    // The GPU goes on, with all of its SMs: each holds 8 blocks, which wait until all 120 x 32 threads have begun.
    const VirtualAddress begun = h.buffer(4);
    h.cycles(kernelText("atom.global.add.u32 %r1, [%rd1], 1;\n"
                        "W: ld.volatile.global.u32 %r2, [%rd1]; setp.lt.u32 %p1, %r2, 3840; @%p1 bra W;"),
             {{120}, {32}}, {begun});
    EXPECT_EQ(*h.data<std::uint32_t>(begun), 3840u);
}

TEST(Machine, theEndOfADiscardedActionEndsNoLaterOne) {
    Harness h;
    h.gpu.enqueue(h.stream, 5'000, [] {});
    h.gpu.discardWork();
    Cycles ended = 0;
    h.gpu.enqueue(h.stream, 8'000, [&] { ended = h.gpu.now(); });
    h.gpu.finishStream(h.stream);
    EXPECT_EQ(ended, 8'000u);
}

// ---- contexts

TEST(Sharing, timeSlicedContextsTakeTurns) {
    // Kernels of about 40000 rounds; a slice of 20 us is 14000 cycles, a switch 2 us.
    const std::vector<std::string> settings = {"sharing.quantumUs=20", "sharing.switchUs=2"};
    Harness alone("gtx480", settings);
    const Cycles t = alone.cycles(busy(8000), {{15}, {32}}, {alone.buffer(64)});

    Harness h("gtx480", settings);
    const ContextId second = h.gpu.createContext(Sharing::timeSliced);
    const StreamId other = h.newStream(second);
    const VirtualAddress b = h.gpu.memory(second).allocate(64);
    const LaunchId one = h.start(busy(8000), {{15}, {32}}, {h.buffer(64)});
    const LaunchId two = h.start(busy(8000), {{15}, {32}}, {b}, other);
    h.finishAll();
    const auto took = [&](LaunchId l) { return static_cast<double>(h.gpu.record(l).ended - h.gpu.record(l).started); };
    // Both compute for t; each waits for the other's slices and for the switches: 16 of 22 us... about twice as long.
    const double slices = static_cast<double>(t) / 14000;
    const double expected = 2 * static_cast<double>(t) + 2 * slices * 1400;
    EXPECT_NEAR(std::max(took(one), took(two)), expected, 0.15 * expected);
    EXPECT_GT(std::min(took(one), took(two)), 1.6 * static_cast<double>(t));
}

TEST(Sharing, concurrentContextsRunSideBySideInSeparateMemory) {
    Harness h;
    const ContextId a = h.gpu.createContext(Sharing::concurrent), b = h.gpu.createContext(Sharing::concurrent);
    const StreamId sa = h.newStream(a), sb = h.newStream(b);
    const VirtualAddress ma = h.gpu.memory(a).allocate(64), mb = h.gpu.memory(b).allocate(64);
    EXPECT_NE(ma, mb);  // an address tells its context, as with unified addressing
    EXPECT_NE(h.gpu.memory(a).space().physical(ma), h.gpu.memory(b).space().physical(mb));
    const LaunchId one = h.start(busy(2000), {{4}, {32}}, {ma}, sa), two = h.start(busy(2000), {{4}, {32}}, {mb}, sb);
    h.finishAll();
    EXPECT_LT(h.gpu.record(two).started, h.gpu.record(one).ended);
    EXPECT_LT(h.gpu.record(one).started, h.gpu.record(two).ended);
    EXPECT_NE(h.gpu.memory(a).host(ma, 4), h.gpu.memory(b).host(mb, 4));
}

TEST(Sharing, aContextThatIdlesGivesWayAtOnce) {
    Harness h("gtx480", {"sharing.quantumUs=1000000", "sharing.switchUs=2"});
    const ContextId second = h.gpu.createContext(Sharing::timeSliced);
    const StreamId other = h.newStream(second);
    const LaunchId one = h.start(busy(100), {{1}, {32}}, {h.buffer(64)});
    const LaunchId two = h.start(busy(100), {{1}, {32}}, {h.gpu.memory(second).allocate(64)}, other);
    h.finishAll();
    // Not the quantum of a second: the first kernel, one switch, the second kernel.
    EXPECT_LT(h.gpu.record(two).ended, h.gpu.record(one).ended + 1400 + 5000);
}

TEST(Sharing, aContextKeepsItsSliceBetweenKernelsThatAreQueued) {
    const auto seconds = [](bool other) {
        Harness h("gtx480", {"sharing.quantumUs=1000", "sharing.switchUs=2"});
        const VirtualAddress buffer = h.buffer(64);
        const LaunchId first = h.start(busy(100), {{1}, {32}}, {buffer});
        LaunchId last = first;
        for (int i = 0; i < 9; ++i) last = h.start(busy(100), {{1}, {32}}, {buffer});
        if (other) {
            const ContextId second = h.gpu.createContext(Sharing::timeSliced);
            const VirtualAddress own = h.gpu.memory(second).allocate(64);
            h.start(busy(50000), {{1}, {32}}, {own}, h.newStream(second));
        }
        h.finishAll();
        return h.gpu.seconds(h.gpu.record(last).ended - h.gpu.record(first).started);
    };
    // All ten fit into one slice.
    EXPECT_LT(seconds(false), 1e-3);
    EXPECT_DOUBLE_EQ(seconds(true), seconds(false));
}

// ---- errors

TEST(Errors, anAccessOutsideAnAllocationEndsTheLaunchAndOnlyIt) {
    Harness h;
    const VirtualAddress a = h.buffer(128);
    const LaunchId bad = h.run(
        kernelText(
            "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r2, [%rd5];"),
        {{3}, {64}}, {a});
    const LaunchRecord& record = h.gpu.record(bad);
    ASSERT_TRUE(record.error);
    EXPECT_EQ(record.state, LaunchRecord::State::failed);
    EXPECT_EQ(record.error->cause, LaunchError::Cause::illegalAddress);
    const std::string what = record.error->what();
    EXPECT_NE(what.find("kernel k"), std::string::npos) << what;
    EXPECT_NE(what.find("thread (32,0,0)"), std::string::npos) << what;
    EXPECT_NE(what.find(fmt::format("0x{:x}", a + 128)), std::string::npos) << what;
    // The GPU goes on.
    h.cycles(busy(10), {{15}, {32}}, {h.buffer(64)});
}

TEST(Errors, aBarrierThatCanNeverCompleteIsNamed) {
    Harness h;
    // Warp 0 waits for 64 threads at barrier 1; warp 1 waits for 64 at barrier 2.
    const LaunchId bad = h.run(kernelText("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 2, 64; "
                                          "bra B;\nA: bar.sync 1, 64;\nB:\n"),
                               {{2}, {64}});
    ASSERT_TRUE(h.gpu.record(bad).error);
    EXPECT_EQ(h.gpu.record(bad).error->cause, LaunchError::Cause::deadlock);
    EXPECT_NE(std::string(h.gpu.record(bad).error->what()).find("barrier"), std::string::npos);
    h.cycles(busy(10), {{15}, {32}}, {h.buffer(64)});
}

TEST(Errors, aSpinThatNobodyCanEndIsNoProgress) {
    Harness h;
    const VirtualAddress flag = h.buffer(4);
    const LaunchId bad = h.run(
        kernelText("L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"), {{2}, {64}}, {flag});
    ASSERT_TRUE(h.gpu.record(bad).error);
    EXPECT_EQ(h.gpu.record(bad).error->cause, LaunchError::Cause::noProgress);
    EXPECT_NE(std::string(h.gpu.record(bad).error->what()).find("PTX line"), std::string::npos);
    // A lock that lane 0 holds while its own warp spins on it: the classic SIMT deadlock, with an atomic in the loop.
    const VirtualAddress lock = h.buffer(8);
    const LaunchId simt = h.run(kernelText("L: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 "
                                           "bra L; atom.global.exch.b32 %r2, [%rd1], 0;"),
                                {{1}, {32}}, {lock});
    ASSERT_TRUE(h.gpu.record(simt).error);
    EXPECT_EQ(h.gpu.record(simt).error->cause, LaunchError::Cause::noProgress);
    h.cycles(busy(10), {{15}, {32}}, {h.buffer(64)});
}

TEST(Errors, aSpinThatAnotherWarpEndsIsNotAnError) {
    Harness h;
    const VirtualAddress flag = h.buffer(4);
    // Warp 1 works long (registers change all the time), then sets the flag warp 0 spins on.
    const std::string text = kernelText(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra W;\nL: ld.volatile.global.u32 %r2, [%rd1]; "
        "setp.eq.u32 %p2, %r2, 0; @%p2 bra L; bra E;\n"
        "W: mov.u32 %r3, 0;\nM: add.s32 %r3, %r3, 1; setp.lt.s32 %p3, %r3, 300000; @%p3 bra M; mov.u32 %r4, 1; "
        "st.volatile.global.u32 [%rd1], %r4;\nE:\n");
    EXPECT_NO_THROW(h.cycles(text, {{1}, {64}}, {flag}));
}

TEST(Errors, aLimitOfCyclesEndsALongKernel) {
    Harness h;
    const LaunchId bad = h.run(busy(100000000), {{1}, {32}, 0, {}, 20000}, {h.buffer(64)});
    ASSERT_TRUE(h.gpu.record(bad).error);
    EXPECT_EQ(h.gpu.record(bad).error->cause, LaunchError::Cause::timeout);
    EXPECT_NEAR(static_cast<double>(h.gpu.record(bad).ended - h.gpu.record(bad).started), 20000, 2000);
}

// ---- observation

TEST(Observation, launchesAreCountedApart) {
    Harness h;
    const VirtualAddress a = h.buffer(4096), b = h.buffer(4096);
    const StreamId other = h.newStream(h.context);
    const LaunchId one = h.start(busy(100), {{2}, {32}}, {a}), two = h.start(busy(200), {{4}, {32}}, {b}, other);
    h.finishAll();
    // 3 parameters, mov, 3 x rounds, then 6 and the return.
    EXPECT_EQ(h.gpu.counters(one).warpInstructions, 2u * (3 + 1 + 3 * 100 + 6 - 1 + 1));
    EXPECT_EQ(h.gpu.counters(two).warpInstructions, 4u * (3 + 1 + 3 * 200 + 6 - 1 + 1));
    // Each by 32 threads, but for the last branch of the loop, which none takes.
    EXPECT_EQ(h.gpu.counters(one).threadInstructions, 32 * (h.gpu.counters(one).warpInstructions - 2));
    EXPECT_EQ(h.gpu.totals().warpInstructions,
              h.gpu.counters(one).warpInstructions + h.gpu.counters(two).warpInstructions);
}

struct Recorder : Observer {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> evictions;  ///< owner, evictor
    std::uint64_t samples = 0, warpsSeen = 0;
    void l1Eviction(Cycles, std::uint32_t, std::uint64_t, std::uint32_t owner, std::uint32_t evictor) override {
        evictions.emplace_back(owner, evictor);
    }
    Cycles sampleInterval() const override { return 100; }
    void sample(Cycles, const Counters&, std::span<const std::uint32_t> active) override {
        ++samples;
        for (std::uint32_t n : active) warpsSeen = std::max<std::uint64_t>(warpsSeen, n);
    }
};

TEST(Observation, anEvictionNamesOwnerAndEvictor) {
    Recorder recorder;
    Machine::Options options;
    options.observer = &recorder;
    Harness h("gtx480", {"l1.setHash=linear"}, options);
    const VirtualAddress a = h.buffer(1_MiB);
    // Warp 0 loads four lines of a set, then warp 1 (after a barrier) a fifth: it pushes out warp 0's first.
    const std::string text = kernelText(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra W;\n"
        "ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4096]; ld.global.u32 %r4, [%rd1+8192]; ld.global.u32 %r5, "
        "[%rd1+12288];\n"
        "add.s32 %r2, %r2, %r3; add.s32 %r2, %r2, %r4; add.s32 %r2, %r2, %r5; bar.sync 0; bra E;\n"
        "W: bar.sync 0; ld.global.u32 %r6, [%rd1+16384]; add.s32 %r6, %r6, 1;\nE:\n");
    h.cycles(text, {{1}, {64}}, {a});
    ASSERT_EQ(recorder.evictions.size(), 1u);
    EXPECT_EQ(recorder.evictions[0], std::make_pair(0u, 1u));
    EXPECT_GT(recorder.samples, 3u);
    EXPECT_EQ(recorder.warpsSeen, 2u);
}

TEST(Observation, theTimelineIsATraceOfLaunchesAndBlocks) {
    Timeline timeline(1.0 / 700, 200);
    Machine::Options options;
    options.observer = &timeline;
    Harness h("gtx480", {}, options);
    const LaunchId launch = h.run(busy(300), {{20}, {64}}, {h.buffer(256)});
    timeline.nameLaunch(launch, "busy");
    const auto trace = nlohmann::json::parse(timeline.json());
    int begins = 0, ends = 0, curves = 0;
    for (const auto& event : trace["traceEvents"]) {
        begins += event["ph"] == "B";
        ends += event["ph"] == "E";
        curves += event["ph"] == "C";
    }
    EXPECT_EQ(begins, 21);  // 20 blocks and the launch
    EXPECT_EQ(ends, 21);
    EXPECT_GT(curves, 4);
}

}  // namespace
}  // namespace bulkhead::sim
