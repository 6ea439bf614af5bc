// Bulk copies in time: the copy engine of an SM, which goes past L1D, and what is seen of its copies before they end.

#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using u32 = std::uint32_t;

const std::string kDeclarations = ".shared .align 8 .b64 object; .shared .align 128 .b8 buffer[32768];";
/// %p1: the first thread, which makes the object at %r2. The buffer is at %r3.
const std::string kBegin = R"(
    mov.u32 %r1, %tid.x; mov.u32 %r2, object; mov.u32 %r3, buffer; setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], 1; bar.sync 0;
)";
const std::string kWait = R"(
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra W;
)";

struct Outcome {
    std::vector<u32> words;
    Cycles cycles = 0;
    Counters counters;
};

Outcome run(const std::string& body, const Harness::Shape& shape, unsigned threads = 1) {
    constexpr std::size_t kWords = 1 << 16;
    Machine::Options options;
    options.threads = threads;
    Harness h("h200", {}, options);
    const VirtualAddress a = h.buffer(4 * kWords), b = h.buffer(4 * kWords);
    for (std::size_t i = 0; i < kWords; ++i) h.data<u32>(a, kWords)[i] = static_cast<u32>(i * 5 + 1);
    const LaunchId launch = h.run(kernelText(kBegin + body, kDeclarations), shape, {a, b});
    const LaunchRecord& record = h.gpu.record(launch);
    if (record.error) throw *record.error;
    return {{h.data<u32>(b, kWords), h.data<u32>(b, kWords) + kWords},
            record.ended - record.started,
            h.gpu.counters(launch)};
}

std::string expectAndCopy(u32 bytes) {
    const std::string n = std::to_string(bytes);
    return "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + n +
           ";\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], " + n +
           ", [%r2];\n";
}

TEST(BulkCopyTime, DataAreThereWhenTheirBytesAreComplete) {
    // What the last word of the buffer is right behind the instruction, and after the wait; and how long that took.
    const Outcome o = run(R"(mov.u32 %r4, %clock;)" + expectAndCopy(16384) + R"(
    ld.shared.u32 %r5, [%r3+16380];
)" + kWait + R"(
    mov.u32 %r6, %clock; sub.u32 %r6, %r6, %r4; ld.shared.u32 %r7, [%r3+16380];
    @%p1 st.global.u32 [%rd2], %r5; @%p1 st.global.u32 [%rd2+4], %r6; @%p1 st.global.u32 [%rd2+8], %r7;
)",
                          {.grid = {1}, .block = {32}});
    EXPECT_EQ(o.words[0], 0u);
    EXPECT_EQ(o.words[2], 4095 * 5 + 1u);
    // No sooner than L2 answers, nor than 128 lines pass at 107 bytes a cycle.
    EXPECT_GT(o.words[1], 16384 / 107 + 200u);
    EXPECT_LT(o.words[1], 4000u);
}

TEST(BulkCopyTime, AWaitForAPhaseIsGivenUp) {
    // On an H200 at 1980 MHz, a warp by itself: 7761 cycles without a time, 7874 with any. A lane by itself: 0.1 us.
    const auto cycles = [](const std::string& before, const std::string& hint) {
        return run(before + "mov.u32 %r4, %clock; mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0" + hint +
                       "; selp.u32 %r7, 1, 0, %p2; mov.u32 %r6, %clock; sub.u32 %r6, %r6, %r4;\n" +
                       "@%p1 st.global.u32 [%rd2], %r6; @%p1 st.global.u32 [%rd2+4], %r7;\nE: bar.warp.sync -1;\n",
                   {.grid = {1}, .block = {32}});
    };
    const std::string oneLane = "@!%p1 bra E;\n";
    for (const char* hint : {"", ", 1", ", 500000"}) {
        const Outcome o = cycles("", hint);
        EXPECT_NEAR(o.words[0], 7800, 100) << hint;
        EXPECT_EQ(o.words[1], 0u);
    }
    EXPECT_NEAR(cycles(oneLane, "").words[0], 200, 50);
    EXPECT_NEAR(cycles(oneLane, ", 10000").words[0], 19800, 200);
}

/// Cycles from the first of so many copies of bytes that are in L2, until the wait for all is over.
u32 cyclesInL2(u32 bytes, u32 copies = 1) {
    std::string copy = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(bytes * copies) + ";\n";
    for (u32 c = 0; c < copies; ++c)
        copy += "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+" + std::to_string(c * bytes) +
                "], [%rd1+" + std::to_string(c * bytes) + "], " + std::to_string(bytes) + ", [%r2];\n";
    return run("mov.u32 %r9, 0;\nAGAIN: mov.u32 %r4, %clock;\n" + copy + R"(
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r9;
    @!%p2 bra W;
    mov.u32 %r6, %clock; sub.u32 %r6, %r6, %r4; st.global.u32 [%rd2], %r6;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 2; @%p3 bra AGAIN;
)",
               {.grid = {1}, .block = {1}})
        .words[0];
}

TEST(BulkCopyTime, TakesAsLongAsOnAnH200) {
    // results/h200/tensor-cores.json: one block, bytes that are in L2.
    for (const auto& [bytes, cycles] :
         {std::pair{16u, 341.1}, {1024u, 349.0}, {4096u, 380.9}, {8192u, 415.9}, {16384u, 487.4}, {32768u, 640.0}})
        EXPECT_NEAR(cyclesInL2(bytes), cycles, 0.04 * cycles) << bytes;
    for (const auto& [bytes, cycles] : {std::pair{128u, 667.6}, {1024u, 682.6}, {4096u, 716.8}})
        EXPECT_NEAR(cyclesInL2(bytes, 8), cycles, 0.04 * cycles) << "eight of " << bytes;
}

TEST(BulkCopyTime, AWaitEndsWithItsCopy) {
    // A port of 128 bytes a cycle of 1660 MHz: every line more is noticed, whatever a window or a round of the wait
    // takes.
    for (u32 lines = 16; lines < 128; lines += 16) {
        const u32 more = cyclesInL2(128 * (lines + 16)) - cyclesInL2(128 * lines);
        EXPECT_NEAR(more, 16 * 1980 / 1660.0, 4) << lines;
    }
}

TEST(BulkCopyTime, CopiesPassByL1) {
    const Outcome o = run(expectAndCopy(16384) + kWait, {.grid = {1}, .block = {32}});
    EXPECT_EQ(o.counters.l1Sectors, 0u);
    EXPECT_GE(o.counters.l2Sectors, 16384 / 32u);
}

TEST(BulkCopyTime, CopiesOfAnSmQueueUp) {
    const auto time = [](u32 copies) {
        std::string body = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(copies * 4096) +
                           ";\nmov.u32 %r4, %clock;\n";
        for (u32 c = 0; c < copies; ++c)
            body += "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+" +
                    std::to_string(c * 4096) + "], [%rd1+" + std::to_string(c * 4096) + "], 4096, [%r2];\n";
        body += kWait + "mov.u32 %r6, %clock; sub.u32 %r6, %r6, %r4; @%p1 st.global.u32 [%rd2], %r6;";
        return run(body, {.grid = {1}, .block = {32}}).words[0];
    };
    const u32 one = time(1), eight = time(8);
    EXPECT_GT(eight, one + 7 * 4096 / 128);
    EXPECT_LT(eight, 8 * one);  // their latencies overlap
}

TEST(BulkCopyTime, GroupsEndWhenTheirBytesAreWritten) {
    // The source may be reused sooner than the result is there; the result is there.
    const Outcome o = run(R"(
    mov.u32 %r4, %r1;
L:  shl.b32 %r5, %r4, 2; add.u32 %r6, %r3, %r5; st.shared.u32 [%r6], %r4; add.u32 %r4, %r4, 32;
    setp.lt.u32 %p3, %r4, 2048; @%p3 bra L;
    bar.sync 0;
    @!%p1 bra DONE;
    mov.u32 %r10, %clock;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3], 4096; cp.async.bulk.commit_group;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2+4096], [%r3+4096], 4096; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0; mov.u32 %r11, %clock;
    mov.u32 %r20, 77; st.shared.u32 [%r3], %r20;
    cp.async.bulk.wait_group 1; mov.u32 %r12, %clock;
    cp.async.bulk.wait_group 0; mov.u32 %r13, %clock;
    sub.u32 %r11, %r11, %r10; sub.u32 %r12, %r12, %r10; sub.u32 %r13, %r13, %r10;
    st.global.u32 [%rd2+16384], %r11; st.global.u32 [%rd2+16388], %r12; st.global.u32 [%rd2+16392], %r13;
DONE:
)",
                          {.grid = {1}, .block = {32}});
    for (u32 i = 0; i < 2048; ++i) ASSERT_EQ(o.words[i], i);
    EXPECT_GT(o.words[4096], 60u);
    EXPECT_GT(o.words[4097], o.words[4096]);
    EXPECT_GE(o.words[4098], o.words[4097]);
    EXPECT_GT(o.words[4098], 250u);
}

/// Each cluster's rank 0 brings 1 KB to all of its blocks, which turn it round among each other and add it to b.
const std::string kCluster = R"(
    mov.u32 %r4, %cluster_ctarank; setp.eq.u32 %p4, %r4, 0; and.pred %p5, %p4, %p1;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 2048;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r5, %clusterid.x; shl.b32 %r5, %r5, 10; cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd1, %rd5;
    mov.u32 %r6, %cluster_nctarank; mov.u32 %r7, 1; shl.b32 %r7, %r7, %r6; sub.u32 %r7, %r7, 1;
    .reg .b16 %h1; cvt.u16.u32 %h1, %r7;
    @%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd6], 1024, [%r2], %h1;
    add.u32 %r8, %r4, 1; rem.u32 %r8, %r8, %r6; mapa.shared::cluster.u32 %r9, %r3, %r8; mapa.shared::cluster.u32 %r10, %r2, %r8;
    shl.b32 %r11, %r1, 5; add.u32 %r12, %r3, %r11; mad.lo.u32 %r13, %r4, 1000, %r1; st.shared.u32 [%r12+8192], %r13;
    bar.sync 0; add.u32 %r14, %r3, 8192; add.u32 %r15, %r9, 4096;
    @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r15], [%r14], 1024, [%r10];
)" + kWait + R"(
    mov.u32 %r20, %ctaid.x; mov.u32 %r21, %ntid.x; mad.lo.u32 %r20, %r20, %r21, %r1; mul.wide.u32 %rd7, %r20, 4;
    add.u64 %rd8, %rd2, %rd7;
    shl.b32 %r22, %r1, 2; add.u32 %r23, %r3, %r22; ld.shared.u32 %r24, [%r23]; ld.shared.u32 %r25, [%r12+4096];
    mad.lo.u32 %r24, %r24, 10000, %r25; st.global.u32 [%rd8], %r24;
    bar.sync 0;
    @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2+131072], [%r3], 128;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
    barrier.cluster.arrive; barrier.cluster.wait;
)";

TEST(BulkCopyTime, ClustersSeeTheSameWithAnyNumberOfHostThreads) {
    const Harness::Shape shape{.grid = {24}, .block = {32}, .cluster = {4}};
    const Outcome one = run(kCluster, shape);
    std::vector<u32> sums(32);
    for (u32 b = 0; b < 24; ++b)
        for (u32 t = 0; t < 32; ++t) {
            const u32 brought = (b / 4 * 256 + t) * 5 + 1;
            EXPECT_EQ(one.words[b * 32 + t], brought * 10'000 + (b + 3) % 4 * 1000 + t) << b << ' ' << t;
            sums[t] += brought;
        }
    for (u32 t = 0; t < 32; ++t) EXPECT_EQ(one.words[32768 + t], sums[t]);
    for (const unsigned threads : {2u, 5u}) {
        const Outcome other = run(kCluster, shape, threads);
        EXPECT_EQ(other.words, one.words);
        EXPECT_EQ(other.cycles, one.cycles);
    }
}

TEST(BulkCopyTime, CopiesOutlastTheirContextsTurn) {
    // Two contexts take turns of 2 us; each brings 4 KB a hundred times, adds them up and sends the sums away.
    const std::string body = kBegin + R"(
    shl.b32 %r5, %r1, 2; add.u32 %r6, %r3, %r5; mov.u32 %r7, 0; mov.u32 %r8, 0;
L:  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 4096;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 4096, [%r2];
    and.b32 %r9, %r7, 1;
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], %r9;
    @!%p2 bra W;
    ld.shared.u32 %r10, [%r6+128]; add.u32 %r8, %r8, %r10; add.u32 %r8, %r8, %r7;
    st.shared.u32 [%r6+8192], %r8; bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r3+8192], 128;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
    bar.sync 0; add.u32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 100; @%p3 bra L;
)";
    Harness h("h200", {"sharing.quantumUs=2", "sharing.switchUs=1"});
    const ContextId second = h.gpu.createContext();
    const StreamId streams[] = {h.stream, h.newStream(second)};
    VirtualAddress out[2];
    LaunchId launches[2];
    for (int c = 0; c < 2; ++c) {
        ContextMemory& memory = h.gpu.memory(c ? second : h.context);
        const VirtualAddress in = memory.allocate(4096);
        out[c] = memory.allocate(128);
        for (u32 i = 0; i < 1024; ++i) reinterpret_cast<u32*>(memory.host(in, 4096))[i] = i + static_cast<u32>(c);
        launches[c] = h.start(kernelText(body, kDeclarations), {.grid = {1}, .block = {32}}, {in, out[c]}, streams[c]);
    }
    h.finishAll();
    for (int c = 0; c < 2; ++c) {
        ASSERT_FALSE(h.gpu.record(launches[c]).error) << h.gpu.record(launches[c]).error->what();
        for (u32 t = 0; t < 32; ++t)
            EXPECT_EQ(reinterpret_cast<u32*>(h.gpu.memory(c ? second : h.context).host(out[c], 128))[t],
                      100 * (32 + t + static_cast<u32>(c)) + 4950);
    }
}

TEST(BulkCopyTime, ABlockThatLeavesItsCopiesBehindIsForgotten) {
    const Outcome o = run(expectAndCopy(16384), {.grid = {400}, .block = {32}});
    EXPECT_EQ(o.counters.blocks, 400u);
}

TEST(BulkCopyTime, WaitingForBytesThatNeverComeIsNoProgress) {
    try {
        run("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;" + kWait, {.grid = {1}, .block = {32}});
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::noProgress) << e.what();
    }
}

}  // namespace
}  // namespace bulkhead::sim
