#include <gtest/gtest.h>

#include "runner.h"

// Registers and accesses of 128 bits.

namespace bulkhead::sim {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// A kernel on an array of 128-bit values, `mine` being the thread's own.
std::string kernelOn(const std::string& body, const std::string& before = {}) {
    return kernelWith(R"(
    .reg .b128 %q<8>;
    mul.wide.u32 %rd50, %t, 16;
    add.u64 %mine, %out, %rd50;
)" + body,
                      before);
}

/// Lanes' values are {3 * i, 1000 + i}; what the kernel leaves, as written and assembled.
std::vector<u64> runWide(const std::string& body, unsigned values = 32, const std::string& before = {}) {
    std::vector<u64> results[2];
    for (const Loads loads : {Loads::asWritten, Loads::assembled}) {
        Runner r(kernelOn(body, before), loads);
        std::vector<u64> initial(std::size_t{2} * values);
        for (u64 i = 0; i < values; ++i) {
            initial[2 * i] = 3 * i;
            initial[2 * i + 1] = 1000 + i;
        }
        const VirtualAddress out = r.upload(initial);
        r.launch("k", {{}, {32}}, out);
        results[loads == Loads::assembled] = r.download<u64>(out, initial.size());
    }
    EXPECT_EQ(results[0], results[1]);
    return results[0];
}

TEST(Wide, IsLoadedTakenApartPutTogetherAndStored) {
    const auto out = runWide(R"(
    ld.global.b128 %q1, [%mine];
    mov.b128 %q2, %q1;
    mov.b128 {%rd1, %rd2}, %q2;
    mov.b128 %q3, {%rd2, %rd1};
    st.global.b128 [%mine], %q3;
)");
    for (u64 i = 0; i < 32; ++i) {
        EXPECT_EQ(out[2 * i], 1000 + i);
        EXPECT_EQ(out[2 * i + 1], 3 * i);
    }
}

TEST(Wide, OnlyLanesThatExecuteTakeIt) {
    const auto out = runWide(R"(
    mov.b128 %q1, 7;
    setp.lt.u32 %p1, %t, 10;
    @%p1 ld.global.b128 %q1, [%mine];
    @!%p1 mov.b128 {%rd1, _}, %q1;
    @!%p1 mov.b128 %q1, {%rd1, %rd1};
    st.global.b128 [%mine], %q1;
)");
    for (u64 i = 0; i < 32; ++i) {
        EXPECT_EQ(out[2 * i], i < 10 ? 3 * i : 7);
        EXPECT_EQ(out[2 * i + 1], i < 10 ? 1000 + i : 7);
    }
}

TEST(Wide, NumbersHaveTheirSign) {
    const auto out = runWide(R"(
    setp.lt.u32 %p1, %t, 16;
    @%p1 st.global.b128 [%mine], -2;
    @!%p1 mov.b128 %q1, 2;
    @!%p1 st.global.b128 [%mine], %q1;
)");
    for (u64 i = 0; i < 32; ++i) {
        EXPECT_EQ(out[2 * i], i < 16 ? ~u64{0} - 1 : 2);
        EXPECT_EQ(out[2 * i + 1], i < 16 ? ~u64{0} : 0);
    }
}

TEST(Wide, InEveryStateSpace) {
    const auto out = runWide(R"(
    .local .align 16 .b128 own;
    .shared .align 16 .b8 all[512];
    ld.global.nc.b128 %q1, [%mine];
    st.local.b128 [own], %q1;
    ld.local.b128 %q2, [own];
    mov.u32 %r1, all;
    mad.lo.u32 %r2, %t, 16, %r1;
    st.shared.b128 [%r2], %q2;
    xor.b32 %r3, %t, 1;
    mad.lo.u32 %r2, %r3, 16, %r1;
    ld.shared.b128 %q3, [%r2];
    {
    .param .align 16 .b128 a;
    .param .align 16 .b128 b;
    st.param.b128 [a], %q3;
    call (b), same, (a);
    ld.param.b128 %q4, [b];
    }
    st.b128 [%mine], %q4;
)",
                             32, R"(
.func (.param .align 16 .b128 result) same(.param .align 16 .b128 value)
{
    .reg .b128 %v;
    ld.param.b128 %v, [value];
    st.param.b128 [result], %v;
    ret;
}
)");
    for (u64 i = 0; i < 32; ++i) {
        EXPECT_EQ(out[2 * i], 3 * (i ^ 1));
        EXPECT_EQ(out[2 * i + 1], 1000 + (i ^ 1));
    }
}

TEST(Wide, LivesBesideOthers) {
    // Five at once, summed in pairs at the end: none may lie on another.
    const auto out = runWide(R"(
    mov.u64 %rd9, 0;
    mov.b128 %q1, {%rd50, 1};
    mov.b128 %q2, {%rd50, 10};
    mov.b128 %q3, {%rd50, 100};
    mov.b128 %q4, {%rd50, 1000};
    mov.b128 %q5, {%rd50, 10000};
    mov.b128 {%rd1, %rd2}, %q5;
    add.u64 %rd9, %rd9, %rd2;
    mov.b128 {%rd3, %rd4}, %q3;
    add.u64 %rd9, %rd9, %rd4;
    mov.b128 {%rd5, %rd6}, %q1;
    add.u64 %rd9, %rd9, %rd6;
    mov.b128 {%rd7, %rd8}, %q4;
    add.u64 %rd9, %rd9, %rd8;
    mov.b128 {%rd10, %rd11}, %q2;
    add.u64 %rd9, %rd9, %rd11;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd5, %rd5, %rd7;
    add.u64 %rd1, %rd1, %rd5;
    add.u64 %rd1, %rd1, %rd10;
    st.global.v2.b64 [%mine], {%rd1, %rd9};
)");
    for (u64 i = 0; i < 32; ++i) {
        EXPECT_EQ(out[2 * i], 5 * 16 * i);
        EXPECT_EQ(out[2 * i + 1], 11111U);
    }
}

TEST(Wide, ExchangesPassOneValueAlong) {
    // Lanes act lowest first: each gets what the lane before it left, and the last one's stays.
    const auto out = runWide(R"(
    cvt.u64.u32 %rd1, %t;
    mov.b128 %q1, {%rd1, 5};
    add.u64 %rd2, %out, 512;
    atom.global.exch.b128 %q2, [%rd2], %q1;
    st.global.b128 [%mine], %q2;
)",
                             33);
    EXPECT_EQ(out[0], 96U);
    EXPECT_EQ(out[1], 1032U);
    for (u64 i = 1; i < 32; ++i) {
        EXPECT_EQ(out[2 * i], i - 1);
        EXPECT_EQ(out[2 * i + 1], 5U);
    }
    EXPECT_EQ(out[64], 31U);
    EXPECT_EQ(out[65], 5U);
}

/// Every lane adds 2^63 + tid to a sum of 128 bits, by compare and swap until it has gone well.
std::string sums(const std::string& space, const std::string& address) {
    return R"(
    cvt.u64.u32 %rd1, %t;
    add.u64 %rd1, %rd1, 0x8000000000000000;
AGAIN:
    ld.)" + space +
           ".b128 %q1, [" + address + R"(];
    mov.b128 {%rd3, %rd4}, %q1;
    add.cc.u64 %rd5, %rd3, %rd1;
    addc.u64 %rd6, %rd4, 0;
    mov.b128 %q2, {%rd5, %rd6};
    atom.)" +
           space + ".cas.b128 %q3, [" + address + R"(], %q1, %q2;
    mov.b128 {%rd7, %rd8}, %q3;
    xor.b64 %rd7, %rd7, %rd3;
    xor.b64 %rd8, %rd8, %rd4;
    or.b64 %rd7, %rd7, %rd8;
    setp.ne.u64 %p1, %rd7, 0;
    @%p1 bra AGAIN;
)";
}

TEST(Wide, ComparesAndSwapsBothHalves) {
    const auto out = runWide("add.u64 %rd2, %out, 512;" + sums("global", "%rd2"), 33);
    // 32 * 2^63 is 16 in the upper half; the lower has 0 + ... + 31 more.
    EXPECT_EQ(out[64], 3 * 32 + 31 * 32 / 2U);
    EXPECT_EQ(out[65], 1032U + 16);

    const auto shared = runWide(".shared .align 16 .b8 sum[16];\n mov.u32 %r1, sum;" + sums("shared", "%r1") + R"(
    bar.sync 0;
    ld.shared.b128 %q1, [%r1];
    st.global.b128 [%mine], %q1;
)");
    EXPECT_EQ(shared[0], 31 * 32 / 2U);
    EXPECT_EQ(shared[1], 16U);
}

TEST(Wide, IsAlignedToAllItsBytes) {
    Runner r(kernelOn("ld.global.b128 %q1, [%out+8];"));
    const VirtualAddress out = r.upload(std::vector<u64>(64));
    try {
        r.launch("k", {{}, {32}}, out);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::misalignedAddress) << e.what();
    }
}

TEST(Wide, WrongFormsAreRefused) {
    const auto refusal = [](const std::string& body) -> std::string {
        try {
            Runner r(kernelOn(body));
        } catch (const ptx::PtxError& e) {
            return e.what();
        }
        return "accepted";
    };
    const std::pair<const char*, const char*> cases[] = {
        {"ld.global.b128 %rd1, [%mine];", "'%rd1' is .b64, but the instruction gives .b128"},
        {"st.global.b128 [%mine], %rd1;", "'%rd1' is .b64, but the instruction wants .b128"},
        {"ld.global.b64 %q1, [%mine];", "'%q1' is .b128, but the instruction wants .b64"},
        {"st.global.u32 [%mine], %q1;", "'%q1' is .b128, but the instruction wants .u32"},
        {"ld.global.v2.b128 {%q1, %q2}, [%mine];", "more than 16 bytes"},
        {"ld.global.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%mine];", "more than 16 bytes"},
        {"st.global.v4.b64 [%mine], {%rd1,%rd2,%rd3,%rd4};", "more than 16 bytes"},
        {"ld.global.v8.b16 {%h1,%h2,%h3,%h4,%h5,%h6,%h7,%h8}, [%mine];", "vectors have 2 or 4 elements"},
        {"ld.global.b32 %r1, [%q1];", "'%q1' is .b128, not an address"},
        {"add.u64 %rd1, %q1, 1;", "'%q1' is .b128, but the instruction wants .u64"},
        {"cvt.u32.u64 %r1, %q1;", "'%q1' is .b128, but the instruction wants"},
        {"cvt.u64.u32 %q1, %r1;", "'%q1' is .b128, but the instruction gives"},
        {"mov.b64 %rd1, %q1;", "'%q1' is .b128, but the instruction wants .b64"},
        {"mov.b128 %q1, {%rd1, %rd2, %rd3, %rd4};", "128 bits are made of 2 elements"},
        {"mov.b128 %q1, {%r1, %r2};", "'%r1' is .b32, but the instruction wants .b64"},
        {"mov.b128 {%rd1, %rd2}, {%rd3, %rd4};", "only one side"},
        {"atom.global.add.b128 %q1, [%mine], %q2;", "there is no atom.add.b128"},
        {"red.global.exch.b128 [%mine], %q2;", "there is no red.exch.b128"},
        {"atom.global.cas.b128 %q1, [%mine], %q2;", "4 operands expected, 3 given"},
        {"atom.global.exch.b128 %q1, [%mine], out_param;", "a register or a number of 128 bits is wanted"},
    };
    for (const auto& [body, message] : cases)
        EXPECT_NE(refusal(body).find(message), std::string::npos) << refusal(body);
}

}  // namespace
}  // namespace bulkhead::sim
