// Kernels rewritten to persistent blocks do what they did, on the SMs they may use.

#include "ptx/persistent_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "persistent_walls.h"

namespace bulkhead::sim::test {
namespace {

using ptx::PersistentQueue;
using ptx::withPersistentBlocks;

std::string walled(const std::string& text) {
    return withPersistentBlocks(ptx::parse(text, "test.ptx")).text;
}

/// Counts how often each block (of a grid of X x Y x Z) ran, and notes its SM.
const char* const kCount =
    "mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r4, %r4, %r2, %r3; mul.wide.u32 %rd4, %r4, 4;\n"
    "add.u64 %rd5, %rd1, %rd4; red.global.add.u32 [%rd5], 1; mov.u32 %r5, %smid; add.u64 %rd6, %rd2, %rd4;\n"
    "st.global.u32 [%rd6], %r5;";

/// Keeps a block for some microseconds.
const char* const kLinger =
    "mov.u64 %rd7, %clock64;\nLINGER: mov.u64 %rd8, %clock64; sub.u64 %rd9, %rd8, %rd7;\n"
    "setp.lt.u64 %p1, %rd9, 5000; @%p1 bra LINGER;";

TEST(PersistentBlocks, EveryBlockOfTheGridRunsOnceOnAnAllowedSm) {
    Walls w;
    w.allow({1, 4, 7});
    const Dim3 grid{5, 7, 3};
    const std::size_t blocks = 105, threads = 96;
    const VirtualAddress counts = w.h.buffer(4 * blocks), sms = w.h.buffer(4 * blocks);
    const LaunchRecord record = w.run(walled(kernelText(kCount)), grid, {48, 2, 1}, {counts, sms}, 200);
    ASSERT_FALSE(record.error) << record.error->what();
    std::set<std::uint32_t> used;
    for (std::size_t i = 0; i < blocks; ++i) {
        EXPECT_EQ(w.h.data<std::uint32_t>(counts, blocks)[i], threads);
        used.insert(w.h.data<std::uint32_t>(sms, blocks)[i]);
    }
    EXPECT_EQ(used, (std::set<std::uint32_t>{1, 4, 7}));
}

TEST(PersistentBlocks, TheQueueIsReadyForTheNextLaunch) {
    Walls w;
    w.allow({0, 1});
    const VirtualAddress counts = w.h.buffer(4 * 10), sms = w.h.buffer(4 * 10);
    for (int round = 1; round <= 3; ++round) {
        w.run(walled(kernelText(kCount)), {10, 1, 1}, {32, 1, 1}, {counts, sms}, 60);
        EXPECT_EQ(w.h.data<std::uint32_t>(counts, 10)[9], 32u * round);
        const std::uint32_t* const cleared = w.words() + PersistentQueue::turn(w.turn);
        for (unsigned i = 0; i < PersistentQueue::kPlaced + w.smCount; ++i) EXPECT_EQ(cleared[i], 0u) << i;
    }
}

TEST(PersistentBlocks, BlocksNoteWhereTheyWorked) {
    Walls w;
    w.allow({1, 4, 7});
    const VirtualAddress counts = w.h.buffer(4 * 100), sms = w.h.buffer(4 * 100);
    w.run(walled(kernelText(kCount)), {100, 1, 1}, {32, 1, 1}, {counts, sms}, 200);
    for (unsigned sm = 0; sm < w.smCount; ++sm)
        EXPECT_EQ(w.words()[PersistentQueue::kUsed + sm], sm == 1 || sm == 4 || sm == 7 ? 1u : 0u) << sm;
    EXPECT_EQ(w.words()[PersistentQueue::kStrays], 0u);
}

TEST(PersistentBlocks, ALaunchThatFindsNoPlaceInsideIsNotLost) {
    Walls w;
    w.allow({});
    const Dim3 grid{5, 7, 3};
    const VirtualAddress counts = w.h.buffer(4 * 105), sms = w.h.buffer(4 * 105);
    for (std::uint32_t round = 1; round <= 2; ++round) {
        const LaunchRecord record = w.run(walled(kernelText(kCount)), grid, {48, 2, 1}, {counts, sms}, 40);
        ASSERT_FALSE(record.error) << record.error->what();
        for (std::size_t i = 0; i < 105; ++i) EXPECT_EQ(w.h.data<std::uint32_t>(counts, 105)[i], 96 * round);
        EXPECT_EQ(w.words()[PersistentQueue::kStrays], round);
    }
}

/// How many blocks of a grid each SM had.
std::map<std::uint32_t, unsigned> blocksOfSms(Walls& w, VirtualAddress sms, unsigned blocks) {
    std::map<std::uint32_t, unsigned> counts;
    for (unsigned i = 0; i < blocks; ++i) ++counts[w.h.data<std::uint32_t>(sms, blocks)[i]];
    return counts;
}

TEST(PersistentBlocks, NoSmHasMoreBlocksThanWanted) {
    // Many more physical blocks than work: whoever comes first must not take it all.
    Walls w;
    w.allow({1, 4, 7});
    w.next.most = 2;
    const VirtualAddress counts = w.h.buffer(4 * 6), sms = w.h.buffer(4 * 6);
    for (unsigned round = 1; round <= 3; ++round) {
        w.run(walled(kernelText(std::string(kCount) + kLinger)), {6, 1, 1}, {32, 1, 1}, {counts, sms}, 400);
        EXPECT_EQ(blocksOfSms(w, sms, 6), (std::map<std::uint32_t, unsigned>{{1, 2}, {4, 2}, {7, 2}}));
        EXPECT_EQ(w.h.data<std::uint32_t>(counts, 6)[5], 32u * round);
    }
}

TEST(PersistentBlocks, NobodyHoldsAnIndexThatAnotherCouldWorkAt) {
    // Four places, eight indices of equal length, of which the last four may not be fetched ahead.
    Walls w;
    w.allow({0, 1, 2, 3});
    w.next.most = 1;
    w.next.ahead = 4;
    const VirtualAddress counts = w.h.buffer(4 * 8), sms = w.h.buffer(4 * 8);
    w.run(walled(kernelText(std::string(kCount) + kLinger)), {8, 1, 1}, {32, 1, 1}, {counts, sms}, 60);
    EXPECT_EQ(blocksOfSms(w, sms, 8), (std::map<std::uint32_t, unsigned>{{0, 2}, {1, 2}, {2, 2}, {3, 2}}));
}

TEST(PersistentBlocks, KernelsKeepTheirOwnBarriersAndSharedMemory) {
    // Each block reverses 64 numbers through shared memory.
    const std::string body =
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 64, %r1; mul.wide.u32 %rd4, %r3, 4;\n"
        "add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r4, [%rd5]; mov.u32 %r5, tile; shl.b32 %r6, %r1, 2;\n"
        "add.u32 %r7, %r5, %r6; st.shared.u32 [%r7], %r4; bar.sync 0; sub.u32 %r8, 252, %r6; add.u32 %r9, %r5, %r8;\n"
        "ld.shared.u32 %r10, [%r9]; st.global.u32 [%rd5], %r10;";
    Walls w;
    w.allow({2, 3});
    const unsigned n = 64 * 300;
    const VirtualAddress x = w.h.buffer(4 * n);
    std::iota(w.h.data<std::uint32_t>(x, n), w.h.data<std::uint32_t>(x, n) + n, 0u);
    const std::string text = kernelText(body, ".shared .align 4 .b8 tile[256];");
    const LaunchRecord record = w.run(walled(text), {300, 1, 1}, {64, 1, 1}, {x}, 640);
    ASSERT_FALSE(record.error) << record.error->what();
    for (unsigned i = 0; i < n; ++i)
        ASSERT_EQ(w.h.data<std::uint32_t>(x, n)[i], i / 64 * 64 + 63 - i % 64) << "element " << i;
}

TEST(PersistentBlocks, ThreadsThatReturnEarlyTakePartInTheNextBlock) {
    // Threads past 10 return at once; the others count their block.
    const std::string body =
        "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r2, 4;\n"
        "add.u64 %rd5, %rd1, %rd4; red.global.add.u32 [%rd5], 1;";
    Walls w;
    w.allow({0});
    const VirtualAddress counts = w.h.buffer(4 * 50);
    const LaunchRecord record = w.run(walled(kernelText(body)), {50, 1, 1}, {64, 1, 1}, {counts}, 100);
    ASSERT_FALSE(record.error) << record.error->what();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(w.h.data<std::uint32_t>(counts, 50)[i], 11u);
}

/// Each thread that stays adds what its neighbour among those has.
const char* const kOfNeighbour =
    "mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r7, %r5, %r6; st.shared.u32 [%r7], %r1; bar.sync 0;\n"
    "xor.b32 %r8, %r1, 1; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r5; ld.shared.u32 %r9, [%r8]; mov.u32 %r2, "
    "%ctaid.x;\n"
    "mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4; red.global.add.u32 [%rd5], %r9;";

TEST(PersistentBlocks, ThreadsThatHaveLeftAreNotWaitedForAtBarriers) {
    // Of 96 threads the first 40 stay: a warp, and a part of another.
    const std::string body = "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 40; @%p1 ret;\n" + std::string(kOfNeighbour);
    const ptx::PersistentModule module =
        withPersistentBlocks(ptx::parse(kernelText(body, ".shared .align 4 .b8 tile[512];"), "test.ptx"));
    ASSERT_TRUE(module.refused.empty()) << module.refused.at("k");
    Walls w;
    w.allow({0, 5});
    const VirtualAddress sums = w.h.buffer(4 * 50);
    const LaunchRecord record = w.run(module.text, {50, 1, 1}, {96, 1, 1}, {sums}, 100);
    ASSERT_FALSE(record.error) << record.error->what();
    for (int i = 0; i < 50; ++i) EXPECT_EQ(w.h.data<std::uint32_t>(sums, 50)[i], 40u * 39 / 2);
}

TEST(PersistentBlocks, BarriersOfAllThreadsCostNothing) {
    const auto bytes = [](const std::string& body) {
        return withPersistentBlocks(ptx::parse(kernelText(body), "test.ptx")).kernels.at("k").sharedBytes;
    };
    EXPECT_EQ(bytes("mov.u32 %r1, %ctaid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; bar.sync 0;"), 4u) << "leave together";
    EXPECT_EQ(bytes("mov.u32 %r1, 0; ld.param.u32 %r2, [c];\nLOOP: bar.sync 0; add.u32 %r1, %r1, 1;\n"
                    "setp.lt.u32 %p1, %r1, %r2; @%p1 bra LOOP;"),
              4u)
        << "loop together";
    EXPECT_EQ(bytes("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 31; @%p1 bra END; bar.warp.sync -1;\nEND:"), 4u)
        << "of a warp";
    EXPECT_EQ(bytes("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 31; @%p1 ret; bar.sync 2, 32;"), 4u) << "of some";
    EXPECT_GT(bytes("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; bar.sync 0;"), 4u) << "not together";
}

TEST(PersistentBlocks, AFunctionWhoseBarriersThreadsStandInAtCountsForAllThatCallIt) {
    const std::string head = ".version 7.0\n.target sm_80\n.address_size 64\n.func meet() { bar.sync 0; ret; }\n";
    const auto kernel = [](const std::string& name, const std::string& body) {
        return ".visible .entry " + name + "() { .reg .pred %p; .reg .b32 %r; " + body + " ret; }\n";
    };
    const std::string leaves = "mov.u32 %r, %tid.x; setp.gt.u32 %p, %r, 10; @%p ret; call meet;";
    const auto kernels =
        withPersistentBlocks(
            ptx::parse(head + kernel("leaves", leaves) + kernel("stays", "call meet;") + kernel("other", "bar.sync 0;"),
                       "test.ptx"))
            .kernels;
    EXPECT_GT(kernels.at("stays").sharedBytes, 100u) << "or the function would count at no place";
    EXPECT_EQ(kernels.at("other").sharedBytes, 4u);
    const auto alone = withPersistentBlocks(ptx::parse(head + kernel("stays", "call meet;"), "test.ptx")).kernels;
    EXPECT_EQ(alone.at("stays").sharedBytes, 4u);
}

TEST(PersistentBlocks, TheLoopsBarrierIsNoneOfTheKernels) {
    const auto loopBarrier = [](const std::string& body) {
        const std::string text = withPersistentBlocks(ptx::parse(kernelText(body), "test.ptx")).text;
        const std::string_view head = "$bulkhead_next:\n\tbar.sync ";
        return std::stoi(text.substr(text.find(head) + head.size()));
    };
    EXPECT_EQ(loopBarrier("bar.sync 0;"), 1);
    EXPECT_EQ(loopBarrier("bar.sync 0; bar.sync 1; bar.red.or.pred %p1, 2, %p2;"), 3);
    EXPECT_EQ(loopBarrier("bar.sync 0, 64; bar.sync 1, 64;"), 3) << "2 is kept for threads that stand in";
}

/// Why a kernel is refused.
std::string refusal(const std::string& text) {
    const ptx::PersistentModule module = withPersistentBlocks(ptx::parse(text, "test.ptx"));
    return module.refused.contains("k") ? module.refused.at("k") : "not refused";
}

void expectRefused(const std::string& body, const std::string& why, const std::string& declarations = "") {
    const std::string found = refusal(kernelText(body, declarations));
    EXPECT_NE(found.find(why), std::string::npos) << body << "\n" << found;
}

TEST(PersistentBlocks, WhatABlockWouldFindOfTheOneBeforeIsRefused) {
    expectRefused("bar.arrive 1, 64;", "half full");
    expectRefused("barrier.arrive.aligned 1, 64;", "half full");
    expectRefused("mbarrier.init.shared.b64 [%rd1], 32;", "mbarrier objects of the block before");
    expectRefused("cp.async.bulk.commit_group;", "outlast its block");
    expectRefused("alloca.u64 %rd5, 16;", "the next one would not have");
}

TEST(PersistentBlocks, WhatTheLoopDoesNotKnowIsRefused) {
    expectRefused("barrier.cluster.arrive;", "cluster");
    expectRefused("mov.u32 %r1, %clusterid.x;", "cluster");
    expectRefused(".reg .b16 %h1; mov.u16 %h1, %ctaid.x;", "16 bits");
    expectRefused("ld.global.u32 %r1, [%rd1]; bar.sync %r1, 64;", "cannot be told before the launch");
    expectRefused("call f;", "ends its thread", ".func f() { exit; }");
    expectRefused("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; bar.red.or.pred %p2, 0, %p3;", "a vote");
    expectRefused("mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; bar.sync 1; bar.sync 1, 64;", "for some");
    std::string all;
    for (int i = 0; i < 16; ++i) all += fmt::format("bar.sync {}, 64; ", i);
    expectRefused(all, "none of the 16 barriers");
}

TEST(PersistentBlocks, AGuardedReturnThatKeepsLanesFromMeetingIsRefused) {
    // Lanes of one side would come to the barrier, or exchange values, without those of the other.
    const std::string sides =
        "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r1, 7; @%p1 bra OTHER;\n"
        "add.u32 %r3, %r1, 1; @%p2 ret;\nOTHER: ";
    expectRefused(sides + "bar.sync 0;", "would not meet again");
    expectRefused(sides + "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;", "would not meet again");
    EXPECT_EQ(refusal(kernelText(sides + "add.u32 %r4, %r3, 1;")), "not refused");
}

TEST(PersistentBlocks, OneRefusedKernelLeavesTheOthersAndTraps) {
    const std::string text =
        ".version 7.0\n.target sm_80\n.address_size 64\n.func leaves()\n{\nexit;\n}\n"
        ".visible .entry refused(.param .u64 a, .param .u64 b, .param .u64 c)\n{\ncall leaves; ret;\n}\n" +
        kernelText(kCount).substr(kernelText(kCount).find(".visible"));
    const ptx::PersistentModule module = withPersistentBlocks(ptx::parse(text, "test.ptx"));
    ASSERT_EQ(module.refused.size(), 1u);
    EXPECT_NE(module.refused.at("refused").find("test.ptx:6:1"), std::string::npos) << module.refused.at("refused");
    const ptx::Module parsed = ptx::parse(module.text, "test.ptx");
    for (const char* name : {"refused", "leaves"}) {
        ASSERT_EQ(parsed.find(name)->body.size(), 2u) << name;
        EXPECT_EQ(parsed.find(name)->body[0].opcode, "trap") << name;
    }
    Walls w;
    w.allow({1});
    const VirtualAddress counts = w.h.buffer(4 * 10), sms = w.h.buffer(4 * 10);
    EXPECT_FALSE(w.run(module.text, {10, 1, 1}, {32, 1, 1}, {counts, sms}, 30).error);
    EXPECT_EQ(w.h.data<std::uint32_t>(counts, 10)[9], 32u);
}

TEST(PersistentBlocks, InstructionsThatLackOperandsAreLeftToTheDriver) {
    for (const char* broken : {"ld.param.u32 %r1;", "st.param.u32;", "mov.u32 %r1;", "bar.sync;", "bar.red;", "ld;"}) {
        const std::string text = kernelText(std::string(broken) +
                                            " mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0;\n"
                                            "@%p1 ret; bar.sync %r1;");
        EXPECT_NE(walled(text).find(broken), std::string::npos) << broken;
    }
}

TEST(PersistentBlocks, FunctionsFindTheirBlock) {
    const std::string function =
        ".func (.param .b32 r) index()\n{\n.reg .b32 %r<6>;\nmov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y;\n"
        "mov.u32 %r3, %ctaid.y; mad.lo.u32 %r4, %r1, %r2, %r3; mov.u32 %r2, %nctaid.x;\n"
        "mad.lo.u32 %r4, %r4, %r2, %ctaid.x; st.param.b32 [r], %r4; ret;\n}\n";
    const std::string body =
        "{ .param .b32 q; call (q), index; ld.param.b32 %r4, [q]; }\nmul.wide.u32 %rd4, %r4, 4; add.u64 %rd5, %rd1, "
        "%rd4;\n"
        "red.global.add.u32 [%rd5], 1;";
    Walls w;
    w.allow({1, 4, 7});
    const VirtualAddress counts = w.h.buffer(4 * 105);
    const LaunchRecord record = w.run(walled(kernelText(body, function)), {5, 7, 3}, {48, 2, 1}, {counts}, 200);
    ASSERT_FALSE(record.error) << record.error->what();
    for (int i = 0; i < 105; ++i) EXPECT_EQ(w.h.data<std::uint32_t>(counts, 105)[i], 96u) << i;
}

TEST(PersistentBlocks, KernelsWithoutSharedMemoryToSpareFindTheirBlockInMemory) {
    const std::string text =
        kernelText(std::string(kCount) + "st.shared.u32 [tile+49148], %r1;", ".shared .align 4 .b8 tile[49152];");
    const ptx::PersistentModule module = withPersistentBlocks(ptx::parse(text, "test.ptx"));
    EXPECT_TRUE(module.kernels.at("k").usesSlots);
    EXPECT_EQ(module.kernels.at("k").sharedBytes, 0u);
    Walls w;
    w.allow({1, 4, 7});
    w.next.slots = w.h.buffer(4 * PersistentQueue::kSlots);
    const VirtualAddress counts = w.h.buffer(4 * 105), sms = w.h.buffer(4 * 105);
    const LaunchRecord record = w.run(module.text, {5, 7, 3}, {48, 2, 1}, {counts, sms}, 60);
    ASSERT_FALSE(record.error) << record.error->what();
    for (int i = 0; i < 105; ++i) EXPECT_EQ(w.h.data<std::uint32_t>(counts, 105)[i], 96u) << i;
}

TEST(PersistentBlocks, CopiesUnderWayEndBeforeTheNextBlock) {
    const std::string text = walled(kernelText("cp.async.ca.shared.global [tile], [%rd1], 16; cp.async.commit_group;",
                                               ".shared .align 16 .b8 tile[16];"));
    const std::size_t wait = text.find("cp.async.wait_all");
    ASSERT_NE(wait, std::string::npos);
    EXPECT_LT(text.find("cp.async.ca"), wait);
    EXPECT_EQ(text.find("ret;"), text.rfind("ret;")) << "nobody leaves by another way";
}

}  // namespace
}  // namespace bulkhead::sim::test
