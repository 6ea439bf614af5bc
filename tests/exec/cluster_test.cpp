// Clusters of blocks: who is where in them, their barrier, and each other's shared memory.

#include <gtest/gtest.h>

#include "runner.h"

namespace bulkhead::sim {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// %r20: the block's number in the grid (of up to three dimensions); %rd9: where its thread's word of out is.
const std::string kPlace = R"(
    mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ctaid.y; mov.u32 %r32, %ctaid.z;
    mov.u32 %r33, %nctaid.x; mov.u32 %r34, %nctaid.y; mov.u32 %r35, %ntid.x;
    mad.lo.u32 %r20, %r32, %r34, %r31; mad.lo.u32 %r20, %r20, %r33, %r30;
    mad.lo.u32 %r36, %r20, %r35, %t; mul.wide.u32 %rd9, %r36, 4; add.u64 %rd9, %out, %rd9;
)";
const std::string kStore = "    st.global.u32 [%rd9], %r1;\n";

std::vector<u32> runCluster(const std::string& body, Dim3 grid, Dim3 cluster, u32 threads,
                            const std::string& before = {}) {
    Runner r(kernelWith(kPlace + body + kStore, before));
    const VirtualAddress out = r.upload(std::vector<u32>(grid.count() * threads));
    r.launch("k", {grid, {threads}, 0, cluster}, out);
    return r.download<u32>(out, grid.count() * threads);
}

TEST(Cluster, SpecialRegistersTellAPlaceInThreeDimensions) {
    const auto out = runCluster(R"(
    mov.u32 %r1, %clusterid.x;
    mov.u32 %r2, %clusterid.y; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %clusterid.z; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_ctaid.x; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_ctaid.y; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_ctaid.z; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_ctarank; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %nclusterid.x; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_nctarank; mad.lo.u32 %r1, %r1, 10, %r2;
)",
                                {6, 4, 2}, {3, 2, 1}, 1);
    for (u32 z = 0; z < 2; ++z)
        for (u32 y = 0; y < 4; ++y)
            for (u32 x = 0; x < 6; ++x) {
                u32 expected = 0;
                for (const u32 digit : {x / 3, y / 2, z, x % 3, y % 2, 0u, x % 3 + y % 2 * 3, 2u, 6u})
                    expected = expected * 10 + digit;
                EXPECT_EQ(out[(z * 4 + y) * 6 + x], expected) << x << ' ' << y << ' ' << z;
            }
}

TEST(Cluster, WithoutOneABlockIsItsOwnCluster) {
    const auto out = runCluster(R"(
    mov.u32 %r1, %clusterid.x; mov.u32 %r2, %nclusterid.x; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_nctaid.x; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.u32 %r2, %cluster_ctarank; mad.lo.u32 %r1, %r1, 10, %r2;
    mov.pred %p1, %is_explicit_cluster; selp.u32 %r2, 1, 0, %p1; mad.lo.u32 %r1, %r1, 10, %r2;
    barrier.cluster.arrive; barrier.cluster.wait;
)",
                                {3}, {}, 1);
    EXPECT_EQ(out, (std::vector<u32>{3100, 13100, 23100}));
}

const std::string kWords = ".shared .align 8 .b32 words[64];";

TEST(Cluster, ThreadsReadOtherBlocksSharedMemoryBehindTheBarrier) {
    // Thread t of rank r reads word t of rank (r + 1) mod 4, by a .shared::cluster address.
    const auto out = runCluster(R"(
    mov.u32 %r2, words; shl.b32 %r3, %t, 2; add.u32 %r2, %r2, %r3;
    mad.lo.u32 %r4, %r20, 1000, %t; st.shared.u32 [%r2], %r4;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    mov.u32 %r5, %cluster_ctarank; add.u32 %r5, %r5, 1; and.b32 %r5, %r5, 3;
    mapa.shared::cluster.u32 %r6, %r2, %r5;
    getctarank.shared::cluster.u32 %r7, %r6;
    ld.shared::cluster.u32 %r1, [%r6];
    mad.lo.u32 %r1, %r7, 100000, %r1;
    barrier.cluster.arrive; barrier.cluster.wait;
)",
                                {8}, {4}, 64, kWords);
    for (u32 b = 0; b < 8; ++b)
        for (u32 t = 0; t < 64; ++t) {
            const u32 other = b / 4 * 4 + (b + 1) % 4;
            EXPECT_EQ(out[b * 64 + t], other % 4 * 100'000 + other * 1000 + t);
        }
}

TEST(Cluster, GenericAddressesReachOtherBlocks) {
    // Lanes of one warp read all four blocks, their own among them, and global memory.
    const auto out = runCluster(R"(
    mov.u32 %r2, words; shl.b32 %r3, %t, 2; add.u32 %r2, %r2, %r3;
    mad.lo.u32 %r4, %r20, 1000, %t; st.shared.u32 [%r2], %r4;
    barrier.cluster.arrive; barrier.cluster.wait;
    cvt.u64.u32 %rd2, %r2; cvta.shared.u64 %rd3, %rd2;
    and.b32 %r5, %t, 3;
    mapa.u64 %rd4, %rd3, %r5;
    setp.eq.u32 %p1, %t, 9; mov.u64 %rd5, other; cvta.global.u64 %rd5, %rd5;
    selp.b64 %rd4, %rd5, %rd4, %p1;
    ld.u32 %r1, [%rd4];
    isspacep.shared::cta %p2, %rd4; isspacep.shared::cluster %p3, %rd4;
    @%p2 add.u32 %r1, %r1, 10000; @%p3 add.u32 %r1, %r1, 20000;
    barrier.cluster.arrive; barrier.cluster.wait;
)",
                                {4}, {4}, 32, kWords + " .global .u32 other = 77;");
    for (u32 b = 0; b < 4; ++b)
        for (u32 t = 0; t < 32; ++t) {
            // mapa of one's own rank gives an address of .shared::cta.
            const u32 expected = t == 9 ? 77 : t % 4 * 1000 + t + (t % 4 == b ? 30'000 : 20'000);
            EXPECT_EQ(out[b * 32 + t], expected) << b << ' ' << t;
        }
}

TEST(Cluster, StoresAndAtomicsReachOtherBlocks) {
    // All blocks add to a counter of rank 0 and write their number into word `rank` of all others.
    const auto out = runCluster(R"(
    mov.u32 %r2, words; mov.u32 %r3, %cluster_ctarank;
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r4, %r2, 0;
    atom.shared::cluster.add.u32 %r5, [%r4+128], 1;
    red.shared::cluster.add.u32 [%r4+132], %t;
    and.b32 %r6, %t, 3; mapa.shared::cluster.u32 %r7, %r2, %r6;
    shl.b32 %r8, %r3, 2; add.u32 %r7, %r7, %r8; add.u32 %r9, %r3, 50;
    st.shared::cluster.u32 [%r7], %r9;
    barrier.cluster.arrive; barrier.cluster.wait;
    ld.shared::cluster.u32 %r1, [%r4+128]; ld.shared::cluster.u32 %r10, [%r4+132];
    mad.lo.u32 %r1, %r1, 10000, %r10;
    mov.u32 %r11, 0;
    ld.shared.u32 %r11, [%r2]; ld.shared.u32 %r12, [%r2+4]; ld.shared.u32 %r13, [%r2+8]; ld.shared.u32 %r14, [%r2+12];
    add.u32 %r11, %r11, %r12; add.u32 %r11, %r11, %r13; add.u32 %r11, %r11, %r14;
    add.u32 %r1, %r1, %r11;
    barrier.cluster.arrive; barrier.cluster.wait;
)",
                                {4}, {4}, 32, kWords);
    // 4 blocks of 32 threads; the sum of thread numbers of each is 496; the words are 50 + 51 + 52 + 53.
    for (const u32 value : out) EXPECT_EQ(value, 128 * 10'000 + 4 * 496 + 206u);
}

TEST(Cluster, ThreadsThatHaveExitedAreNotWaitedFor) {
    const auto out = runCluster(R"(
    mov.u32 %r1, 7; st.global.u32 [%rd9], %r1;
    setp.ge.u32 %p1, %t, 40; @%p1 exit;
    mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p2, %r2, 1; @%p2 exit;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u32 %r1, 8;
)",
                                {2}, {2}, 64);
    for (u32 t = 0; t < 64; ++t) {
        EXPECT_EQ(out[t], t < 40 ? 8u : 7u) << t;
        EXPECT_EQ(out[64 + t], 7u);
    }
}

TEST(Cluster, LanesThatPartMeetAtTheBarrier) {
    // Odd and even lanes have a wait of their own.
    const auto out = runCluster(R"(
    and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 1;
    @%p1 bra ODD;
    barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r1, 3;
    bra DONE;
ODD: barrier.cluster.arrive.relaxed; barrier.cluster.wait; mov.u32 %r1, 4;
DONE:
)",
                                {2}, {2}, 32);
    for (u32 i = 0; i < 64; ++i) EXPECT_EQ(out[i], 3 + i % 2);
}

TEST(Cluster, AnMbarrierTakesArrivalsOfOtherBlocks) {
    // Rank 0 waits for one arrival of each other block's threads, and then sees what they wrote before.
    const auto out = runCluster(R"(
    mov.u32 %r2, words; mov.u32 %r3, %cluster_ctarank; mov.u32 %r1, 0;
    setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %t, 0; and.pred %p3, %p1, %p2;
    @%p3 mbarrier.init.shared::cta.b64 [%r2], 96;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p1 bra WAIT;
    mapa.shared::cluster.u32 %r4, %r2, 0; shl.b32 %r5, %r3, 2; add.u32 %r6, %r4, %r5;
    red.shared::cluster.add.u32 [%r6+16], %r3;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
    bra DONE;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r2], 0;
    @!%p4 bra WAIT;
    ld.shared.u32 %r7, [%r2+20]; ld.shared.u32 %r8, [%r2+24]; ld.shared.u32 %r9, [%r2+28];
    mad.lo.u32 %r1, %r9, 1000, %r8; mad.lo.u32 %r1, %r1, 1000, %r7;
DONE: barrier.cluster.arrive; barrier.cluster.wait;
)",
                                {4}, {4}, 32, kWords);
    for (u32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], 96'064'032u);
}

TEST(Cluster, AsynchronousStoresAndReductionsCompleteBytes) {
    // Rank 1 sends 16 + 8 + 4 bytes to rank 0, which waits for 28 of each thread.
    const auto out = runCluster(R"(
    mov.u32 %r2, words; mov.u32 %r3, %cluster_ctarank; mov.u32 %r1, 0;
    setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %t, 0; and.pred %p3, %p1, %p2;
    @%p3 mbarrier.init.shared::cta.b64 [%r2], 1;
    @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 112;
    barrier.cluster.arrive; barrier.cluster.wait;
    @%p1 bra WAIT;
    mapa.shared::cluster.u32 %r4, %r2, 0; shl.b32 %r5, %t, 4; add.u32 %r6, %r4, %r5; add.u32 %r9, %t, 100;
    cvt.u64.u32 %rd3, %r9;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r6+32], {%r9, %r9, %t, %t}, [%r4];
    st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r6+32], %rd3, [%r4];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4+8], %r9, [%r4];
    bra DONE;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], 0;
    @!%p4 bra WAIT;
    shl.b32 %r5, %t, 4; add.u32 %r6, %r2, %r5; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r6+32];
    ld.shared.u32 %r14, [%r2+8];
    mad.lo.u32 %r1, %r10, 10, %r11; mad.lo.u32 %r1, %r1, 10, %r12; mad.lo.u32 %r1, %r1, 10, %r13;
    mad.lo.u32 %r1, %r14, 1000000, %r1;
DONE: barrier.cluster.arrive; barrier.cluster.wait;
)",
                                {2}, {2}, 4, kWords);
    for (u32 t = 0; t < 4; ++t) EXPECT_EQ(out[t], 406'000'000 + (100 + t) * 1000 + t * 11);
}

void expectFailure(const std::string& body, const std::string& part) {
    try {
        runCluster(body, {2}, {2}, 32, kWords);
        FAIL() << "no error: " << part;
    } catch (const LaunchError& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

TEST(Cluster, BadAddressesEndTheKernel) {
    const std::string address = "mov.u32 %r2, words; mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1;";
    expectFailure(address + "mapa.shared::cluster.u32 %r4, %r2, 2;", "there is no block 2 in a cluster of 2");
    expectFailure(address + "mapa.shared::cluster.u32 %r4, %r2, %r3; ld.shared::cluster.u32 %r1, [%r4+256];",
                  "outside the 256 bytes of shared memory of block 1");
    expectFailure(address + "mapa.shared::cluster.u32 %r4, %r2, %r3; ld.shared::cluster.u32 %r1, [%r4+2];",
                  "misaligned");
    expectFailure(address + R"(mapa.shared::cluster.u32 %r4, %r2, %r3;
    setp.eq.u32 %p1, %r3, 1; @%p1 exit;
    mov.u32 %r5, 100; L: sub.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra L;
    ld.shared::cluster.u32 %r1, [%r4];)",
                  "block 0 of the cluster has ended");
    expectFailure(address + R"(mapa.shared::cluster.u32 %r4, %r2, %r3;
    mbarrier.arrive.shared::cluster.b64 _, [%r4];
    barrier.cluster.arrive; barrier.cluster.wait;)",
                  "more arrivals or bytes");
}

}  // namespace
}  // namespace bulkhead::sim
