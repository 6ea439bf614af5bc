// What holds between SMs that advance apart, whatever the number of host threads that advance them.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "harness.h"
#include "sim/timeline.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;

/// Everything that can be seen of a run.
struct Seen {
    Cycles started, ended;
    std::vector<std::uint64_t> counters;
    std::vector<std::uint32_t> memory;
    std::string timeline, printed;
    bool operator==(const Seen&) const = default;
};

constexpr std::size_t kWords = 4096;

Seen run(unsigned threads, const std::string& text, const Harness::Shape& shape,
         const std::vector<std::string>& settings = {}) {
    Timeline timeline(1, 100);
    Machine::Options options;
    options.threads = threads;
    options.observer = &timeline;
    Harness h("gtx1080", settings, options);
    const VirtualAddress a = h.buffer(4 * kWords);
    for (std::size_t i = 0; i < kWords; ++i) h.data<std::uint32_t>(a, kWords)[i] = static_cast<std::uint32_t>(i);
    Seen seen;
    const LoadedModule module = h.gpu.load(h.context, ptx::parse(text, "test.ptx"));
    LaunchSpec spec;
    spec.program = module.program;
    spec.code = module.program->kernel("k");
    spec.grid = shape.grid;
    spec.block = shape.block;
    spec.params.resize(spec.code->kernelParamBytes);
    std::memcpy(spec.params.data(), &a, sizeof a);
    spec.print = [&](std::string_view line) { seen.printed += line; };
    const LaunchId launch = h.gpu.launch(h.stream, std::move(spec));
    h.gpu.finishLaunch(launch);
    const LaunchRecord& record = h.gpu.record(launch);
    if (record.error) throw *record.error;
    seen.started = record.started;
    seen.ended = record.ended;
    Counters counters = h.gpu.counters(launch);
    counters.each([&](std::string_view, std::uint64_t value) { seen.counters.push_back(value); });
    for (const std::uint64_t stall : counters.stalls) seen.counters.push_back(stall);
    seen.memory.assign(h.data<std::uint32_t>(a, kWords), h.data<std::uint32_t>(a, kWords) + kWords);
    seen.timeline = timeline.json();
    return seen;
}

/// The same with 1, 2, 3, 8 and 16 threads; and what it is.
Seen sameForAllThreads(const std::string& text, const Harness::Shape& shape) {
    const Seen one = run(1, text, shape);
    for (const unsigned threads : {2u, 3u, 8u, 16u}) EXPECT_EQ(run(threads, text, shape), one) << threads << " threads";
    return one;
}

/// %r1: thread in its block, %r2: block, %r3: thread in the grid.
const std::string kNumbers =
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r3, %r2, %r4, %r1;\n";

TEST(Windows, AResultThatNobodyWaitsForReachesNoLaterWarp) {
    // The last thing that each of 3,000 blocks does is an atomic whose result it drops; the next block in its place has
    // its own value in that register, and uses it much later.
    std::string wait = "mov.u32 %r8, 0;\n";
    for (int i = 0; i < 40; ++i) wait += "add.u32 %r8, %r8, %r7;\n";
    const Seen seen = sameForAllThreads(
        kernelText("mov.u32 %r7, %nctaid.x;\n" + kNumbers + wait +
                   "sub.u32 %r8, %r8, %r7; rem.u32 %r5, %r2, 120; mad.lo.u32 %r5, %r5, 32, %r1; mul.wide.u32 %rd4, "
                   "%r5, 4;\nadd.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5+128], %r7;\n"
                   "atom.global.add.u32 %r9, [%rd1], 1000;"),
        {{3000}, {32}});
    for (std::size_t i = 32; i < 32 + 120 * 32; ++i) ASSERT_EQ(seen.memory[i], 3000u) << i;
}

TEST(Windows, RacingStoresEndTheSameForAnyNumberOfThreads) {
    // Every thread of 80 blocks writes its number to the same 16 words, 20 times over.
    const Seen seen = sameForAllThreads(
        kernelText(kNumbers + "mov.u32 %r5, 0;\n"
                              "L: add.u32 %r6, %r1, %r5; and.b32 %r6, %r6, 15; mul.wide.u32 %rd4, %r6, 4;\n"
                              "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r3;\n"
                              "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 20; @%p1 bra L;"),
        {{80}, {64}});
    for (std::size_t word = 0; word < 16; ++word) EXPECT_LT(seen.memory[word], 80u * 64);
    EXPECT_EQ(seen.memory[16], 16u);
}

TEST(Windows, ALockBetweenBlocksLetsOneInAtATime) {
    // Word 0 is the lock, word 1 what it guards: read, changed and written without atomics.
    const std::string text =
        kernelText(kNumbers +
                   "mov.u32 %r9, 0; setp.ne.u32 %p1, %r1, 0; @%p1 bra D;\n"
                   "N: atom.global.cas.b32 %r5, [%rd1], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra N; membar.gl;\n"
                   "ld.volatile.global.u32 %r6, [%rd1+4]; add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd1+4], %r6;\n"
                   "membar.gl; atom.global.exch.b32 %r7, [%rd1], 0;\n"
                   "add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 5; @%p3 bra N;\nD:");
    const Seen seen = sameForAllThreads(text, {{30}, {32}});
    EXPECT_EQ(seen.memory[0], 0u);
    EXPECT_EQ(seen.memory[1], 1 + 30u * 5);
}

TEST(Windows, AMessageIsThereWhenItsFlagIs) {
    // Blocks pass a number along: block b waits for flag b, reads word b, and sends it on with 3 more.
    const std::string text =
        kernelText(kNumbers +
                   "setp.ne.u32 %p1, %r1, 0; @%p1 bra D; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4;\n"
                   "setp.eq.u32 %p2, %r2, 0; @%p2 bra S;\n"
                   "W: ld.volatile.global.u32 %r5, [%rd5+4096]; setp.ne.u32 %p3, %r5, 7; @%p3 bra W; membar.gl;\n"
                   "S: ld.volatile.global.u32 %r6, [%rd5]; add.u32 %r6, %r6, 3; st.global.u32 [%rd5+4], %r6;\n"
                   "membar.gl; st.volatile.global.u32 [%rd5+4100], 7;\nD:");
    const Seen seen = sameForAllThreads(text, {{40}, {32}});
    for (std::uint32_t block = 0; block <= 40; ++block) EXPECT_EQ(seen.memory[block], 3 * block);
}

TEST(Windows, FloatSumsByAtomicsAreTheSameToTheBit) {
    const std::string text =
        kernelText(kNumbers +
                   "cvt.rn.f32.u32 %f1, %r3; mul.f32 %f1, %f1, 0f3DCCCCCD;\n"  // 0.1
                   "red.global.add.f32 [%rd1], %f1; atom.global.add.f32 %f2, [%rd1+4], %f1;\n"
                   "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; st.global.f32 [%rd5+64], %f2;");
    const Seen seen = sameForAllThreads(text, {{40}, {64}});
    // Near the sum in double precision; what an atomic returned never exceeds the end.
    double sum = 0;
    for (int i = 0; i < 40 * 64; ++i) sum += i * 0.1;
    EXPECT_NEAR(std::bit_cast<float>(seen.memory[0]), sum, sum * 1e-4);
    for (int i = 0; i < 40 * 64; ++i)
        EXPECT_LE(std::bit_cast<float>(seen.memory[16 + i]), std::bit_cast<float>(seen.memory[1]));
}

TEST(Windows, ABarrierOfTheWholeGridHoldsEveryBlock) {
    // Arrive at word 0, wait for all; then every block sees what all others wrote before. Words 100 to 139 and 200.
    const std::string text =
        kernelText(kNumbers +
                   "setp.ne.u32 %p1, %r1, 0; @%p1 bra D; mov.u32 %r9, %nctaid.x;\n"
                   "mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5+400], 1; membar.gl;\n"
                   "red.global.add.u32 [%rd1], 1;\n"
                   "W: ld.volatile.global.u32 %r5, [%rd1]; setp.lt.u32 %p2, %r5, %r9; @%p2 bra W; membar.gl;\n"
                   "mov.u32 %r6, 0; mov.u32 %r7, 0; mov.u64 %rd6, %rd1;\n"
                   "S: ld.volatile.global.u32 %r8, [%rd6+400]; add.u32 %r7, %r7, %r8; add.u64 %rd6, %rd6, 4;\n"
                   "add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, %r9; @%p3 bra S; st.global.u32 [%rd5+800], %r7;\nD:");
    const Seen seen = sameForAllThreads(text, {{40}, {32}});
    EXPECT_EQ(seen.memory[0], 40u);
    for (std::size_t block = 0; block < 40; ++block) EXPECT_EQ(seen.memory[200 + block], 40u);
}

TEST(Windows, PrintedLinesComeInTheOrderOfTime) {
    const std::string text =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n"
        ".global .align 1 .b8 format[4] = {37, 100, 32, 0};\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
        ".local .align 8 .b8 values[8]; .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra D;\n"
        "mov.u32 %r2, %clock; mov.u64 %rd1, values; st.local.u32 [%rd1], %r2;\n"
        "cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2;\n"
        "{ .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %rd2; st.param.b64 [v], %rd1;\n"
        "call.uni (r), vprintf, (f, v); }\nD: ret;\n}\n";
    const Seen seen = sameForAllThreads(text, {{60}, {32}});
    std::istringstream times(seen.printed);
    std::vector<std::uint32_t> order;
    for (std::uint32_t time; times >> time;) order.push_back(time);
    EXPECT_EQ(order.size(), 60u);
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(Windows, AnSmSeesItsOwnStoresAtOnce) {
    // Each thread counts a word of its own up 8 times by load and store, then one byte of it.
    const Seen seen = sameForAllThreads(
        kernelText(kNumbers + "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; mov.u32 %r6, 0;\n"
                              "L: ld.global.u32 %r5, [%rd5]; add.u32 %r5, %r5, 1; st.global.u32 [%rd5], %r5;\n"
                              "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 8; @%p1 bra L;\n"
                              "st.global.u8 [%rd5+3], 1; ld.global.u32 %r7, [%rd5]; add.u32 %r7, %r7, 1;\n"
                              "st.global.u32 [%rd5], %r7;"),
        {{20}, {128}});
    for (std::uint32_t i = 0; i < 20 * 128; ++i) EXPECT_EQ(seen.memory[i], i + 9 + (1u << 24));
}

TEST(Windows, ALoadSeesTheAtomicsOfItsThread) {
    // Twice in a row: a reduction, then a load of the same word at once.
    const Seen seen = sameForAllThreads(
        kernelText(kNumbers + "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4;\n"
                              "ld.global.u32 %r5, [%rd5]; red.global.add.u32 [%rd5], 10; ld.global.u32 %r6, [%rd5];\n"
                              "st.global.u32 [%rd5], %r6; red.global.add.u32 [%rd5], 100; ld.global.u32 %r7, [%rd5];\n"
                              "sub.u32 %r7, %r7, %r5; st.global.u32 [%rd5], %r7;"),
        {{20}, {64}});
    for (std::uint32_t i = 0; i < 20 * 64; ++i) EXPECT_EQ(seen.memory[i], 110u);
}

TEST(Windows, WarpsOfABlockSeeEachOthersStoresAfterABarrier) {
    const Seen seen = sameForAllThreads(
        kernelText(kNumbers + "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r1;\n"
                              "bar.sync 0; xor.b32 %r5, %r3, 64; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd7, %rd1, %rd6;\n"
                              "ld.global.u32 %r6, [%rd7]; bar.sync 0; st.global.u32 [%rd5], %r6;"),
        {{20}, {128}});
    for (std::uint32_t i = 0; i < 20 * 128; ++i) EXPECT_EQ(seen.memory[i], (i % 128) ^ 64);
}

TEST(Windows, SmsThatRunOutOfCreditsEndTheSame) {
    // Every store touches 32 lines, of 128 bytes: more requests than can be under way.
    const std::string text =
        kernelText(kNumbers +
                   "mov.u32 %r5, 0;\n"
                   "L: mad.lo.u32 %r6, %r5, 37, %r3; and.b32 %r6, %r6, 127; mul.wide.u32 %rd4, %r6, 128;\n"
                   "add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r3;\n"
                   "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 40; @%p1 bra L;");
    sameForAllThreads(text, {{80}, {256}});
    Harness h("gtx1080");
    EXPECT_GT(h.gpu.counters(h.run(text, {{80}, {256}}, {h.buffer(4 * kWords)})).portWait, 0u);
}

TEST(Windows, WhoLooksOnChangesNothing) {
    const std::string text =
        kernelText(kNumbers +
                   "mul.wide.u32 %rd4, %r3, 4; add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r5, [%rd5];"
                   "red.global.add.u32 [%rd1], %r5;");
    const auto cycles = [&](Observer* observer) {
        Machine::Options options;
        options.observer = observer;
        Harness h("gtx1080", {}, options);
        return h.cycles(text, {{40}, {64}}, {h.buffer(4 * kWords)});
    };
    Timeline often(1, 7), seldom(1, 100'000);
    const Cycles unseen = cycles(nullptr);
    EXPECT_EQ(cycles(&often), unseen);
    EXPECT_EQ(cycles(&seldom), unseen);
}

}  // namespace
}  // namespace bulkhead::sim
