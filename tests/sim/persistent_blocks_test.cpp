// Kernels rewritten to persistent blocks do what they did, on the SMs they may use.

#include "ptx/persistent_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "harness.h"

namespace bulkhead::sim::test {
namespace {

using ptx::PersistentQueue;
using ptx::withPersistentBlocks;

std::string walled(const std::string& text) {
    return withPersistentBlocks(ptx::parse(text, "test.ptx"));
}

/// Launches a walled kernel of three pointers the way the real thing is launched: a row of blocks that fills the GPU.
struct Walls {
    Harness h{"gtx1080"};
    VirtualAddress queue = h.buffer(4 * PersistentQueue::kWords);
    ptx::PersistentLaunch next;  ///< what the next launch is told
    unsigned turn = 0;
    unsigned smCount = static_cast<unsigned>(h.gpu.profile().sm.count);

    std::uint32_t* words() { return h.data<std::uint32_t>(queue, PersistentQueue::kWords); }
    void allow(const std::set<unsigned>& sms) {
        for (const unsigned sm : sms) next.sms[sm / 32] |= 1u << sm % 32;
    }
    LaunchRecord run(const std::string& text, Dim3 grid, Dim3 block, std::vector<std::uint64_t> arguments,
                     unsigned physicalBlocks) {
        arguments.resize(3);
        next.queue = queue;
        next.turn = queue + 4 * PersistentQueue::turn(turn);
        next.before = queue + 4 * PersistentQueue::turn(1 - turn);
        next.grid[0] = grid.x;
        next.grid[1] = grid.y;
        next.grid[2] = grid.z;
        const LoadedModule module = h.gpu.load(h.context, ptx::parse(text, "test.ptx"));
        LaunchSpec spec;
        spec.program = module.program;
        spec.code = module.program->kernel("k");
        spec.grid = {physicalBlocks, 1, 1};
        spec.block = block;
        spec.params.resize(spec.code->kernelParamBytes);
        if (spec.params.size() != 8 * arguments.size() + sizeof next) throw Error("the kernel has no walls");
        std::memcpy(spec.params.data(), arguments.data(), 8 * arguments.size());
        std::memcpy(spec.params.data() + 8 * arguments.size(), &next, sizeof next);
        turn = 1 - turn;
        next.clear = 4 * (PersistentQueue::kPlaced + (smCount + 3) / 4 * 4);
        const LaunchId launch = h.gpu.launch(h.stream, std::move(spec));
        h.gpu.finishLaunch(launch);
        return h.gpu.record(launch);
    }
};

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

TEST(PersistentBlocks, AKernelWhoseThreadsLeaveBeforeABarrierIsRefused) {
    const std::string leaves = "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; bar.sync 0;";
    EXPECT_THROW(walled(kernelText(leaves)), ptx::PtxError);
    const std::string passes = "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 10; @%p1 bra END; bar.sync 0;\nEND:";
    EXPECT_THROW(walled(kernelText(passes)), ptx::PtxError);
}

TEST(PersistentBlocks, LeavingOrLoopingTogetherBeforeABarrierIsFine) {
    const std::string whole = "mov.u32 %r1, %ctaid.x; setp.gt.u32 %p1, %r1, 10; @%p1 ret; bar.sync 0;";
    EXPECT_NO_THROW(walled(kernelText(whole)));
    const std::string loop =
        "mov.u32 %r1, 0; ld.param.u32 %r2, [c];\nLOOP: bar.sync 0; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r2;\n"
        "@%p1 bra LOOP;";
    EXPECT_NO_THROW(walled(kernelText(loop)));
}

TEST(PersistentBlocks, AFunctionThatAsksForItsBlockIsRefused) {
    const std::string text =
        ".version 7.0\n.target sm_80\n.address_size 64\n.func (.param .b32 r) f()\n{\n.reg .b32 %r<2>;\n"
        "mov.u32 %r1, %ctaid.x; st.param.b32 [r], %r1; ret;\n}\n";
    EXPECT_THROW(walled(text), ptx::PtxError);
}

}  // namespace
}  // namespace bulkhead::sim::test
