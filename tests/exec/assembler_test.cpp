#include "ptx/assembler/assembler.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "runner.h"

// What ptx::assemble leaves of a module computes what the module does. What loops must give is computed here.

namespace bulkhead::sim {
namespace {

constexpr unsigned kThreads = 64;
constexpr unsigned kWords = 64;  ///< that a loop may walk over

struct LoopCase {
    std::string name;
    std::string step, test, branch;  ///< of the counter %r1, with the bound %r2
    std::function<bool(std::uint32_t& counter, std::uint32_t bound)> advance;  ///< whether another iteration follows
};

/// Each thread walks over memory and sums what it finds, weighted by the iteration; both are its result.
std::string loopKernel(const LoopCase& loop) {
    return R"(
.visible .entry k(.param .u64 data_param, .param .u64 bounds_param, .param .u64 out_param)
{
    .reg .pred %p<4>;
    .reg .b32 %r<32>;
    .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [data_param];
    ld.param.u64 %rd2, [bounds_param];
    ld.param.u64 %rd3, [out_param];
    mov.u32 %r20, %tid.x;
    mul.wide.u32 %rd4, %r20, 8;
    add.s64 %rd5, %rd2, %rd4;
    ld.global.u32 %r1, [%rd5];
    ld.global.u32 %r2, [%rd5+4];
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
LOOP:
    ld.global.u32 %r5, [%rd1];
    mad.lo.u32 %r3, %r5, %r4, %r3;
    add.u32 %r3, %r3, %r5;
    add.u32 %r4, %r4, 1;
    add.s64 %rd1, %rd1, 4;
    )" + loop.step +
           "\n    " + loop.test + "\n    " + loop.branch + R"(
DONE:
    mul.wide.u32 %rd6, %r20, 12;
    add.s64 %rd7, %rd3, %rd6;
    st.global.u32 [%rd7], %r3;
    st.global.u32 [%rd7+4], %r4;
    st.global.u32 [%rd7+8], %r1;
    ret;
}
)";
}

std::int32_t asSigned(std::uint32_t n) {
    return static_cast<std::int32_t>(n);
}

const std::vector<LoopCase>& loopCases() {
    const std::string back = "@%p1 bra LOOP;", out = "@%p1 bra DONE;\n    bra.uni LOOP;";
    static const std::vector<LoopCase> cases = {
        {"down to zero", "add.s32 %r1, %r1, -1;", "setp.ne.s32 %p1, %r1, 0;", back,
         [](std::uint32_t& c, std::uint32_t) { return --c != 0; }},
        {"down to zero, left where equal", "sub.s32 %r1, %r1, 1;", "setp.eq.s32 %p1, %r1, 0;", out,
         [](std::uint32_t& c, std::uint32_t) { return --c != 0; }},
        {"up while unequal", "add.s32 %r1, %r1, 1;", "setp.ne.s32 %p1, %r1, %r2;", back,
         [](std::uint32_t& c, std::uint32_t b) { return ++c != b; }},
        {"down by three while unequal", "add.s32 %r1, %r1, -3;", "setp.ne.s32 %p1, %r2, %r1;", back,
         [](std::uint32_t& c, std::uint32_t b) { return (c -= 3) != b; }},
        {"up while less", "add.s32 %r1, %r1, 1;", "setp.lt.s32 %p1, %r1, %r2;", back,
         [](std::uint32_t& c, std::uint32_t b) { return asSigned(++c) < asSigned(b); }},
        {"up by five while at most", "add.s32 %r1, %r1, 5;", "setp.le.s32 %p1, %r1, %r2;", back,
         [](std::uint32_t& c, std::uint32_t b) { return asSigned(c += 5) <= asSigned(b); }},
        {"up until at least, unsigned", "add.u32 %r1, %r1, 2;", "setp.ge.u32 %p1, %r1, %r2;", out,
         [](std::uint32_t& c, std::uint32_t b) { return (c += 2) < b; }},
        {"bound before counter", "add.u32 %r1, %r1, 1;", "setp.gt.u32 %p1, %r2, %r1;", back,
         [](std::uint32_t& c, std::uint32_t b) { return ++c < b; }},
        {"down while greater", "add.s32 %r1, %r1, -2;", "setp.gt.s32 %p1, %r1, %r2;", back,
         [](std::uint32_t& c, std::uint32_t b) { return asSigned(c -= 2) > asSigned(b); }},
        {"down while at least, unsigned", "add.s32 %r1, %r1, -1;", "setp.ge.u32 %p1, %r1, %r2;", back,
         [](std::uint32_t& c, std::uint32_t b) { return --c >= b; }},
        {"tested before it steps", "", "setp.lt.s32 %p1, %r1, %r2;\n    add.s32 %r1, %r1, 1;", back,
         [](std::uint32_t& c, std::uint32_t b) { return asSigned(c++) < asSigned(b); }},
        {"a number as bound", "add.s32 %r1, %r1, 1;", "setp.lt.s32 %p1, %r1, 9;", back,
         [](std::uint32_t& c, std::uint32_t) { return asSigned(++c) < 9; }},
    };
    return cases;
}

/// Counters and bounds of the threads: iterations are few and differ, some cross the ends of the types.
std::vector<std::uint32_t> drawBounds(const LoopCase& loop, Random& random) {
    const std::uint32_t places[] = {0, 1, 7, 0x7FFF'FFF0, 0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFA, 0xFFFF'FFFF};
    std::vector<std::uint32_t> bounds;
    while (bounds.size() < 2 * kThreads) {
        const std::uint32_t bound =
            places[random.below(std::size(places))] + static_cast<std::uint32_t>(random.below(4));
        const auto distance = static_cast<std::uint32_t>(random.below(50)) - 20;
        const std::uint32_t counter = random.below(2) ? bound - distance : static_cast<std::uint32_t>(random.below(20));
        std::uint32_t c = counter;
        unsigned iterations = 1;
        while (iterations < kWords && loop.advance(c, bound)) ++iterations;
        if (iterations == kWords) continue;
        bounds.push_back(counter);
        bounds.push_back(bound);
    }
    return bounds;
}

class Loops : public testing::TestWithParam<std::size_t> {};

TEST_P(Loops, GiveTheSameUnrolled) {
    const LoopCase& loop = loopCases()[GetParam()];
    Random random(GetParam() + 1);
    std::vector<std::uint32_t> data(kWords);
    for (std::uint32_t& word : data) word = static_cast<std::uint32_t>(random.next());
    for (int round = 0; round < 20; ++round) {
        const std::vector<std::uint32_t> bounds = drawBounds(loop, random);
        std::vector<std::uint32_t> expected;
        for (unsigned t = 0; t < kThreads; ++t) {
            std::uint32_t sum = 0, iterations = 0, counter = bounds[2 * t];
            do {
                sum += data[iterations] * (iterations + 1);
                ++iterations;
            } while (loop.advance(counter, bounds[2 * t + 1]));
            expected.insert(expected.end(), {sum, iterations, counter});
        }
        for (const Loads loads : {Loads::asWritten, Loads::assembled}) {
            Runner r(loopKernel(loop), loads);
            const VirtualAddress in = r.upload(data), limits = r.upload(bounds),
                                 out = r.upload(std::vector<std::uint32_t>(3 * kThreads));
            r.launch("k", {{}, {kThreads}}, in, limits, out);
            ASSERT_EQ(r.download<std::uint32_t>(out, 3 * kThreads), expected)
                << loop.name << (loads == Loads::assembled ? ", assembled" : "");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Loops, testing::Range(std::size_t{0}, std::size_t{12}),
                         [](const auto& info) { return "Case" + std::to_string(info.param); });

std::uint64_t instructionsOf(const std::string& ptx, Loads loads, std::uint32_t iterations) {
    Runner r(ptx, loads);
    std::vector<std::uint32_t> bounds;
    for (unsigned t = 0; t < 32; ++t) bounds.insert(bounds.end(), {iterations, 0});
    const VirtualAddress in = r.upload(std::vector<std::uint32_t>(kWords)), limits = r.upload(bounds),
                         out = r.upload(std::vector<std::uint32_t>(96));
    r.launch("k", {{}, {32}}, in, limits, out);
    return r.warpInstructions;
}

TEST(Unrolling, FoldsWhatOnlyCounts) {
    // Four iterations of 8 instructions become 4 loads, 4 mad, 4 add, 4 numbers of the iteration; pointer, counter,
    // test and branch are needed once.
    const std::string kernel = loopKernel(loopCases()[0]);
    const std::uint64_t four =
        instructionsOf(kernel, Loads::assembled, 8) - instructionsOf(kernel, Loads::assembled, 4);
    EXPECT_EQ(instructionsOf(kernel, Loads::asWritten, 8) - instructionsOf(kernel, Loads::asWritten, 4), 4U * 8U);
    EXPECT_EQ(four, 4U * 4U + 4U);
}

TEST(Unrolling, LeavesLoopsWithExchangesAlone) {
    const std::string body = R"(
    and.b32 %r1, %t, 7;
    add.s32 %r1, %r1, 1;
    mov.u64 %rd1, %out;
    mov.u32 %r5, %t;
LOOP:
    ld.global.u32 %r3, [%rd1];
    shfl.sync.bfly.b32 %r4, %r5, 1, 31, -1;
    add.u32 %r5, %r4, %r3;
    add.s64 %rd1, %rd1, 4;
    add.s32 %r1, %r1, -1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra LOOP;
    mul.wide.u32 %rd2, %t, 4;
    add.s64 %rd3, %out, %rd2;
    st.global.u32 [%rd3+128], %r5;
)";
    std::vector<std::uint32_t> results[2];
    for (const Loads loads : {Loads::asWritten, Loads::assembled}) {
        Runner r(kernelWith(body), loads);
        std::vector<std::uint32_t> data(64);
        for (std::uint32_t i = 0; i < 64; ++i) data[i] = i * i;
        const VirtualAddress out = r.upload(data);
        r.launch("k", {{}, {32}}, out);
        results[loads == Loads::assembled] = r.download<std::uint32_t>(out, 64);
    }
    EXPECT_EQ(results[0], results[1]);
}

TEST(Predication, GuardsBothSidesOfABranch) {
    const std::string body = R"(
    and.b32 %r1, %t, 3;
    setp.eq.s32 %p1, %r1, 2;
    mov.u32 %r2, 1000;
    mul.wide.u32 %rd1, %t, 4;
    add.s64 %rd2, %out, %rd1;
    @%p1 bra YES;
    add.u32 %r3, %t, 5;
    mul.lo.u32 %r2, %r3, %r3;
    bra.uni MEET;
YES:
    ld.global.u32 %r4, [%rd2];
    add.u32 %r2, %r4, 7;
MEET:
    st.global.u32 [%rd2], %r2;
)";
    Runner r(kernelWith(body), Loads::assembled);
    std::vector<std::uint32_t> data(32), expected(32);
    for (std::uint32_t i = 0; i < 32; ++i) {
        data[i] = 3 * i;
        expected[i] = i % 4 == 2 ? 3 * i + 7 : (i + 5) * (i + 5);
    }
    const VirtualAddress out = r.upload(data);
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<std::uint32_t>(out, 32), expected);
    for (const Instr& i : r.program->kernel("k")->instrs) EXPECT_NE(i.kind, Kind::branch);
}

TEST(Vectors, JoinNeighboursThatAreAligned) {
    const std::string body = R"(
    add.s64 %rd1, %rd8, OFFSET;
    mul.wide.u32 %rd2, %t, 16;
    add.s64 %rd3, %rd1, %rd2;
    st.shared.u32 [%rd3], %t;
    st.shared.u32 [%rd3+4], 11;
    st.shared.u32 [%rd3+8], 12;
    st.shared.u32 [%rd3+12], 13;
    bar.sync 0;
    xor.b32 %r9, %t, 1;
    mul.wide.u32 %rd4, %r9, 16;
    add.s64 %rd5, %rd1, %rd4;
    ld.shared.u32 %r1, [%rd5];
    ld.shared.u32 %r2, [%rd5+4];
    ld.shared.u32 %r3, [%rd5+8];
    ld.shared.u32 %r4, [%rd5+12];
    mad.lo.u32 %r5, %r1, %r2, %r3;
    add.u32 %r5, %r5, %r4;
    mul.wide.u32 %rd6, %t, 4;
    add.s64 %rd7, %out, %rd6;
    st.global.u32 [%rd7], %r5;
)";
    // Wherever the variables would lie by themselves, arrays of 16 bytes and more are aligned.
    const std::string variables = ".shared .align 4 .b8 one[4]; .shared .align 4 .b8 words[544];";
    for (const unsigned align : {4U, 8U, 16U}) {
        std::string text = "mov.u64 %rd8, words;" + body;
        text.replace(text.find("OFFSET"), 6, std::to_string(align));
        Runner r(kernelWith(text, variables), Loads::assembled);
        const VirtualAddress out = r.upload(std::vector<std::uint32_t>(32));
        r.recordAccesses = true;
        r.launch("k", {{}, {32}}, out);
        std::vector<std::uint32_t> expected(32);
        for (std::uint32_t i = 0; i < 32; ++i) expected[i] = (i ^ 1) * 11 + 12 + 13;
        EXPECT_EQ(r.download<std::uint32_t>(out, 32), expected);
        unsigned loads = 0;
        for (const Access& access : r.accesses)
            loads += access.space == ptx::Space::shared && access.kind == AccessKind::load ? 1 : 0;
        EXPECT_EQ(loads, 16 / align) << align;
    }
}

unsigned slotsOf(const std::string& ptx) {
    Runner r(ptx, Loads::assembled);
    unsigned slots = 0;
    for (const Instr& i : r.program->kernel("k")->instrs) slots += i.slots;
    return slots;
}

/// Machine code of ptxas 13.0 for sm_90: LDC (stack pointer), S2R, S2UR, LDC, IMAD, ULDC, ISETP, EXIT, 3 LDC,
/// ULDC (descriptor), 3 IMAD.WIDE, 2 LDG, FADD, STG, EXIT. One return is ours: lanes that end early meet the others.
TEST(IssueSlots, AreThoseOfAVectorAdd) {
    EXPECT_EQ(slotsOf(R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<11>;
    ld.param.u32 %r2, [n];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r1, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r1, %r2;
    @%p1 bra END;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    cvta.to.global.u64 %rd4, %rd1;
    cvta.to.global.u64 %rd5, %rd2;
    cvta.to.global.u64 %rd6, %rd3;
    mul.wide.s32 %rd7, %r1, 4;
    add.s64 %rd8, %rd4, %rd7;
    add.s64 %rd9, %rd5, %rd7;
    add.s64 %rd10, %rd6, %rd7;
    ld.global.f32 %f1, [%rd8];
    ld.global.f32 %f2, [%rd9];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd10], %f3;
END:
    ret;
}
)"),
              20U + 2U);
}

TEST(IssueSlots, OfSumsAndLogicOfThreeTerms) {
    const auto kernel = [](const std::string& lines) {
        return slotsOf(kernelWith(lines + "st.global.u32 [%out], %r9;"));
    };
    const unsigned one = kernel("add.u32 %r9, %t, 3;");
    EXPECT_EQ(kernel("add.u32 %r1, %t, 3; add.u32 %r9, %r1, %t;"), one);
    EXPECT_EQ(kernel("xor.b32 %r1, %t, 3; and.b32 %r9, %r1, %t;"), one);
    EXPECT_EQ(kernel("shl.b32 %r1, %t, 3; add.u32 %r9, %r1, %t;"), one);
    // Logic tells whether its result is zero.
    EXPECT_EQ(kernel("and.b32 %r1, %t, 3; setp.ne.s32 %p1, %r1, 0; selp.u32 %r9, 1, 0, %p1;"), one + 1);
    EXPECT_EQ(kernel("and.b32 %r1, %t, 3; setp.gt.s32 %p1, %r1, 0; selp.u32 %r9, 1, 0, %p1;"), one + 2);
    // A term that somebody else needs is computed by itself.
    EXPECT_EQ(kernel("xor.b32 %r1, %t, 3; and.b32 %r9, %r1, %t; st.global.u32 [%out+4], %r1;"), one + 2);
}

TEST(IssueSlots, OfAddressesInSharedMemoryAreOfOneWord) {
    const auto kernel = [](const std::string& space) {
        return slotsOf(kernelWith("cvt.u64.u32 %rd1, %t; add.s64 %rd2, %rd1, %out; st." + space + ".u32 [%rd2], %t;"));
    };
    // Without the descriptor of global memory either.
    EXPECT_EQ(kernel("global"), kernel("shared") + 2);
}

/// A block that loads and stores 16 words one by one, and then needs 48 registers at once.
std::string wideBlock() {
    std::string text = R"(
.visible .entry k(.param .u64 data)
{
    .reg .b32 %r<100>;
    .reg .b64 %rd<100>;
    .shared .align 4 .b8 tile[8192];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 64;
    mov.u64 %rd3, tile;
    add.s64 %rd4, %rd3, %rd2;
)";
    const auto n = [](int number) { return std::to_string(number); };
    for (int i = 0; i < 16; ++i) {
        text += "add.u32 %r" + n(10 + i) + ", %r1, " + n(64 * i) + ";\n";
        text += "mul.wide.u32 %rd" + n(40 + i) + ", %r" + n(10 + i) + ", 4;\n";
        text += "add.s64 %rd" + n(60 + i) + ", %rd1, %rd" + n(40 + i) + ";\n";
        text += "ld.global.u32 %r" + n(30 + i) + ", [%rd" + n(60 + i) + "];\n";
        text += "st.shared.u32 [%rd4+" + n(4 * i) + "], %r" + n(30 + i) + ";\n";
    }
    text += "bar.sync 0;\nld.shared.u32 %r2, [%rd4];\nld.shared.u32 %r3, [%rd4+32];\n";
    for (int i = 0; i < 48; ++i) text += "mad.lo.u32 %r" + n(50 + i) + ", %r2, %r3, " + n(i * i) + ";\n";
    for (int i = 1; i < 48; ++i) text += "xor.b32 %r50, %r" + n(97 - i + 1) + ", %r50;\nmul.lo.u32 %r50, %r50, %r50;\n";
    return text + "add.s64 %rd5, %rd1, %rd2;\nst.global.u32 [%rd5], %r50;\nret;\n}\n";
}

TEST(Scheduling, LetsLoadsOverlapWhereABlockNeedsManyRegistersElsewhere) {
    Runner r(wideBlock(), Loads::assembled);
    unsigned loads = 0, loadsFirst = 0;
    for (const Instr& i : r.program->kernel("k")->instrs) {
        if (i.kind != Kind::memory) continue;
        if (i.space == ptx::Space::shared && loadsFirst == 0) loadsFirst = loads;
        loads += i.space == ptx::Space::global && i.dstCount > 0 ? 1 : 0;
    }
    EXPECT_EQ(loads, 16U);
    EXPECT_EQ(loadsFirst, 16U);
    // As many as are needed at once, and a quarter: of 48, two operands and an address.
    EXPECT_LE(r.program->kernel("k")->registersPerThread, (48U + 4) * 5 / 4 + 4);
}

}  // namespace
}  // namespace bulkhead::sim
