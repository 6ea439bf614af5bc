// What blocks do that are executed without time: what they would do on an SM.

#include "sim/untimed_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::size_t kWords = 8192;

/// %r1: thread in its block, %r2: block, %r3: thread in the grid.
const std::string kNumbers =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r3, %r2, %r4, %r1;\n"
    "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4;\n";

/// A kernel and its memory, words that begin as 0, to be executed without time.
struct Untimed {
    Untimed(const std::string& text, Dim3 grid, Dim3 block, std::uint64_t resident = kAll) {
        module = h.gpu.load(h.context, ptx::parse(text, "test.ptx"));
        context.program = module.program.get();
        context.code = module.program->kernel("k");
        context.grid = grid;
        context.block = block;
        context.params.resize(context.code->kernelParamBytes);
        const VirtualAddress a = h.buffer(4 * kWords);
        std::memcpy(context.params.data(), &a, sizeof a);
        context.memory = &h.gpu.memory(h.context).space();
        context.print = [this](std::string_view text) { printed += text; };
        words = h.data<std::uint32_t>(a, kWords);
        blocks.emplace(context, resident, now);
        blocks->add(0, grid.count());
    }
    UntimedBlocks::Outcome run(std::uint64_t most = kAll, bool others = false) { return blocks->run(most, others); }
    /// The error that it must end with.
    LaunchError error() {
        try {
            run();
        } catch (const LaunchError& error) {
            return error;
        }
        throw Error("nothing went wrong");
    }

    Harness h;
    LoadedModule module;
    LaunchContext context;
    std::string printed;
    Cycles now = 0;
    std::uint32_t* words = nullptr;
    std::optional<UntimedBlocks> blocks;
};

TEST(UntimedBlocks, AnAtomicsResultIsThereForTheNextInstruction) {
    Untimed u(kernelText(kNumbers + "atom.global.add.u32 %r5, [%rd1], 1; st.global.u32 [%rd5+4], %r5;"), {20}, {96});
    EXPECT_EQ(u.run(), UntimedBlocks::Outcome::done);
    EXPECT_EQ(u.words[0], 20u * 96);
    std::vector<std::uint32_t> tickets(u.words + 1, u.words + 1 + 20 * 96), expected(tickets.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::sort(tickets);
    EXPECT_EQ(tickets, expected);
}

TEST(UntimedBlocks, ABarrierHoldsTheWarpsOfItsBlock) {
    // Each thread leaves its number in shared memory and takes that of the thread opposite.
    Untimed u(kernelText(kNumbers + "mov.u32 %r5, s; shl.b32 %r6, %r1, 2; add.u32 %r6, %r6, %r5;\n"
                                    "st.shared.u32 [%r6], %r3; bar.sync 0; mov.u32 %r7, 127; sub.u32 %r7, %r7, %r1;\n"
                                    "shl.b32 %r7, %r7, 2; add.u32 %r7, %r7, %r5; ld.shared.u32 %r8, [%r7];\n"
                                    "st.global.u32 [%rd5], %r8;",
                         ".shared .align 4 .b8 s[512];"),
              {10}, {128});
    u.run();
    for (std::uint32_t i = 0; i < 10 * 128; ++i) EXPECT_EQ(u.words[i], i / 128 * 128 + 127 - i % 128);
}

/// Block b waits until block b + 1 has set its flag; the last one sets its own at once.
const std::string kWaitForNext =
    kernelText(kNumbers +
               "mov.u32 %r9, %nctaid.x; sub.u32 %r9, %r9, 1; mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd6, %rd1;\n"
               "setp.eq.u32 %p1, %r2, %r9; @%p1 bra S;\n"
               "W: ld.volatile.global.u32 %r5, [%rd6+4]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n"
               "S: st.volatile.global.u32 [%rd6], 7;");

TEST(UntimedBlocks, BlocksThatAreOnTheGpuTogetherMayWaitForEachOther) {
    Untimed u(kWaitForNext, {12}, {32}, 12);
    EXPECT_EQ(u.run(), UntimedBlocks::Outcome::done);
    for (std::size_t block = 0; block < 12; ++block) EXPECT_EQ(u.words[block], 7u);
}

TEST(UntimedBlocks, ABlockThatFindsNoRoomIsWaitedForInVain) {
    Untimed u(kWaitForNext, {12}, {32}, 11);
    const LaunchError error = u.error();
    EXPECT_EQ(error.cause, LaunchError::Cause::noProgress);
    EXPECT_NE(std::string(error.what()).find("goes round in circles, and nothing is left that could end it"),
              std::string::npos)
        << error.what();
}

TEST(UntimedBlocks, WaitForWhatOthersDo) {
    Untimed u(kernelText("W: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W;\n"
                         "st.global.u32 [%rd1+4], %r5;"),
              {1}, {32});
    EXPECT_EQ(u.run(kAll, true), UntimedBlocks::Outcome::waiting);
    EXPECT_EQ(u.words[1], 0u);
    u.words[0] = 5;
    EXPECT_EQ(u.run(kAll, true), UntimedBlocks::Outcome::done);
    EXPECT_EQ(u.words[1], 5u);
}

TEST(UntimedBlocks, ALongComputationIsNoEndlessLoop) {
    // 300 000 rounds of three instructions, without a store or a barrier.
    Untimed u(
        kernelText(kNumbers + "mov.u32 %r5, 0;\nL: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 300000; @%p1 bra L;\n"
                              "st.global.u32 [%rd5], %r5;"),
        {2}, {32});
    EXPECT_EQ(u.run(), UntimedBlocks::Outcome::done);
    EXPECT_EQ(u.words[63], 300'000u);
}

TEST(UntimedBlocks, AnEndlessLoopThatChangesMemoryEndsAtTheLimit) {
    Untimed u(kernelText("L: red.global.add.u32 [%rd1], 1; bra L;"), {3}, {32});
    EXPECT_EQ(u.run(100'000), UntimedBlocks::Outcome::limited);
    EXPECT_GE(u.blocks->counted().warpInstructions, 100'000u);
    EXPECT_LT(u.blocks->counted().warpInstructions, 120'000u);
}

TEST(UntimedBlocks, ABarrierThatCanNeverCompleteIsExplained) {
    Untimed u(kernelText("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1; @!%p1 bar.sync 2;"), {1},
              {64});
    const LaunchError error = u.error();
    EXPECT_EQ(error.cause, LaunchError::Cause::deadlock);
    EXPECT_NE(std::string(error.what()).find("2 of the block's 2 warps wait, the others never come"), std::string::npos)
        << error.what();
}

TEST(UntimedBlocks, AnIllegalAddressEndsThem) {
    Untimed u(
        kernelText(kNumbers + "setp.ne.u32 %p1, %r3, 70; @%p1 bra D; mov.u64 %rd9, 16; st.global.u32 [%rd9], 1; D:"),
        {4}, {32});
    const LaunchError error = u.error();
    EXPECT_EQ(error.cause, LaunchError::Cause::illegalAddress);
    EXPECT_EQ(error.address, 16u);
    EXPECT_NE(std::string(error.what()).find("block (2,0,0), thread (6,0,0)"), std::string::npos) << error.what();
}

TEST(UntimedBlocks, LocalMemoryIsEachThreadsOwn) {
    Untimed u(kernelText(".local .align 8 .b8 v[16];\n" + kNumbers +
                         "st.local.u32 [v+4], %r3; ld.local.u32 %r6, [v+4]; ld.local.u32 %r7, [v];\n"
                         "add.u32 %r6, %r6, %r7; st.global.u32 [%rd5], %r6;"),
              {10}, {64});
    u.run();
    for (std::uint32_t i = 0; i < 640; ++i) EXPECT_EQ(u.words[i], i);
}

TEST(UntimedBlocks, PrintfPrints) {
    Untimed u(
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n"
        ".global .align 1 .b8 format[4] = {37, 100, 32, 0};\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
        ".local .align 8 .b8 values[8]; .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra D;\n"
        "mov.u32 %r2, %ctaid.x; mov.u64 %rd1, values; st.local.u32 [%rd1], %r2;\n"
        "cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2;\n"
        "{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %rd2; st.param.b64 [v], %rd1;\n"
        "call.uni (r), vprintf, (f, v); }\nD: ret;\n}\n",
        {4}, {32});
    u.run();
    EXPECT_EQ(u.printed, "0 1 2 3 ");
}

TEST(UntimedBlocks, CountWhatTheSameBlocksCountOnSms) {
    // Lanes part: thread t goes round t mod 7 times.
    const std::string text =
        kernelText(kNumbers +
                   "rem.u32 %r5, %r1, 7; mov.u32 %r6, 0;\n"
                   "L: setp.ge.u32 %p1, %r6, %r5; @%p1 bra D; ld.global.u32 %r7, [%rd5]; add.u32 %r6, %r6, 1;\n"
                   "bra L;\nD: st.global.u32 [%rd5], %r6;");
    Untimed u(text, {30}, {96});
    u.run();
    Harness h;
    const Counters timed = h.gpu.counters(h.run(text, {{30}, {96}}, {h.buffer(4 * kWords)}));
    const Counters& untimed = u.blocks->counted();
    EXPECT_EQ(untimed.warpInstructions, timed.warpInstructions);
    EXPECT_EQ(untimed.threadInstructions, timed.threadInstructions);
    EXPECT_EQ(untimed.memoryInstructions, timed.memoryInstructions);
    EXPECT_EQ(untimed.blocks, 30u);
}

TEST(UntimedBlocks, ProgramsSayWhatReadsTimeOrPlace) {
    const auto reads = [](const std::string& body, const std::string& before = "") {
        return lower(ptx::parse(kernelText(body, before), "test.ptx"))->kernel("k")->readsTimeOrPlace;
    };
    EXPECT_FALSE(reads("mov.u32 %r1, %tid.x; mov.u32 %r2, %nsmid;"));
    for (const char* name : {"clock", "smid", "warpid", "globaltimer_lo", "clock_hi"})
        EXPECT_TRUE(reads("mov.u32 %r1, %" + std::string(name) + ";")) << name;
    EXPECT_TRUE(reads("mov.u64 %rd9, %clock64;"));
    // A function that it calls counts; one that it does not call does not.
    const std::string function = ".func f() { .reg .b32 %r<2>; mov.u32 %r1, %clock; ret; }\n";
    EXPECT_TRUE(reads("call.uni f;", function));
    EXPECT_FALSE(reads("", function));
}

}  // namespace
}  // namespace bulkhead::sim
