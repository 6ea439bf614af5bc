#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "runner.h"

namespace bulkhead::sim {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// ------------------------------------------------------------------ special registers

/// Every thread of a grid (2,3,2) of blocks (5,4,3) writes the register.
std::vector<u32> readAll(const std::string& name) {
    Runner r(R"(
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<9>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %)" +
             name + R"(;
    mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z;
    mad.lo.u32 %r3, %r4, 4, %r3;
    mad.lo.u32 %r2, %r3, 5, %r2;
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z;
    mad.lo.u32 %r4, %r5, 3, %r4;
    mad.lo.u32 %r3, %r4, 2, %r3;
    mad.lo.u32 %r2, %r3, 60, %r2;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
})");
    const auto out = r.upload(std::vector<u32>(60 * 12));
    r.launch("k", {{2, 3, 2}, {5, 4, 3}, 32}, out);
    return r.download<u32>(out, 60 * 12);
}

struct Place {
    u32 tid[3], ctaid[3], lane, warp;
};
void expectRegister(const std::string& name, const std::function<u32(const Place&)>& value) {
    const auto got = readAll(name);
    for (u32 i = 0; i < got.size(); ++i) {
        const u32 t = i % 60, b = i / 60;
        const Place p{{t % 5, t / 5 % 4, t / 20}, {b % 2, b / 2 % 3, b / 6}, t % 32, t / 32};
        ASSERT_EQ(got[i], value(p)) << "%" << name << " block " << b << " thread " << t;
    }
}

TEST(SpecialRegisters, Indices) {
    expectRegister("tid.x", [](const Place& p) { return p.tid[0]; });
    expectRegister("tid.y", [](const Place& p) { return p.tid[1]; });
    expectRegister("tid.z", [](const Place& p) { return p.tid[2]; });
    expectRegister("ctaid.x", [](const Place& p) { return p.ctaid[0]; });
    expectRegister("ctaid.y", [](const Place& p) { return p.ctaid[1]; });
    expectRegister("ctaid.z", [](const Place& p) { return p.ctaid[2]; });
    expectRegister("laneid", [](const Place& p) { return p.lane; });
    expectRegister("warpid", [](const Place& p) { return p.warp + 4; });  // the runner's hardware slots begin at 4
}

TEST(SpecialRegisters, Extents) {
    const std::pair<const char*, u32> constants[] = {
        {"ntid.x", 5},           {"ntid.y", 4},   {"ntid.z", 3},
        {"nctaid.x", 2},         {"nctaid.y", 3}, {"nctaid.z", 2},
        {"nwarpid", 48},         {"nsmid", 3},    {"smid", 2},
        {"gridid", 7},           {"tid.w", 0},    {"envreg0", 0},
        {"envreg31", 0},         {"pm0", 0},      {"dynamic_smem_size", 32},
        {"total_smem_size", 32},
    };
    for (const auto& [name, value] : constants) expectRegister(name, [value = value](const Place&) { return value; });
}

TEST(SpecialRegisters, LaneMasks) {
    expectRegister("lanemask_eq", [](const Place& p) { return 1u << p.lane; });
    expectRegister("lanemask_lt", [](const Place& p) { return (1u << p.lane) - 1; });
    expectRegister("lanemask_le", [](const Place& p) { return static_cast<u32>((u64{2} << p.lane) - 1); });
    expectRegister("lanemask_gt", [](const Place& p) { return static_cast<u32>(~((u64{2} << p.lane) - 1)); });
    expectRegister("lanemask_ge", [](const Place& p) { return ~((1u << p.lane) - 1); });
}

TEST(SpecialRegisters, AClusterIsOneBlock) {
    expectRegister("clusterid.y", [](const Place& p) { return p.ctaid[1]; });
    expectRegister("nclusterid.y", [](const Place&) { return 3; });
    expectRegister("cluster_ctaid.x", [](const Place&) { return 0; });
    expectRegister("cluster_nctaid.x", [](const Place&) { return 1; });
    expectRegister("cluster_ctarank", [](const Place&) { return 0; });
    expectRegister("cluster_nctarank", [](const Place&) { return 1; });
    EXPECT_EQ(
        runBody<u32>("mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 1, 2, %p1; st.global.u32 [%out], %r1;", 1)[0],
        2u);
}

TEST(SpecialRegisters, ClocksFollowTime) {
    Runner r(kernelWith(R"(
    mov.u64 %rd2, %clock64;
    mov.u32 %r2, %clock;
    mov.u32 %r3, %clock_hi;
    mov.u64 %rd3, %globaltimer;
    mov.u32 %r4, %globaltimer_lo;
    mov.u32 %r5, %globaltimer_hi;
    st.global.u64 [%out], %rd2;
    st.global.u32 [%out+8], %r2;
    st.global.u32 [%out+12], %r3;
    st.global.u64 [%out+16], %rd3;
    st.global.u32 [%out+24], %r4;
    st.global.u32 [%out+28], %r5;
)"));
    r.now = 0x5'0000'1000;
    const auto out = r.upload(std::vector<u64>(4));
    r.launch("k", {}, out);
    const auto got = r.download<u64>(out, 4);
    EXPECT_EQ(got[0], 0x5'0000'1002u);  // two instructions came before
    EXPECT_EQ(got[1], 0x5'0000'1003u);
    EXPECT_EQ(got[1] >> 32, 5u);
    EXPECT_EQ(got[2], 0x5'0000'1005u / 2);  // half a nanosecond a cycle
    EXPECT_EQ(got[3] >> 32, 0x2u);
}

TEST(SpecialRegisters, InSixteenBitsAndAsOperands) {
    EXPECT_EQ(runBody<u32>(R"(
    mov.u16 %h1, %tid.x;
    cvt.u32.u16 %r1, %h1;
    add.u32 %r1, %r1, %laneid;
    mul.wide.u32 %rd1, %t, 4; add.u64 %mine, %out, %rd1; st.global.u32 [%mine], %r1;
)")[9],
              18u);
}

// ------------------------------------------------------------------ printf

/// A kernel that calls vprintf with a format and a buffer filled by the stores given.
std::string printKernel(const std::string& format, const std::string& stores) {
    std::string bytes;
    for (const char c : format) bytes += std::to_string(static_cast<int>(c)) + ", ";
    return kernelWith(
        R"(
    .local .align 8 .b8 depot[64];
    .reg .b64 %SP, %SPL;
    mov.u64 %SPL, depot;
    cvta.local.u64 %SP, %SPL;
)" + stores +
            R"(
    { .param .b64 f; .param .b64 a; .param .b32 x;
    mov.u64 %rd2, format;
    cvta.global.u64 %rd2, %rd2;
    st.param.b64 [f], %rd2;
    st.param.b64 [a], %SP;
    call.uni (x), vprintf, (f, a);
    ld.param.b32 %r1, [x]; }
    st.global.u32 [%out], %r1;
)",
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 format[" +
            std::to_string(format.size() + 1) + "] = {" + bytes + "0};\n" +
            ".global .align 1 .b8 word[6] = {104, 101, 108, 108, 111, 0};\n");
}

void expectPrinted(const std::string& format, const std::string& stores, const std::string& text, u32 conversions) {
    Runner r(printKernel(format, stores));
    const auto out = r.upload(std::vector<u32>(1));
    r.launch("k", {}, out);
    ASSERT_EQ(r.printed.size(), 1u);
    EXPECT_EQ(r.printed[0], text) << format;
    EXPECT_EQ(r.download<u32>(out, 1)[0], conversions);
}

template <class... Arguments>
std::string byHost(const char* format, Arguments... arguments) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, arguments...);
    return buffer;
}

TEST(Printf, PlainTextAndPercent) {
    expectPrinted("100%% of it\n", "", "100% of it\n", 0);
}

TEST(Printf, Integers) {
    for (const char* format : {"[%d]", "[%i]", "[%5d]", "[%-6d]", "[%06d]", "[%+d]", "[% d]", "[%.4d]", "[%8.3d]"})
        expectPrinted(format, "mov.u32 %r1, -42; st.local.u32 [%SPL], %r1;", byHost(format, -42), 1);
    for (const char* format : {"[%u]", "[%x]", "[%X]", "[%#x]", "[%o]", "[%#o]", "[%08x]", "[%-10X]"})
        expectPrinted(format, "mov.u32 %r1, 0xBEEF1234; st.local.u32 [%SPL], %r1;", byHost(format, 0xBEEF1234u), 1);
    expectPrinted("[%c]", "st.local.u32 [%SPL], 65;", "[A]", 1);
}

TEST(Printf, Lengths) {
    const std::string store = "mov.u64 %rd1, 0x8123456789ABCDEF; st.local.u64 [%SPL], %rd1;";
    for (const char* format : {"%ld", "%lld", "%lu", "%llx", "%zu", "%jd"})
        expectPrinted(format, store, byHost(format, 0x8123456789ABCDEF), 1);
    const std::string small = "mov.u32 %r1, 0x0001FF85; st.local.u32 [%SPL], %r1;";
    expectPrinted("%hd %hu", small + "st.local.u32 [%SPL+4], %r1;", "-123 65413", 2);
    expectPrinted("%hhd %hhu", small + "st.local.u32 [%SPL+4], %r1;", "-123 133", 2);
}

TEST(Printf, Reals) {
    const std::string store = "mov.f64 %fd1, 0dC0934A456D5CFAAD; st.local.f64 [%SPL], %fd1;";
    const double value = -1234.5678;
    for (const char* format :
         {"%f", "%F", "%e", "%E", "%g", "%G", "%a", "%.2f", "%12.3e", "%-12.1f|", "%+.0f", "%#.0f"})
        expectPrinted(format, store, byHost(format, value), 1);
}

TEST(Printf, MixedArgumentsAreAlignedToTheirSize) {
    // int at 0, double at 8, char at 16, long long at 24, pointer to a string at 32.
    expectPrinted("%d %f %c %lld %s %p|", R"(
    st.local.u32 [%SPL], 7;
    mov.f64 %fd1, 0d3FE0000000000000; st.local.f64 [%SPL+8], %fd1;
    st.local.u32 [%SPL+16], 122;
    mov.u64 %rd1, -5; st.local.u64 [%SPL+24], %rd1;
    mov.u64 %rd1, word; st.local.u64 [%SPL+32], %rd1;
    mov.u64 %rd1, 0x1000; st.local.u64 [%SPL+40], %rd1;
)",
                  "7 0.500000 z -5 hello 0x1000|", 6);
}

TEST(Printf, WidthAndPrecisionFromArguments) {
    expectPrinted("[%*d|%-*d|%.*f|%*s]", R"(
    st.local.u32 [%SPL], 5; st.local.u32 [%SPL+4], 42;
    st.local.u32 [%SPL+8], 4; st.local.u32 [%SPL+12], 7;
    st.local.u32 [%SPL+16], 2; mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [%SPL+24], %fd1;
    mov.u32 %r1, -7; st.local.u32 [%SPL+32], %r1;
    mov.u64 %rd1, word; st.local.u64 [%SPL+40], %rd1;
)",
                  "[   42|7   |1.50|hello  ]", 4);
}

TEST(Printf, StringsWithWidthAndPrecision) {
    const std::string store = "mov.u64 %rd1, word; st.local.u64 [%SPL], %rd1;";
    for (const char* format : {"[%s]", "[%8s]", "[%-8s]", "[%.3s]"})
        expectPrinted(format, store, byHost(format, "hello"), 1);
}

TEST(Printf, OneStringALaneInOrder) {
    Runner r(printKernel("%d\n", "st.local.u32 [%SPL], %t;"));
    r.launch("k", {{2}, {40}}, r.upload(std::vector<u32>(1)));
    ASSERT_EQ(r.printed.size(), 80u);
    for (int i = 0; i < 80; ++i) EXPECT_EQ(r.printed[i], std::to_string(i % 40) + "\n");
}

TEST(Printf, AnUnfinishedConversionIsPrintedAsItIs) {
    expectPrinted("50%", "", "50%", 1);
    expectPrinted("%y", "", "%y", 1);
}

// ------------------------------------------------------------------ assert

TEST(Assert, NamesFileLineFunctionAndThread) {
    Runner r(kernelWith(R"(
    setp.ne.u32 %p1, %t, 6;
    @%p1 bra FINE;
    { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
    mov.u64 %rd2, message; st.param.b64 [m], %rd2;
    mov.u64 %rd2, file; st.param.b64 [f], %rd2;
    st.param.b32 [l], 33;
    mov.u64 %rd2, name; st.param.b64 [n], %rd2;
    st.param.b64 [s], 1;
    call.uni __assertfail, (m, f, l, n, s); }
FINE:
)",
                        R"(
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .align 1 .b8 message[6] = "i < n";
.global .align 1 .b8 file[5] = "x.cu";
.global .align 1 .b8 name[2] = "k";)"));
    try {
        r.launch("k", {{}, {32}}, r.upload(std::vector<u32>(1)));
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::assertion);
        const std::string what = e.what();
        EXPECT_NE(what.find("x.cu:33: k: Assertion `i < n` failed."), std::string::npos) << what;
        EXPECT_NE(what.find("block (0,0,0), thread (6,0,0)"), std::string::npos) << what;
    }
}

}  // namespace
}  // namespace bulkhead::sim
