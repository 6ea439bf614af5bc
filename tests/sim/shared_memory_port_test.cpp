// What products of warpgroups leave of shared memory's bandwidth to others, and others to them.

#include "sim/sm/shared_memory_port.h"

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;

TEST(SharedMemoryPort, ProductsWaitForWhatOthersTook) {
    SharedMemoryPort port(128);
    EXPECT_EQ(port.takeLater(100, 100, 1280), 110u);
    port.take(105, 5 * 128);
    EXPECT_EQ(port.takeLater(105, 110, 1280), 125u);
}

TEST(SharedMemoryPort, WhatQueuedProductsLeaveIdleIsTakenFirst) {
    SharedMemoryPort port(128);
    // Three products of 20 cycles, of which they read for 10 each.
    for (Cycles start = 100; start < 160; start += 20) EXPECT_EQ(port.takeLater(100, start, 1280), start + 10);
    port.take(101, 20 * 128);  // what is idle before the last of them
    EXPECT_EQ(port.takeLater(101, 160, 1280), 170u);
    port.take(151, 15 * 128);  // the last 9 before 160, and 6 more
    EXPECT_EQ(port.takeLater(151, 170, 1280), 186u);
}

TEST(SharedMemoryPort, TimeThatHasPassedIsLost) {
    SharedMemoryPort port(128);
    port.takeLater(100, 100, 1280);
    EXPECT_EQ(port.takeLater(100, 200, 1280), 210u);
    port.take(205, 20 * 128);  // nothing idle is left before 210
    EXPECT_EQ(port.takeLater(205, 210, 1280), 240u);
}

/// Four warps form 64 products of 64x64x16, whose operands take shared memory for 32 cycles each, as long as the tensor
/// cores; four others load so many words of a bank each meanwhile.
Cycles cycles(int loads) {
    std::string text =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .pred %p<4>; .reg .b32 %r<80>; .reg .b64 %rd<8>; .reg .f32 %f<40>;\n"
        ".shared .align 1024 .b8 matrices[8192];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, matrices; setp.ge.u32 %p1, %r1, 128; @%p1 bra LOADS;\n"
        "shr.u32 %r3, %r2, 4; cvt.u64.u32 %rd1, %r3; wgmma.fence.sync.aligned;\n";
    std::string sums;
    for (int i = 0; i < 32; ++i) sums += (i ? ", %f" : "%f") + std::to_string(i);
    const std::string product =
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" + sums + "}, %rd1, %rd1, 1, 1, 1, 0, 0;\n";
    // Two groups of four are under way, so that tensor cores have always something to do.
    text += test::repeat(
        16, test::repeat(4, product) + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;\n");
    text +=
        "wgmma.wait_group.sync.aligned 0; ret;\nLOADS:\n"
        "and.b32 %r4, %r1, 31; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n";
    for (int i = 0; i < loads; ++i) text += "ld.shared.u32 %r" + std::to_string(10 + i % 60) + ", [%r4];\n";
    Harness h("h200");
    return h.cycles(text + "ret;\n}\n", {{1}, {256}});
}

TEST(SharedMemoryPort, LoadsBesideProductsPutThemOff) {
    // 64 products of 32 cycles; 4 warps with 100 loads, a cycle each.
    const Cycles alone = cycles(0), beside = cycles(100);
    EXPECT_GT(alone, 64u * 32);
    EXPECT_GE(beside, alone + 250);
    EXPECT_LE(beside, alone + 450);
}

}  // namespace
}  // namespace bulkhead::sim
