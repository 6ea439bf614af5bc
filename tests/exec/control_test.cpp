#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "runner.h"

namespace bulkhead::sim {
namespace {

using u32 = std::uint32_t;

/// out[tid] = %r1, at the end of a body.
const std::string kStore = R"(
    mul.wide.u32 %rd1, %t, 4;
    add.u64 %mine, %out, %rd1;
    st.global.u32 [%mine], %r1;
)";

std::vector<u32> expected(unsigned threads, const std::function<u32(u32)>& value) {
    std::vector<u32> v(threads);
    for (u32 t = 0; t < threads; ++t) v[t] = value(t);
    return v;
}

TEST(Divergence, IfElse) {
    const auto out = runBody<u32>(R"(
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    mul.lo.u32 %r1, %t, 10;
    bra.uni JOIN;
EVEN:
    add.u32 %r1, %t, 1000;
JOIN:
    add.u32 %r1, %r1, 1;
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) { return (t % 2 ? t * 10 : t + 1000) + 1; }));
}

TEST(Divergence, IfWithoutElseAndNegatedGuard) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r1, 5;
    setp.lt.u32 %p1, %t, 7;
    @!%p1 bra SKIP;
    mov.u32 %r1, 6;
SKIP:
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) { return t < 7 ? 6u : 5u; }));
}

TEST(Divergence, NestedBranches) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r1, 0;
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    setp.lt.u32 %p2, %t, 24;
    @%p2 bra MID;
    mov.u32 %r1, 3;
    bra HIGHJOIN;
MID:
    mov.u32 %r1, 2;
HIGHJOIN:
    add.u32 %r1, %r1, 100;
    bra JOIN;
LOW:
    setp.eq.u32 %p3, %t, 5;
    @%p3 add.u32 %r1, %r1, 50;
    add.u32 %r1, %r1, 1;
JOIN:
    add.u32 %r1, %r1, 1000;
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) { return 1000 + (t < 16 ? (t == 5 ? 51u : 1u) : t < 24 ? 102u : 103u); }));
}

TEST(Divergence, LoopsWithDifferentTripCounts) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
LOOP:
    setp.ge.u32 %p1, %r2, %t;
    @%p1 bra DONE;
    add.u32 %r1, %r1, %r2;
    add.u32 %r2, %r2, 1;
    bra LOOP;
DONE:
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) { return t ? t * (t - 1) / 2 : 0; }));
}

TEST(Divergence, BreakAndContinue) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
LOOP:
    add.u32 %r2, %r2, 1;
    setp.gt.u32 %p1, %r2, 20;
    @%p1 bra DONE;
    setp.eq.u32 %p2, %r2, %t;
    @%p2 bra DONE;
    and.b32 %r3, %r2, 3;
    setp.eq.u32 %p3, %r3, 0;
    @%p3 bra LOOP;
    add.u32 %r1, %r1, %r2;
    bra LOOP;
DONE:
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) {
                  u32 sum = 0;
                  for (u32 i = 1; i <= 20 && i != t; ++i)
                      if (i % 4) sum += i;
                  return sum;
              }));
}

TEST(Divergence, LanesMeetAgainAfterALoop) {
    // Where lanes have met, one more instruction is issued once for all 32: the loop's exit does not split the warp.
    Runner r(kernelWith(R"(
    mov.u32 %r2, 0;
LOOP:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %t;
    @%p1 bra LOOP;
    add.u32 %r1, %r2, 0;
)" + kStore));
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    // 2 + 1 before the loop, 3 x 31 in it, 4 after it and ret.
    EXPECT_EQ(r.warpInstructions, 3u + 93 + 4 + 1);
}

TEST(Divergence, EarlyExitLeavesTheOthersRunning) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r1, 9;
    setp.gt.u32 %p1, %t, 20;
    @%p1 exit;
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p2, %r2, 1;
    @%p2 bra ODD;
    bra JOIN;
ODD:
    setp.eq.u32 %p3, %t, 11;
    @%p3 ret;
    mov.u32 %r1, 8;
JOIN:
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) { return t > 20 || t == 11 ? 0u : t % 2 ? 8u : 9u; }));
}

TEST(Divergence, SwitchByBranchTable) {
    const auto out = runBody<u32>(R"(
    and.b32 %r2, %t, 3;
TABLE: .branchtargets A, B, C, JOIN;
    mov.u32 %r1, 77;
    brx.idx %r2, TABLE;
A:
    mov.u32 %r1, 10;
    bra JOIN;
B:
    mov.u32 %r1, 20;
    bra JOIN;
C:
    mov.u32 %r1, 30;
JOIN:
    add.u32 %r1, %r1, 1;
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32 t) { return std::vector<u32>{11, 21, 31, 78}[t % 4]; }));
}

TEST(Divergence, UniformBranchTable) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r2, 1;
    mov.u32 %r1, 0;
TABLE: .branchtargets A, B;
    brx.idx %r2, TABLE;
A:
    mov.u32 %r1, 10;
    bra JOIN;
B:
    mov.u32 %r1, 20;
JOIN:
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32) { return 20u; }));
}

TEST(Divergence, BranchIndexBeyondTheTable) {
    try {
        runBody<u32>(R"(
    mov.u32 %r1, 0;
TABLE: .branchtargets A, B;
    brx.idx %t, TABLE;
A:
B:
)" + kStore);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalInstruction);
        EXPECT_NE(std::string(e.what()).find("thread (2,0,0): branch index 2 is not below 2"), std::string::npos)
            << e.what();
    }
}

TEST(Divergence, PartialWarpHasOnlyItsThreads) {
    Runner r(kernelWith("mov.u32 %r1, 1;" + kStore));
    const auto out = r.upload(std::vector<u32>(64));
    r.launch("k", {{}, {37}}, out);
    EXPECT_EQ(r.download<u32>(out, 64), expected(64, [](u32 t) { return t < 37 ? 1u : 0u; }));
    // Seven instructions by 37 threads.
    EXPECT_EQ(r.threadInstructions, 7u * 37);
}

TEST(Divergence, GuardFalseForAllLanesTouchesNoMemory) {
    Runner r(kernelWith(R"(
    setp.gt.u32 %p1, %t, 100;
    mov.u64 %rd5, 0;
    @%p1 ld.global.u32 %r1, [%rd5];
    mov.u32 %r1, 4;
)" + kStore));
    r.recordAccesses = true;
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.accesses.size(), 2u);  // the parameter and the store
}

TEST(Registers, ManyVirtualRegistersShareFewPlaces) {
    std::string body = "mov.u32 %r0, %t;\n";
    std::string before;
    std::string declarations = ".reg .b32 %v<1000>; add.u32 %v0, %t, 1;\n";
    for (int i = 1; i < 1000; ++i)
        declarations += "add.u32 %v" + std::to_string(i) + ", %v" + std::to_string(i - 1) + ", 1;\n";
    Runner r(kernelWith(declarations + "mov.u32 %r1, %v999;" + kStore));
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected(32, [](u32 t) { return t + 1000; }));
    EXPECT_LT(r.program->codes[0].frameBytes, 4096u);
    // Few are live at once: %out (2), %t, one or two of the chain.
    EXPECT_LE(r.program->codes[0].registersPerThread, 12u);
}

TEST(Registers, UninitialisedReadAsZeroWhateverRanBefore) {
    Runner r(kernelWith("add.u32 %r1, %r5, 3;" + kStore, R"(
.visible .entry dirty()
{
    .reg .b32 %r<20>;
    mov.u32 %r0, -1;
    mov.u32 %r1, -1;
    mov.u32 %r2, -1;
    mov.u32 %r3, -1;
    add.u32 %r4, %r0, %r1;
    add.u32 %r4, %r2, %r3;
    ret;
})"));
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("dirty", {{}, {32}});
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected(32, [](u32) { return 3u; }));
}

TEST(Registers, MaxnregClampsTheEstimate) {
    std::string body;
    for (int i = 1; i < 60; ++i) body += "add.u32 %r" + std::to_string(i) + ", %t, " + std::to_string(i) + ";\n";
    for (int i = 2; i < 60; ++i) body += "xor.b32 %r1, %r1, %r" + std::to_string(i) + ";\n";
    std::string text = kernelWith(body + kStore);
    EXPECT_GT(Runner(text).program->codes[0].registersPerThread, 59u);
    text.replace(text.find("out_param)") + 10, 0, " .maxnreg 32 .maxntid 16, 8, 2");
    Runner r(text);
    EXPECT_EQ(r.program->codes[0].registersPerThread, 32u);
    EXPECT_EQ(r.program->codes[0].maxThreadsPerBlock, 256u);
}

// ------------------------------------------------------------------ calls

TEST(Calls, ArgumentsAndResult) {
    const auto out = runBody<u32>(R"(
    {
    .param .b32 a; .param .b32 b; .param .b32 result;
    st.param.b32 [a], %t;
    st.param.b32 [b+0], 7;
    call.uni (result), axpb, (a, b);
    ld.param.b32 %r1, [result+0];
    }
)" + kStore,
                                  32, R"(
.func (.param .b32 r) axpb(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [a];
    ld.param.u32 %r2, [b];
    mad.lo.u32 %r3, %r1, 3, %r2;
    st.param.b32 [r], %r3;
    ret;
})");
    EXPECT_EQ(out, expected(32, [](u32 t) { return 3 * t + 7; }));
}

TEST(Calls, ParametersInRegisters) {
    const auto out = runBody<u32>("call (%r1), axpb, (%t, 7);" + kStore, 32, R"(
.func (.reg .u32 r) axpb(.reg .u32 a, .reg .u32 b)
{
    mad.lo.u32 r, a, 3, b;
    ret;
})");
    EXPECT_EQ(out, expected(32, [](u32 t) { return 3 * t + 7; }));
}

TEST(Calls, NestedCallsKeepTheCallersRegisters) {
    const auto out = runBody<u32>(R"(
    mov.u32 %r7, 1000;
    { .param .b32 a; .param .b32 x;
    st.param.b32 [a], %t;
    call (x), outer, (a);
    ld.param.b32 %r1, [x]; }
    add.u32 %r1, %r1, %r7;
)" + kStore,
                                  32, R"(
.func (.param .b32 r) inner(.param .b32 a)
{
    .reg .b32 %r<9>;
    ld.param.u32 %r1, [a];
    mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;
    add.u32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
.func (.param .b32 r) outer(.param .b32 a)
{
    .reg .b32 %r<9>;
    ld.param.u32 %r1, [a];
    mul.lo.u32 %r3, %r1, 2;
    { .param .b32 b; .param .b32 x;
    st.param.b32 [b], %r3;
    call (x), inner, (b);
    ld.param.b32 %r4, [x]; }
    add.u32 %r4, %r4, %r3;
    st.param.b32 [r], %r4;
    ret;
})");
    EXPECT_EQ(out, expected(32, [](u32 t) { return 4 * t + 1 + 1000; }));
}

const char* const kFactorial = R"(
.func (.param .b32 r) sum(.param .b32 n)
{
    .local .align 4 .b8 depot[8];
    .reg .b32 %r<9>;
    .reg .pred %p;
    .reg .b64 %SPL;
    mov.u64 %SPL, depot;
    ld.param.u32 %r1, [n];
    st.local.u32 [%SPL+4], %r1;
    setp.eq.u32 %p, %r1, 0;
    mov.u32 %r3, 0;
    @%p bra DONE;
    sub.u32 %r2, %r1, 1;
    { .param .b32 a; .param .b32 x;
    st.param.b32 [a], %r2;
    call (x), sum, (a);
    ld.param.b32 %r3, [x]; }
DONE:
    ld.local.u32 %r4, [depot+4];
    add.u32 %r3, %r3, %r4;
    st.param.b32 [r], %r3;
    ret;
})";
const std::string kCallSum = R"(
    { .param .b32 a; .param .b32 x;
    st.param.b32 [a], %r2;
    call (x), sum, (a);
    ld.param.b32 %r1, [x]; }
)" + kStore;

TEST(Calls, RecursionToDifferentDepthsWithLocalMemory) {
    const auto out = runBody<u32>("mov.u32 %r2, %t;" + kCallSum, 32, kFactorial);
    EXPECT_EQ(out, expected(32, [](u32 t) { return t * (t + 1) / 2; }));
}

TEST(Calls, EndlessRecursionOverflowsTheStack) {
    try {
        runBody<u32>("mov.u32 %r2, -1;" + kCallSum, 32, kFactorial);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::stackOverflow);
        EXPECT_NE(std::string(e.what()).find("kernel k, function sum"), std::string::npos) << e.what();
    }
}

TEST(Calls, DivergentReturnWaitsForTheOthers) {
    const auto out = runBody<u32>(R"(
    { .param .b32 a; .param .b32 x;
    st.param.b32 [a], %t;
    call (x), f, (a);
    ld.param.b32 %r1, [x]; }
    activemask.b32 %r2;
    popc.b32 %r2, %r2;
    mad.lo.u32 %r1, %r2, 1000, %r1;
)" + kStore,
                                  32, R"(
.func (.param .b32 r) f(.param .b32 a)
{
    .reg .b32 %r<9>;
    .reg .pred %p;
    ld.param.u32 %r1, [a];
    mov.u32 %r2, 1;
    st.param.b32 [r], %r2;
    setp.lt.u32 %p, %r1, 10;
    @%p ret;
    mov.u32 %r2, 2;
    st.param.b32 [r], %r2;
    setp.lt.u32 %p, %r1, 20;
    @%p bra OUT;
    mov.u32 %r2, 3;
    st.param.b32 [r], %r2;
OUT:
    ret;
})");
    EXPECT_EQ(out, expected(32, [](u32 t) { return 32000 + (t < 10 ? 1u : t < 20 ? 2u : 3u); }));
}

TEST(Calls, ExitInsideAFunctionEndsTheThread) {
    const auto out = runBody<u32>(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 call quit;
    mov.u32 %r1, 5;
)" + kStore,
                                  32, R"(
.func quit() { .reg .b32 %t; .reg .pred %p; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 8; @%p exit; ret; })");
    EXPECT_EQ(out, expected(32, [](u32 t) { return t < 8 ? 0u : 5u; }));
}

const char* const kTable = R"(
.func (.param .b32 r) inc(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, 1;
    st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r1, %r1, %r1;
    st.param.b32 [r], %r1; ret; }
.func other(.param .b64 a) { ret; }
.global .align 8 .u64 table[3] = {inc, twice, other};
)";
std::string callThroughTable(const std::string& index) {
    return R"(
    and.b32 %r2, %t, )" +
           index + R"(;
    mul.wide.u32 %rd2, %r2, 8;
    mov.u64 %rd3, table;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    { .param .b32 a; .param .b32 x;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    st.param.b32 [a], %t;
    call (x), %rd4, (a), P;
    ld.param.b32 %r1, [x]; }
    activemask.b32 %r2;
    popc.b32 %r2, %r2;
    mad.lo.u32 %r1, %r2, 1000, %r1;
)" + kStore;
}

TEST(Calls, IndirectToDifferentFunctions) {
    const auto out = runBody<u32>(callThroughTable("1"), 32, kTable);
    EXPECT_EQ(out, expected(32, [](u32 t) { return 32000 + (t % 2 ? 2 * t : t + 1); }));
}

TEST(Calls, IndirectToAFunctionOfAnotherTypeIsRefused) {
    try {
        runBody<u32>(callThroughTable("2"), 32, kTable);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalInstruction);
        EXPECT_NE(std::string(e.what()).find("a call of other with other parameters"), std::string::npos) << e.what();
    }
}

TEST(Calls, IndirectThroughNullIsAnIllegalAddress) {
    try {
        runBody<u32>(R"(
    mov.u64 %rd4, 64;
    { .param .b32 a; .param .b32 x;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (x), %rd4, (a), P; }
)",
                     32);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalAddress);
        EXPECT_EQ(e.address, 64u);
    }
}

TEST(Calls, AddressOfAFunctionInARegister) {
    const auto out = runBody<u32>(R"(
    mov.u64 %rd4, twice;
    { .param .b32 a; .param .b32 x;
    T: .calltargets inc, twice;
    st.param.b32 [a], %t;
    call (x), %rd4, (a), T;
    ld.param.b32 %r1, [x]; }
)" + kStore,
                                  32, kTable);
    EXPECT_EQ(out, expected(32, [](u32 t) { return 2 * t; }));
}

TEST(Calls, StructureByValueWithRegisterIndexedParameter) {
    // The callee picks element tid % 4 of a structure by an address computed in a register.
    const auto out = runBody<u32>(R"(
    { .param .align 8 .b8 s[16]; .param .b32 i; .param .align 4 .b8 x[8];
    st.param.v2.b32 [s], {10, 20};
    st.param.b32 [s+8], 30;
    st.param.b8 [s+12], 40;
    st.param.b32 [i], %t;
    call (x), pick, (s, i);
    ld.param.v2.b32 {%r1, %r2}, [x];
    add.u32 %r1, %r1, %r2; }
)" + kStore,
                                  32, R"(
.func (.param .align 4 .b8 r[8]) pick(.param .align 8 .b8 s[16], .param .b32 i)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u32 %r1, [i];
    and.b32 %r1, %r1, 3;
    mul.wide.u32 %rd1, %r1, 4;
    mov.b64 %rd2, s;
    add.u64 %rd3, %rd2, %rd1;
    ld.param.u32 %r2, [%rd3];
    st.param.b32 [r], %r2;
    st.param.b32 [r+4], 1000;
    ret;
})");
    EXPECT_EQ(out, expected(32, [](u32 t) { return 1010 + 10 * (t % 4); }));
}

TEST(Calls, EachCallReusesTheParameterArea) {
    std::string body = "mov.u32 %r1, 0;\n";
    for (int i = 0; i < 100; ++i)
        body += "{ .param .b32 a; .param .b32 x; st.param.b32 [a], %r1; call (x), inc, (a); ld.param.b32 %r1, [x]; }\n";
    Runner r(kernelWith(body + kStore, kTable));
    EXPECT_LE(r.program->kernel("k")->paramBytes, 64u);
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected(32, [](u32) { return 100u; }));
}

TEST(Calls, StackIsTheDeepestPath) {
    Runner r(kernelWith("call a; call b;", R"(
.func c() { .local .align 8 .b8 x[100]; .reg .b64 %r; mov.u64 %r, x; ret; }
.func b() { .local .align 8 .b8 x[32]; .reg .b64 %r; mov.u64 %r, x; call c; ret; }
.func a() { .local .align 8 .b8 x[64]; .reg .b64 %r; mov.u64 %r, x; ret; }
)"));
    // 16 bytes a call, and variables rounded up to 16: b and c.
    EXPECT_EQ(r.program->kernel("k")->stackBytes, 16u + 32 + 16 + 112);
}

// ------------------------------------------------------------------ barriers

TEST(Barriers, WarpsExchangeThroughSharedMemory) {
    const auto out = runBody<u32>(R"(
    .shared .align 4 .b8 buffer[512];
    mul.lo.u32 %r2, %t, 4;
    mov.u32 %r3, buffer;
    add.u32 %r4, %r3, %r2;
    mul.lo.u32 %r5, %t, 3;
    st.shared.u32 [%r4], %r5;
    bar.sync 0;
    sub.u32 %r6, 127, %t;
    mul.lo.u32 %r6, %r6, 4;
    add.u32 %r6, %r6, %r3;
    ld.shared.u32 %r1, [%r6];
)" + kStore,
                                  128);
    EXPECT_EQ(out, expected(128, [](u32 t) { return 3 * (127 - t); }));
}

TEST(Barriers, ReductionsOverTheBlock) {
    // 96 threads, three warps; threads 5 and up vote true, so neither all nor none.
    const auto out = runBody<u32>(R"(
    setp.ge.u32 %p1, %t, 5;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 1, %p1;
    barrier.cta.red.or.pred %p3, 2, 96, !%p1;
    barrier.red.and.pred %p4, 3, %p5;
    selp.u32 %r2, 1000, 0, %p2;
    selp.u32 %r3, 2000, 0, %p3;
    selp.u32 %r4, 4000, 0, %p4;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
)" + kStore,
                                  96);
    EXPECT_EQ(out, expected(96, [](u32) { return 91u + 2000; }));
}

TEST(Barriers, AndIsTrueWhenAllVoteTrue) {
    const auto out = runBody<u32>(R"(
    setp.lt.u32 %p1, %t, 1000;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    selp.u32 %r1, 1, 0, %p2;
    @%p3 add.u32 %r1, %r1, 10;
)" + kStore,
                                  40);
    EXPECT_EQ(out, expected(40, [](u32) { return 1u; }));
}

TEST(Barriers, ProducerArrivesConsumerWaits) {
    // The first warp consumes: it waits on barrier 3, where the second only arrives.
    const auto out = runBody<u32>(R"(
    .shared .align 4 .u32 box;
    mov.u32 %r1, 0;
    mov.u32 %r9, 3;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra PRODUCER;
    bar.sync %r9, 64;
    ld.shared.u32 %r1, [box];
    bra JOIN;
PRODUCER:
    mov.u32 %r2, 55;
    mov.u32 %r3, 0;
SPIN:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 50;
    @%p2 bra SPIN;
    st.shared.u32 [box], %r2;
    bar.arrive %r9, 64;
JOIN:
)" + kStore,
                                  64);
    EXPECT_EQ(out, expected(64, [](u32 t) { return t < 32 ? 55u : 0u; }));
}

TEST(Barriers, NamedBarriersOfHalfTheBlock) {
    const auto out = runBody<u32>(R"(
    .shared .align 4 .b8 box[16];
    shr.u32 %r2, %t, 6;
    mul.lo.u32 %r3, %r2, 4;
    mov.u32 %r4, box;
    add.u32 %r4, %r4, %r3;
    add.u32 %r5, %r2, 1;
    and.b32 %r6, %t, 63;
    setp.eq.u32 %p1, %r6, 40;
    @%p1 st.shared.u32 [%r4], %r5;
    barrier.sync %r5, 64;
    ld.shared.u32 %r1, [%r4];
)" + kStore,
                                  128);
    EXPECT_EQ(out, expected(128, [](u32 t) { return t / 64 + 1; }));
}

TEST(Barriers, AFinishedWarpIsNotWaitedFor) {
    const auto out = runBody<u32>(R"(
    setp.ge.u32 %p1, %t, 64;
    mov.u32 %r3, 0;
    @!%p1 bra STAY;
SPIN:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 20;
    @%p2 bra SPIN;
    exit;
STAY:
    bar.sync 0;
    mov.u32 %r1, 6;
)" + kStore,
                                  96);
    EXPECT_EQ(out, expected(96, [](u32 t) { return t < 64 ? 6u : 0u; }));
}

/// Threads wait for all that have not left, also for lanes of their own warp that parted from them before. Here those
/// below 16 come later than the others of their warp, as lanes below 8 leave on the way.
const char* const kPartedLanes = R"(
    .shared .align 4 .b8 buffer[256];
    and.b32 %r2, %t, 31;
    mul.lo.u32 %r3, %t, 4;
    mov.u32 %r4, buffer;
    add.u32 %r3, %r3, %r4;
    mul.lo.u32 %r5, %t, 3;
    setp.lt.u32 %p1, %r2, 16;
    @%p1 bra LATE;
    st.shared.u32 [%r3], %r5;
    bra JOIN;
LATE:
    mov.u32 %r6, 0;
SPIN:
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 20;
    @%p2 bra SPIN;
    st.shared.u32 [%r3], %r5;
    setp.lt.u32 %p2, %r2, 8;
    @%p2 bra GONE;
    bra JOIN;
GONE:
    exit;
JOIN:
)";

TEST(Barriers, LanesThatPartedAreWaitedFor) {
    const auto out = runBody<u32>(std::string(kPartedLanes) + R"(
    bar.sync 0;
    sub.u32 %r6, 63, %t;
    mul.lo.u32 %r6, %r6, 4;
    add.u32 %r6, %r6, %r4;
    ld.shared.u32 %r1, [%r6];
)" + kStore,
                                  64);
    EXPECT_EQ(out, expected(64, [](u32 t) { return t % 32 < 8 ? 0u : 3 * (63 - t); }));
}

TEST(Barriers, LanesThatPartedVoteTogether) {
    const auto out = runBody<u32>(std::string(kPartedLanes) + R"(
    setp.ge.u32 %p1, %t, 12;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    @%p2 add.u32 %r1, %r1, 1000;
)" + kStore,
                                  64);
    // Of 48 threads that stay, 4 are below 12.
    EXPECT_EQ(out, expected(64, [](u32 t) { return t % 32 < 8 ? 0u : 44u; }));
}

TEST(Barriers, LanesMayComeByDifferentWays) {
    // Half of each warp goes three times through one barrier, half through another one and twice more.
    const auto out = runBody<u32>(R"(
    .shared .align 4 .b8 sums[16];
    mov.u32 %r3, sums;
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p1, %r2, 0;
    mov.u32 %r1, 0;
    mov.u32 %r5, 0;
    @%p1 bra EVEN;
ODD:
    atom.shared.add.u32 %r4, [%r3], 1;
    bar.sync 0;
    ld.shared.u32 %r4, [%r3];
    add.u32 %r1, %r1, %r4;
    bar.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra ODD;
    bra DONE;
EVEN:
    atom.shared.add.u32 %r4, [%r3], 1;
    bar.sync 0;
    ld.shared.u32 %r4, [%r3];
    add.u32 %r1, %r1, %r4;
    bar.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra EVEN;
DONE:
)" + kStore,
                                  96);
    EXPECT_EQ(out, expected(96, [](u32) { return 96u + 192 + 288; }));
}

TEST(Barriers, LanesOfAWarpThatWaitAtDifferentOnesAreAnError) {
    try {
        runBody<u32>(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra FIRST;
    bar.sync 1;
    bra JOIN;
FIRST:
    bar.sync 2;
JOIN:
)");
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_NE(std::string(e.what()).find("lanes of one warp wait at different barriers"), std::string::npos)
            << e.what();
    }
}

TEST(Barriers, LanesMayComeThroughDifferentCalls) {
    // What a function keeps in registers and parameters is there still when its lanes have their turn again, at any
    // depth: threads add up what all 96 have counted after each of three rounds, and a number of their own.
    const char* const functions = R"(
.func (.param .b32 sum) count(.param .b32 kept, .param .b32 counter)
{
    .reg .b32 %a, %k, %s;
    ld.param.u32 %k, [kept];
    ld.param.u32 %a, [counter];
    atom.shared.add.u32 %s, [%a], 1;
    bar.sync 0;
    ld.shared.u32 %s, [%a];
    bar.sync 0;
    add.u32 %s, %s, %k;
    st.param.u32 [sum], %s;
    ret;
}
.func (.param .b32 sum) countDeeper(.param .b32 kept, .param .b32 counter)
{
    .reg .b32 %a, %k, %s;
    .reg .pred %all;
    ld.param.u32 %k, [kept];
    ld.param.u32 %a, [counter];
    { .param .b32 x; .param .b32 y; .param .b32 z;
      st.param.u32 [x], 0; st.param.u32 [y], %a;
      call (z), count, (x, y);
      ld.param.u32 %s, [z]; }
    add.u32 %s, %s, %k;
    st.param.u32 [sum], %s;
    ret;
}
)";
    const auto callOf = [](const std::string& function, const std::string& label) {
        return label + R"(:
    { .param .b32 x; .param .b32 y; .param .b32 z;
      st.param.u32 [x], %t; st.param.u32 [y], %r3;
      call (z), )" +
               function + R"(, (x, y);
      ld.param.u32 %r4, [z]; }
    add.u32 %r1, %r1, %r4;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra )" +
               label + ";\n";
    };
    const auto out = runBody<u32>(R"(
    .shared .align 4 .b8 counter[16];
    mov.u32 %r3, counter;
    rem.u32 %r2, %t, 3;
    mov.u32 %r1, 0;
    mov.u32 %r5, 0;
    setp.eq.u32 %p1, %r2, 1;
    @%p1 bra SECOND;
    setp.eq.u32 %p1, %r2, 2;
    @%p1 bra THIRD;
)" + callOf("count", "FIRST") + "bra DONE;\n" +
                                      callOf("countDeeper", "SECOND") + "bra DONE;\n" + callOf("count", "THIRD") +
                                      "DONE:\n" + kStore,
                                  96, functions);
    EXPECT_EQ(out, expected(96, [](u32 t) { return 96u + 192 + 288 + 3 * t; }));
}

TEST(Barriers, LanesThatComeThroughDifferentCallsVoteTogether) {
    const char* const function = R"(
.func (.param .b32 votes) vote(.param .b32 mine)
{
    .reg .b32 %v;
    .reg .pred %p;
    ld.param.u32 %v, [mine];
    setp.ge.u32 %p, %v, 12;
    bar.red.popc.u32 %v, 0, %p;
    st.param.u32 [votes], %v;
    ret;
}
)";
    const std::string call = R"(
    { .param .b32 x; .param .b32 z;
      st.param.u32 [x], %t;
      call (z), vote, (x);
      ld.param.u32 %r1, [z]; }
)";
    const auto out = runBody<u32>("setp.lt.u32 %p1, %t, 40;\n@%p1 bra FIRST;\nmov.u32 %r2, 1;\n" + call +
                                      "bra JOIN;\nFIRST: mov.u32 %r2, 2;\n" + call +
                                      "JOIN: mad.lo.u32 %r1, %r1, 10, %r2;\n" + kStore,
                                  64, function);
    EXPECT_EQ(out, expected(64, [](u32 t) { return 520u + (t < 40 ? 2 : 1); }));
}

TEST(Barriers, WarpSyncAndFencesPass) {
    const auto out = runBody<u32>(R"(
    bar.warp.sync 0xffffffff;
    membar.gl;
    membar.cta;
    fence.acq_rel.gpu;
    fence.sc.cta;
    fence.proxy.async;
    nanosleep.u32 100;
    mov.u32 %r1, 2;
)" + kStore);
    EXPECT_EQ(out, expected(32, [](u32) { return 2u; }));
}

TEST(Barriers, ABarrierOutsideZeroToFifteen) {
    try {
        runBody<u32>("add.u32 %r2, %t, 16; bar.sync %r2;");
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalInstruction);
        EXPECT_NE(std::string(e.what()).find("there is no barrier 16, only 0 to 15"), std::string::npos) << e.what();
    }
}

TEST(Barriers, ACountThatIsNoMultipleOfAWarp) {
    try {
        runBody<u32>("mov.u32 %r2, 40; bar.sync 1, %r2;", 64);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalInstruction);
        EXPECT_NE(std::string(e.what()).find("a multiple of 32 up to 64 is needed"), std::string::npos) << e.what();
    }
}

TEST(Barriers, ABarrierNobodyElseReachesIsSeenAsWaiting) {
    EXPECT_THROW(runBody<u32>("setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 1, 64; bar.sync 0;", 64), Error);
}

// ------------------------------------------------------------------ state

TEST(Snapshot, ALoopThatChangesNothingComesBackToItsState) {
    SingleWarp single(R"(
    setp.eq.u32 %p1, %t, 0;
LOOP:
    add.u32 %r2, %t, 1;
    @%p1 bra LOOP;
)");
    Warp& w = single.warp;
    for (int i = 0; i < 5; ++i) w.step();  // two before the loop, setp, add, and the branch that parts the lanes
    Warp::Snapshot s;
    w.snapshot(s);
    EXPECT_TRUE(w.matches(s));
    w.step();
    EXPECT_FALSE(w.matches(s));
    w.step();
    EXPECT_TRUE(w.matches(s));
    EXPECT_EQ(w.active(), 1u);
}

TEST(Snapshot, ALoopThatCountsDoesNot) {
    SingleWarp single("LOOP: add.u32 %r2, %r2, 1; bra LOOP;");
    Warp& w = single.warp;
    w.step();
    w.step();
    Warp::Snapshot s;
    w.snapshot(s);
    w.step();
    w.step();
    EXPECT_EQ(w.pc(), s.pc);
    EXPECT_FALSE(w.matches(s));
}

}  // namespace
}  // namespace bulkhead::sim
