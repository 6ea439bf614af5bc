// Clusters on SMs that advance apart: where their blocks go, when their barrier opens, and what they see of each
// other.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness.h"
#include "sim/untimed_blocks.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using u32 = std::uint32_t;

/// %r1: the thread; %r2: the block; %rd4: where the block's word of the first parameter is; %r3: its rank.
const std::string kPlace = R"(
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd5, %r2, 4; add.u64 %rd4, %rd1, %rd5;
    mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0;
)";

struct Outcome {
    std::vector<u32> words;
    Cycles cycles = 0;
    bool operator==(const Outcome&) const = default;
};

Outcome run(const std::string& body, const Harness::Shape& shape, unsigned threads = 1,
            const std::vector<std::string>& settings = {}, std::size_t words = 4096) {
    Machine::Options options;
    options.threads = threads;
    Harness h("h200", settings, options);
    const VirtualAddress out = h.buffer(4 * words);
    Outcome result;
    result.cycles = h.cycles(kernelText(kPlace + body, ".shared .align 16 .b32 words[256];"), shape, {out});
    result.words.assign(h.data<u32>(out, words), h.data<u32>(out, words) + words);
    return result;
}

TEST(ClusterPlaces, ABlockIsNextToItsNeighbours) {
    // Blocks that fill an SM each. Numbers are dealt to GPCs in pairs: of the first 64, eight to each of the eight.
    const Outcome r = run("mov.u32 %r4, %smid; @%p1 st.global.u32 [%rd4], %r4;",
                          {.grid = {64}, .block = {1024}, .shared = 200 << 10, .cluster = {8}});
    std::set<u32> used;
    for (u32 cluster = 0; cluster < 8; ++cluster)
        for (u32 rank = 0; rank < 8; ++rank) {
            const u32 sm = r.words[cluster * 8 + rank];
            EXPECT_EQ(sm, cluster * 2 + rank / 2 * 16 + rank % 2);
            EXPECT_TRUE(used.insert(sm).second) << sm;
        }
}

TEST(ClusterPlaces, GpcsAreThoseOfACard) {
    // Of the GPCs of an H200: 15 clusters of 8 SMs at a time, and 7 of 16.
    const auto gpcs = arch::findProfile("h200").clusterNeighbours();
    const std::size_t sizes[] = {8, 16, 16, 16, 16, 16, 18, 18, 2, 2, 2, 2};
    ASSERT_EQ(gpcs.size(), std::size(sizes));
    std::size_t ofEight = 0, ofSixteen = 0;
    std::set<u32> all;
    for (std::size_t g = 0; g < gpcs.size(); ++g) {
        EXPECT_EQ(gpcs[g].size(), sizes[g]);
        ofEight += gpcs[g].size() / 8;
        ofSixteen += gpcs[g].size() / 16;
        for (std::size_t i = 0; i + 1 < gpcs[g].size(); i += 2) EXPECT_EQ(gpcs[g][i] + 1, gpcs[g][i + 1]);
        // Numbers are dealt in pairs.
        for (std::size_t i = 0; i < 8 && gpcs[g].size() > 2; ++i) EXPECT_EQ(gpcs[g][i], 2 * g + 16 * (i / 2) + i % 2);
        all.insert(gpcs[g].begin(), gpcs[g].end());
    }
    EXPECT_EQ(ofEight, 15u);
    EXPECT_EQ(ofSixteen, 7u);
    EXPECT_EQ(all.size(), 132u);
    EXPECT_EQ(*all.rbegin(), 131u);
}

TEST(ClusterPlaces, BlocksOfAClusterStartTogether) {
    const Outcome r =
        run("mov.u32 %r4, %clock; @%p1 st.global.u32 [%rd4], %r4;", {.grid = {64}, .block = {32}, .cluster = {4}});
    for (u32 b = 0; b < 64; ++b) EXPECT_EQ(r.words[b], r.words[b / 4 * 4]);
}

TEST(ClusterPlaces, AClusterWaitsUntilAllOfItFits) {
    // Seven of eight GPCs hold a cluster of 16 such blocks; an eighth comes when one has gone.
    const Outcome r = run(R"(
    mov.u32 %r4, %clock; @%p1 st.global.u32 [%rd4], %r4;
    mov.u32 %r5, 1000; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;
    mov.u32 %r4, %clock; @%p1 st.global.u32 [%rd4+1024], %r4;
)",
                          {.grid = {8 * 16}, .block = {32}, .shared = 200 << 10, .cluster = {16}});
    const u32 firstEnd = *std::min_element(r.words.begin() + 256, r.words.begin() + 256 + 112);
    for (u32 b = 0; b < 16; ++b) EXPECT_GE(r.words[112 + b], firstEnd);
}

TEST(ClusterPlaces, WhatNeverFitsIsRefused) {
    const auto refusal = [](const Harness::Shape& shape, const std::string& gpu = "h200") -> std::string {
        try {
            Harness(gpu).start(kernelText(""), shape);
        } catch (const Error& e) {
            return e.what();
        }
        return {};
    };
    EXPECT_NE(refusal({.grid = {6}, .block = {32}, .cluster = {4}}).find("cannot be divided"), std::string::npos);
    EXPECT_NE(refusal({.grid = {4}, .block = {32}, .cluster = {4}}, "gtx1080").find("no clusters"), std::string::npos);
    EXPECT_NE(refusal({.grid = {32}, .block = {1024}, .shared = 200 << 10, .cluster = {32}}).find("fits no SMs"),
              std::string::npos);
    std::vector<bool> scattered(132);
    for (std::size_t sm = 0; sm < 16; sm += 2) scattered[sm] = true;  // one of each GPC
    EXPECT_NE(refusal({.grid = {2}, .block = {32}, .shared = 200 << 10, .sms = scattered, .cluster = {2}}).find("fits"),
              std::string::npos);
}

TEST(ClusterBarrier, OpensAfterTheLastArrivalAndItsLatency) {
    // Rank 3 comes late. Nobody leaves before it came, and not much later than the latency and a window after it.
    const Outcome r = run(R"(
    setp.ne.u32 %p2, %r3, 3; @%p2 bra ARRIVE;
    mov.u32 %r5, 3000; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p3, %r5, 0; @%p3 bra L;
ARRIVE: mov.u32 %r6, %clock;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r7, %clock;
    @%p1 st.global.u32 [%rd4], %r6; @%p1 st.global.u32 [%rd4+64], %r7;
)",
                          {.grid = {4}, .block = {64}, .cluster = {4}});
    const u32 last = *std::max_element(r.words.begin(), r.words.begin() + 4);
    EXPECT_GT(last, r.words[0] + 3000);
    for (u32 b = 0; b < 4; ++b) {
        EXPECT_GE(r.words[16 + b], last + 340);  // measured on an H200: 346
        EXPECT_LE(r.words[16 + b], last + 352);
    }
}

/// All blocks of a cluster add up each other's words, ten times, each time with what they found before.
const std::string kExchange = R"(
    mov.u32 %r10, words; shl.b32 %r11, %r1, 2; add.u32 %r12, %r10, %r11; mov.u32 %r13, %cluster_nctarank;
    mad.lo.u32 %r14, %r2, 7, %r1; mov.u32 %r15, 10;
ROUND: st.shared.u32 [%r12], %r14;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    mov.u32 %r16, 0; mov.u32 %r17, 0;
RANK: mapa.shared::cluster.u32 %r18, %r12, %r17; ld.shared::cluster.u32 %r19, [%r18];
    mad.lo.u32 %r16, %r16, 3, %r19; add.u32 %r17, %r17, 1; setp.lt.u32 %p2, %r17, %r13; @%p2 bra RANK;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    add.u32 %r14, %r16, %r3;
    mapa.shared::cluster.u32 %r20, %r10, 0; red.shared::cluster.add.u32 [%r20+512], %r14;
    sub.u32 %r15, %r15, 1; setp.ne.u32 %p3, %r15, 0; @%p3 bra ROUND;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mapa.shared::cluster.u32 %r20, %r10, 0; ld.shared::cluster.u32 %r21, [%r20+512];
    add.u32 %r14, %r14, %r21;
    mad.lo.u32 %r22, %r2, 64, %r1; mul.wide.u32 %rd6, %r22, 4; add.u64 %rd6, %rd1, %rd6; st.global.u32 [%rd6], %r14;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
)";

std::vector<u32> exchanged(u32 blocks, u32 size) {
    std::vector<u32> value(blocks * 64), sum(blocks / size);
    for (u32 b = 0; b < blocks; ++b)
        for (u32 t = 0; t < 64; ++t) value[b * 64 + t] = b * 7 + t;
    for (int round = 0; round < 10; ++round) {
        const std::vector<u32> before = value;
        for (u32 b = 0; b < blocks; ++b)
            for (u32 t = 0; t < 64; ++t) {
                u32 v = 0;
                for (u32 rank = 0; rank < size; ++rank) v = v * 3 + before[(b / size * size + rank) * 64 + t];
                value[b * 64 + t] = v + b % size;
                sum[b / size] += v + b % size;
            }
    }
    for (u32 b = 0; b < blocks; ++b)
        for (u32 t = 0; t < 64; ++t) value[b * 64 + t] += sum[b / size];
    return value;
}

TEST(ClusterMemory, IsTheSameForAnyNumberOfHostThreads) {
    const Harness::Shape shape{.grid = {48}, .block = {64}, .cluster = {8}};
    const Outcome one = run(kExchange, shape);
    const std::vector<u32> expected = exchanged(48, 8);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(one.words[i], expected[i]) << i;
    for (const unsigned threads : {2u, 3u, 8u}) EXPECT_EQ(run(kExchange, shape, threads), one) << threads;
}

TEST(ClusterMemory, ALoadFromAnotherBlockTakesTheLatency) {
    // A chain of 32 loads: each gives the address of the next.
    const Outcome r = run(R"(
    mov.u32 %r10, words; xor.b32 %r11, %r3, 1; mapa.shared::cluster.u32 %r12, %r10, %r11;
    @%p1 st.shared.u32 [%r10], %r12;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r13, 32; mov.u32 %r14, %clock; mov.u32 %r15, %r12;
L:  ld.shared::cluster.u32 %r16, [%r15]; and.b32 %r17, %r16, 0; add.u32 %r15, %r12, %r17;
    sub.u32 %r13, %r13, 1; setp.ne.u32 %p2, %r13, 0; @%p2 bra L;
    mov.u32 %r18, %clock; sub.u32 %r18, %r18, %r14;
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p1 st.global.u32 [%rd4], %r18;
)",
                          {.grid = {2}, .block = {32}, .cluster = {2}});
    EXPECT_GE(r.words[0], 32 * 180u);
    EXPECT_LE(r.words[0], 32 * (180u + 60u));
}

TEST(ClusterMemory, BlocksWithoutTimeSeeTheSame) {
    Harness h("h200");
    const VirtualAddress out = h.buffer(4 * 48 * 64);
    const LoadedModule module =
        h.gpu.load(h.context, ptx::parse(kernelText(kPlace + kExchange, ".shared .align 16 .b32 words[256];"), "t"));
    LaunchContext context;
    context.program = module.program.get();
    context.code = module.program->kernel("k");
    context.grid = {48};
    context.block = {64};
    context.cluster = {8};
    context.params.resize(24);
    std::memcpy(context.params.data(), &out, 8);
    context.memory = &h.gpu.memory(h.context).space();
    const Cycles now = 0;
    UntimedBlocks blocks(context, 20, now);  // room for two clusters and a half
    blocks.add(0, 48);
    EXPECT_EQ(blocks.run(~std::uint64_t{0}, false), UntimedBlocks::Outcome::done);
    const std::vector<u32> expected = exchanged(48, 8);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(h.data<u32>(out, expected.size())[i], expected[i]) << i;
}

TEST(ClusterBarrier, ThatCanNeverOpenIsADeadlock) {
    // The second warp of one block waits for the first one, which waits for it at the cluster's.
    try {
        run(R"(setp.ge.u32 %p2, %r1, 32; @%p2 bar.sync 1, 64; barrier.cluster.arrive; barrier.cluster.wait;)",
            {.grid = {2}, .block = {64}, .cluster = {2}});
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::deadlock) << e.what();
    }
}

}  // namespace
}  // namespace bulkhead::sim
