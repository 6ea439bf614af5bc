// What each prefetch policy names, against sequences worked out by hand; and what L1D of a simulated GPU makes of it.

#include "sim/mem/prefetch_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using Lines = std::vector<std::uint64_t>;
using test::Harness;
using test::kernelText;
using test::repeat;

Lines named(PrefetchPolicy& policy, const PrefetchTrigger& trigger) {
    Lines lines;
    policy.lookAhead(trigger, lines);
    return lines;
}

TEST(Prefetch, NextLineNamesTheLinesBehind) {
    const auto policy = makeNextLine({128, 3});
    EXPECT_EQ(named(*policy, {1024}), (Lines{1152, 1280, 1408}));
}

TEST(Prefetch, StrideIsFollowedOnceItWasSeenTwice) {
    const auto policy = makeStride({128, 2});
    EXPECT_EQ(named(*policy, {0}), Lines{});
    EXPECT_EQ(named(*policy, {512}), Lines{});
    EXPECT_EQ(named(*policy, {1024}), (Lines{1536, 2048}));
    EXPECT_EQ(named(*policy, {1536}), (Lines{2048, 2560}));
    EXPECT_EQ(named(*policy, {1664}), Lines{});  // another one
}

TEST(Prefetch, StrideMayGoBackwards) {
    const auto policy = makeStride({128, 1});
    for (const std::uint64_t line : {4096, 3840}) EXPECT_EQ(named(*policy, {line}), Lines{});
    EXPECT_EQ(named(*policy, {3584}), Lines{3328});
}

TEST(Prefetch, StrideKeepsWarpsLoadsAndTheirLinesApart) {
    const auto policy = makeStride({128, 1});
    // Four streams of different strides, one step of each at a time.
    const std::vector<PrefetchTrigger> streams = {{0, 7, 0, 0}, {0, 7, 1, 0}, {0, 9, 0, 0}, {0, 7, 0, 1}};
    for (std::uint64_t step = 0; step < 8; ++step)
        for (std::uint64_t s = 0; s < streams.size(); ++s) {
            PrefetchTrigger trigger = streams[s];
            const std::uint64_t stride = 128 * (s + 1);
            trigger.line = (s << 20) + step * stride;
            EXPECT_EQ(named(*policy, trigger), step < 2 ? Lines{} : Lines{trigger.line + stride}) << s << " " << step;
        }
}

// ---- on a GPU

constexpr Harness::Shape kOneThread{{1}, {1}};

/// A load of the line at this offset; whoever comes next waits for it.
std::string load(std::uint64_t offset) {
    return "ld.global.u32 %r1, [%rd1+" + std::to_string(offset) + "]; add.s32 %r2, %r1, %r2;\n";
}
/// Long enough for what is under way to come.
const std::string kPause = repeat(1000, "add.s32 %r3, %r3, 1;\n");

/// Linear sets: 16 KB, 4 ways, 32 sets; lines 4 KB apart share one.
Counters countersOf(const std::string& body, std::vector<std::string> settings, std::uint64_t offset = 0) {
    settings.emplace_back("l1.setHash=linear");
    Harness h("gtx480", settings);
    const VirtualAddress area = h.buffer(8_MiB);
    return h.gpu.counters(h.run(kernelText(body), kOneThread, {area + offset}));
}

std::string stream(int lines, std::uint64_t stride) {
    std::string body;
    for (int i = 0; i < lines; ++i) body += load(static_cast<std::uint64_t>(i) * stride) + kPause;
    return body;
}

TEST(Prefetch, IsNoneUnlessTheProfileSaysSo) {
    const Counters c = countersOf(stream(10, 128), {});
    EXPECT_EQ(c.l1Prefetches, 0u);
    EXPECT_EQ(c.l1Misses, 10u);
}

TEST(Prefetch, NextLineTurnsAStreamIntoHits) {
    for (const std::string allocate : {"miss", "fill"}) {
        const Counters c = countersOf(stream(10, 128), {"l1.prefetch=next-line", "l1.allocate=" + allocate});
        EXPECT_EQ(c.l1Misses, 1u) << allocate;
        EXPECT_EQ(c.l1Hits, 9u);
        EXPECT_EQ(c.l1Prefetches, 10u);  // the last one is not used
        EXPECT_EQ(c.l1PrefetchesUseful, 9u);
        EXPECT_EQ(c.l1PrefetchesLate + c.l1PrefetchesUseless, 0u);
    }
}

TEST(Prefetch, StrideTurnsAColumnIntoHitsAndNextLineDoesNot) {
    // A loop: one load, so that its stride can be learnt.
    const std::string body = "mov.u32 %r4, 0;\nagain:\n" + load(0) + kPause +
                             "add.s64 %rd1, %rd1, 1280;\nadd.s32 %r4, %r4, 1;\nsetp.lt.s32 %p1, %r4, 10;\n"
                             "@%p1 bra again;\n";
    const Counters stride = countersOf(body, {"l1.prefetch=stride"});
    EXPECT_EQ(stride.l1Misses, 3u);  // the third one shows the stride
    EXPECT_EQ(stride.l1PrefetchesUseful, 7u);
    const Counters next = countersOf(body, {"l1.prefetch=next-line"});
    EXPECT_EQ(next.l1Misses, 10u);
    EXPECT_EQ(next.l1PrefetchesUseful, 0u);
}

TEST(Prefetch, ALoadJoinsWhatIsUnderWay) {
    const Counters c = countersOf(
        "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+128];\n"
        "add.s32 %r1, %r1, %r2;\n" +
            kPause,
        {"l1.prefetch=next-line"});
    EXPECT_EQ(c.l1PrefetchesLate, 1u);
    EXPECT_EQ(c.l1PrefetchesUseful, 0u);
    EXPECT_EQ(c.l1Misses, 2u);
    EXPECT_EQ(c.l1Merges, 1u);
    // Lines 0, 1 and, after the first use of line 1, line 2.
    EXPECT_EQ(c.dramReads, 3u);
}

TEST(Prefetch, WhatIsPushedOutUnusedIsUseless) {
    // Line 1 is fetched ahead of line 0's next; four more lines of its set push it out.
    std::string body = load(0) + kPause;
    for (std::uint64_t k = 1; k <= 4; ++k) body += load(128 + 4096 * k) + kPause;
    const Counters c = countersOf(body, {"l1.prefetch=next-line"});
    EXPECT_EQ(c.l1Prefetches, 5u);
    EXPECT_EQ(c.l1PrefetchesUseless, 1u);
}

TEST(Prefetch, StaysInThePage) {
    constexpr std::uint64_t kPage = 2_MiB;
    EXPECT_EQ(countersOf(load(0), {"l1.prefetch=next-line"}, kPage - 256).l1Prefetches, 1u);
    EXPECT_EQ(countersOf(load(0), {"l1.prefetch=next-line"}, kPage - 128).l1Prefetches, 0u);
}

TEST(Prefetch, FetchesNoLineThatIsHereOrUnderWay) {
    const Counters c = countersOf(load(128) + load(0), {"l1.prefetch=next-line"});
    EXPECT_EQ(c.l1Prefetches, 1u);  // line 2, for line 1; line 1 is here when line 0 asks for it
}

TEST(Prefetch, LeavesTheReserveOfMshrsToLoads) {
    const auto prefetches = [](int reserve) {
        return countersOf(load(0), {"l1.mshrs=32", "l1.prefetch=next-line", "l1.prefetchDegree=64",
                                    "l1.prefetchReserve=" + std::to_string(reserve), "crossbar.smQueue=128"})
            .l1Prefetches;
    };
    EXPECT_EQ(prefetches(32), 0u);
    EXPECT_EQ(prefetches(31), 0u);  // the load has one
    EXPECT_EQ(prefetches(28), 3u);
    EXPECT_EQ(prefetches(0), 31u);
}

TEST(Prefetch, EveryLineFetchedAheadIsAccountedFor) {
    // Threads begin anywhere in 64 KB, and go on by 384 B a step.
    const std::string body =
        "mov.u32 %r1, %tid.x; mul.lo.u32 %r4, %r1, 2654435761; shr.u32 %r4, %r4, 16; mov.u32 %r5, 0;\nagain:\n"
        "add.u32 %r4, %r4, 384; and.b32 %r6, %r4, 0xfffc;\n"
        "cvt.u64.u32 %rd4, %r6; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r7, [%rd4]; add.s32 %r8, %r7, %r8;\n"
        "add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, 90; @%p1 bra again;\n";
    for (const std::string scheduler : {"gto", "ciao-c"})
        for (const std::string allocate : {"miss", "fill"})
            for (const PrefetchChoice& choice : prefetchPolicies()) {
                Machine::Options options;
                options.scheduler = scheduler;
                Harness h("gtx480",
                          {"l1.allocate=" + allocate, "l1.prefetch=" + std::string(choice.name), "l1.prefetchDegree=2"},
                          options);
                const VirtualAddress area = h.buffer(64_KiB);
                const LaunchId launch = h.run(kernelText(body), {{60}, {12}}, {area});
                h.gpu.runFor(100'000);  // what is under way comes
                std::uint64_t unused = 0;
                for (std::uint32_t sm = 0; sm < 15; ++sm) {
                    const CacheTags& l1 = h.gpu.sm(h.context, sm).loadStore().l1();
                    for (std::uint32_t way = 0; way < l1.sets() * l1.ways(); ++way)
                        unused += l1.state(way).prefetched != 0;
                }
                const Counters& c = h.gpu.counters(launch);
                EXPECT_EQ(c.l1Prefetches, c.l1PrefetchesUseful + c.l1PrefetchesLate + c.l1PrefetchesUseless + unused)
                    << scheduler << " " << allocate << " " << choice.name;
                EXPECT_EQ(c.l1Prefetches == 0, choice.name == "none");
            }
}

}  // namespace
}  // namespace bulkhead::sim
