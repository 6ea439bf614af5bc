#include <gtest/gtest.h>

#include "runner.h"

// alloca, stacksave and stackrestore.

namespace bulkhead::sim {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

const std::string kStore = R"(
    mul.wide.u32 %rd50, %t, 4;
    add.u64 %mine, %out, %rd50;
    st.global.u32 [%mine], %r1;
)";

/// As written and as it is assembled: the same.
std::vector<u32> runBoth(const std::string& body, const std::string& before = {}, unsigned threads = 32) {
    std::vector<u32> results[2];
    for (const Loads loads : {Loads::asWritten, Loads::assembled}) {
        Runner r(kernelWith(body + kStore, before), loads);
        const VirtualAddress out = r.upload(std::vector<u32>(threads));
        r.launch("k", {{}, {threads}}, out);
        results[loads == Loads::assembled] = r.download<u32>(out, threads);
    }
    EXPECT_EQ(results[0], results[1]);
    return results[0];
}

void expectFails(const std::string& body, LaunchError::Cause cause, const std::string& message) {
    Runner r(kernelWith(body));
    const VirtualAddress out = r.upload(std::vector<u32>(32));
    try {
        r.launch("k", {{}, {32}}, out);
        FAIL() << "ended well: " << body;
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, cause) << e.what();
        EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
    }
}

/// Two arrays of tid + 1 words, filled from below and read from above: 100 * i in one, 7 + i in the other.
const std::string kTwoArrays = R"(
    add.u32 %r2, %t, 1;
    mul.wide.u32 %rd1, %r2, 4;
    alloca.u64 %rd2, %rd1, 4;
    alloca.u64 %rd3, %rd1;
    mov.u32 %r3, 0;
FILL:
    mul.wide.u32 %rd4, %r3, 4;
    add.u64 %rd5, %rd2, %rd4;
    add.u64 %rd6, %rd3, %rd4;
    mul.lo.u32 %r4, %r3, 100;
    add.u32 %r5, %r3, 7;
    st.local.u32 [%rd5], %r4;
    st.local.u32 [%rd6], %r5;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, %r2;
    @%p1 bra FILL;
    mov.u32 %r1, 0;
SUM:
    sub.u32 %r3, %r3, 1;
    mul.wide.u32 %rd4, %r3, 4;
    add.u64 %rd5, %rd2, %rd4;
    add.u64 %rd6, %rd3, %rd4;
    ld.local.u32 %r4, [%rd5];
    ld.local.u32 %r5, [%rd6];
    add.u32 %r1, %r1, %r4;
    add.u32 %r1, %r1, %r5;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra SUM;
)";

TEST(StackAllocation, ArraysOfDifferentSizesInEveryLane) {
    const auto out = runBoth(kTwoArrays);
    for (u32 t = 0; t < 32; ++t) {
        u32 sum = 0;
        for (u32 i = 0; i <= t; ++i) sum += 100 * i + 7 + i;
        EXPECT_EQ(out[t], sum) << t;
    }
}

TEST(StackAllocation, LiesBehindTheFunctionsVariables) {
    const auto out = runBoth(R"(
    .local .align 4 .b32 own[3];
    st.local.u32 [own+8], %t;
    mov.u64 %rd1, 20;
    alloca.u64 %rd2, %rd1, 16;
    st.local.v4.u32 [%rd2], {7, 7, 7, 7};
    cvta.local.u64 %rd3, %rd2;
    ld.u32 %r2, [%rd3+12];
    ld.local.u32 %r1, [own+8];
    mad.lo.u32 %r1, %r2, 1000, %r1;
)");
    for (u32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], 7000 + t);
}

TEST(StackAllocation, HasTheAlignmentThatIsAskedForAndEightAtLeast) {
    const auto out = runBoth(R"(
    cvt.u64.u32 %rd1, %t;
    alloca.u64 %rd2, %rd1, 1;
    alloca.u64 %rd3, %rd1;
    alloca.u64 %rd4, %rd1, 256;
    alloca.u32 %r2, %t, 2;
    or.b64 %rd5, %rd2, %rd3;
    cvt.u32.u64 %r3, %rd5;
    or.b32 %r3, %r3, %r2;
    and.b32 %r3, %r3, 7;
    cvt.u32.u64 %r4, %rd4;
    and.b32 %r4, %r4, 255;
    add.u32 %r1, %r3, %r4;
)");
    EXPECT_EQ(out, std::vector<u32>(32, 0));
}

/// 1000 rounds of 1000 bytes do not fit; with the stack restored in between, they do.
std::string rounds(const std::string& save, const std::string& restore) {
    return R"(
    mov.u32 %r1, 0;
    mov.u64 %rd1, 1000;
)" + save + R"(
ROUND:
    alloca.u64 %rd2, %rd1;
    st.local.u32 [%rd2+996], %r1;
    ld.local.u32 %r1, [%rd2+996];
    add.u32 %r1, %r1, 1;
)" + restore +
           R"(
    setp.lt.u32 %p1, %r1, 1000;
    @%p1 bra ROUND;
)";
}

TEST(StackAllocation, IsFreedByStackrestore) {
    const auto out = runBoth(rounds("stacksave.u64 %rd3;", "stackrestore.u64 %rd3;"));
    EXPECT_EQ(out, std::vector<u32>(32, 1000));
    EXPECT_EQ(runBoth(rounds("stacksave.u32 %r3;", "stackrestore.u32 %r3;")), out);
}

TEST(StackAllocation, MoreThanTheStackEndsTheLaunch) {
    expectFails(rounds("", ""), LaunchError::Cause::stackOverflow, "1000 bytes behind 65000");
    expectFails("mov.u64 %rd1, -8;\n alloca.u64 %rd2, %rd1;", LaunchError::Cause::stackOverflow, "bytes of stack");
    expectFails("mov.u64 %rd1, 8;\n alloca.u64 %rd2, %rd1, 8388608;\n alloca.u64 %rd2, %rd1, 8388608;",
                LaunchError::Cause::stackOverflow, "bytes of stack");
}

TEST(StackAllocation, WhatWasFreedCannotBeRestored) {
    expectFails(R"(
    mov.u64 %rd1, 64;
    stacksave.u64 %rd2;
    alloca.u64 %rd3, %rd1;
    stacksave.u64 %rd4;
    stackrestore.u64 %rd2;
    stackrestore.u64 %rd4;
)",
                LaunchError::Cause::illegalAddress, "not where this function's stack has been");
}

TEST(StackAllocation, CannotBeReadOnceItIsFreed) {
    expectFails(R"(
    mov.u64 %rd1, 64;
    stacksave.u64 %rd2;
    alloca.u64 %rd3, %rd1;
    st.local.u32 [%rd3+60], %t;
    stackrestore.u64 %rd2;
    ld.local.u32 %r1, [%rd3+60];
)",
                LaunchError::Cause::illegalAddress, "local memory");
}

/// f(n) allocates 4 * n bytes, the last of which hold n, and returns n + f(n - 1).
const std::string kRecursive = R"(
.func (.param .u32 result) f(.param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %n, %m, %s;
    .reg .b64 %bytes, %at, %end;
    ld.param.u32 %n, [n];
    mov.u32 %s, 0;
    setp.eq.u32 %p, %n, 0;
    @%p bra DONE;
    mul.wide.u32 %bytes, %n, 4;
    alloca.u64 %at, %bytes, 4;
    add.u64 %end, %at, %bytes;
    st.local.u32 [%end+-4], %n;
    sub.u32 %m, %n, 1;
    {
    .param .u32 a;
    .param .u32 b;
    st.param.u32 [a], %m;
    call (b), f, (a);
    ld.param.u32 %s, [b];
    }
    ld.local.u32 %m, [%end+-4];
    add.u32 %s, %s, %m;
DONE:
    st.param.u32 [result], %s;
    ret;
}
)";

TEST(StackAllocation, IsOfItsFunctionAndFreedWhenItReturns) {
    // 24 * 25 / 2 words at once, 200 times: more than the stack if they stayed.
    const auto out = runBoth(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
    and.b32 %r3, %t, 15;
    add.u32 %r3, %r3, 9;
    mov.u64 %rd1, 16;
    alloca.u64 %rd2, %rd1;
    st.local.u32 [%rd2+12], %t;
AGAIN:
    {
    .param .u32 a;
    .param .u32 b;
    st.param.u32 [a], %r3;
    call (b), f, (a);
    ld.param.u32 %r4, [b];
    }
    add.u32 %r1, %r1, %r4;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, 200;
    @%p1 bra AGAIN;
    ld.local.u32 %r4, [%rd2+12];
    add.u32 %r1, %r1, %r4;
)",
                             kRecursive);
    for (u32 t = 0; t < 32; ++t) {
        const u32 n = t % 16 + 9;
        EXPECT_EQ(out[t], 200 * (n * (n + 1) / 2) + t);
    }
}

TEST(StackAllocation, LanesThatAreNotCalledAllocateWhileACallWaits) {
    // The lower half waits at a barrier in a function, for the upper half, which first allocates in the kernel.
    const std::string waits = R"(
.func (.param .u32 result) waits(.param .u32 n)
{
    .local .align 4 .b32 mine;
    .reg .b32 %n;
    ld.param.u32 %n, [n];
    st.local.u32 [mine], %n;
    bar.sync 0;
    ld.local.u32 %n, [mine];
    st.param.u32 [result], %n;
    ret;
}
)";
    const auto out = runBoth(R"(
    mov.u64 %rd1, 4096;
    setp.lt.u32 %p1, %t, 16;
    @!%p1 bra UPPER;
    {
    .param .u32 a;
    .param .u32 b;
    st.param.u32 [a], %t;
    call (b), waits, (a);
    ld.param.u32 %r1, [b];
    }
    bra JOIN;
UPPER:
    alloca.u64 %rd2, %rd1;
    st.local.u32 [%rd2+4092], %t;
    bar.sync 0;
JOIN:
    @!%p1 ld.local.u32 %r1, [%rd2+4092];
)",
                             waits);
    for (u32 t = 0; t < 32; ++t) EXPECT_EQ(out[t], t);
}

TEST(StackAllocation, WrongFormsAreRefused) {
    const auto refusal = [](const std::string& body) -> std::string {
        try {
            Runner r(kernelWith("    " + body));
        } catch (const ptx::PtxError& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_NE(refusal("alloca.b64 %rd1, %rd2;").find("alloca is .u32 or .u64"), std::string::npos);
    EXPECT_NE(refusal("stacksave %rd1;").find("stacksave is .u32 or .u64"), std::string::npos);
    EXPECT_NE(refusal("alloca.u64 %rd1, %rd2, 24;").find("power of two"), std::string::npos);
    EXPECT_NE(refusal("alloca.u64 %rd1, %rd2, 16777216;").find("power of two"), std::string::npos);
    EXPECT_NE(refusal("alloca.u64 %rd1, %rd2, %rd3;").find("power of two"), std::string::npos);
    EXPECT_NE(refusal("alloca.u64 %rd1, %r2;").find("'%r2' is .b32"), std::string::npos);
    EXPECT_NE(refusal("alloca.u64 %rd1;").find("2 to 3 operands expected"), std::string::npos);
    EXPECT_NE(refusal("stackrestore.u64 %r1;").find("'%r1' is .b32"), std::string::npos);
}

}  // namespace
}  // namespace bulkhead::sim
