#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "runner.h"

namespace bulkhead::sim {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

const std::string kStore32 = "mul.wide.u32 %rd1, %t, 4; add.u64 %mine, %out, %rd1; st.global.u32 [%mine], %r1;\n";
const std::string kStore64 = "mul.wide.u32 %rd1, %t, 8; add.u64 %mine, %out, %rd1; st.global.u64 [%mine], %rd9;\n";

template <class T>
std::vector<T> expected(const std::function<T(u32)>& value, unsigned threads = 32) {
    std::vector<T> v(threads);
    for (u32 t = 0; t < threads; ++t) v[t] = value(t);
    return v;
}

/// Bytes 0x80, 0x91, ...: every narrow value is negative where it is signed.
const char* const kData = R"(
.global .align 16 .b8 data[64] = {128, 145, 162, 179, 196, 213, 230, 247, 129, 146, 163, 180, 197, 214, 231, 248};
)";

struct Narrow {
    const char* load;
    u64 value;
};

TEST(Loads, NarrowIntoA32BitRegister) {
    const Narrow cases[] = {
        {"ld.global.u8 %r1, [data]", 0x80},
        {"ld.global.s8 %r1, [data]", 0xFFFFFF80},
        {"ld.global.b8 %r1, [data+1]", 0x91},
        {"ld.global.u16 %r1, [data]", 0x9180},
        {"ld.global.s16 %r1, [data+2]", 0xFFFFB3A2},
        {"ld.global.b32 %r1, [data+4]", 0xF7E6D5C4},
        {"ld.global.nc.s8 %r1, [data+3]", 0xFFFFFFB3},
        {"ldu.global.u32 %r1, [data]", 0xB3A29180},
    };
    for (const Narrow& c : cases)
        EXPECT_EQ(runBody<u32>(c.load + std::string(";") + kStore32, 32, kData),
                  expected<u32>([&](u32) { return static_cast<u32>(c.value); }))
            << c.load;
}

TEST(Loads, NarrowIntoA64BitRegister) {
    const Narrow cases[] = {
        {"ld.global.u8 %rd9, [data]", 0x80},
        {"ld.global.s8 %rd9, [data]", 0xFFFFFFFFFFFFFF80},
        {"ld.global.u16 %rd9, [data]", 0x9180},
        {"ld.global.s16 %rd9, [data]", 0xFFFFFFFFFFFF9180},
        {"ld.global.u32 %rd9, [data]", 0xB3A29180},
        {"ld.global.s32 %rd9, [data]", 0xFFFFFFFFB3A29180},
        {"ld.global.b64 %rd9, [data+8]", 0xF8E7D6C5B4A39281},
    };
    for (const Narrow& c : cases)
        EXPECT_EQ(runBody<u64>(c.load + std::string(";") + kStore64, 32, kData),
                  expected<u64>([&](u32) { return c.value; }))
            << c.load;
}

TEST(Loads, ASignedByteFillsA16BitRegisterOnly) {
    EXPECT_EQ(runBody<u32>("ld.global.s8 %h1, [data]; mov.b32 %r1, {%h1, %h1};" + kStore32, 32, kData),
              expected<u32>([](u32) { return 0xFF80FF80; }));
}

TEST(Stores, TruncateWiderRegisters) {
    const auto out = runBody<u64>(R"(
    mov.u64 %rd2, 0x1122334455667788;
    mov.u32 %r2, 0xAABBCCDD;
    mov.b16 %h2, 0xEEFF;
    mul.wide.u32 %rd1, %t, 8;
    add.u64 %mine, %out, %rd1;
    st.global.u8 [%mine], %rd2;
    st.global.u8 [%mine+1], %r2;
    st.global.u8 [%mine+2], %h2;
    st.global.u16 [%mine+4], %rd2;
    st.global.u16 [%mine+6], %r2;
)");
    EXPECT_EQ(out, expected<u64>([](u32) { return 0xCCDD778800FFDD88; }));
    EXPECT_EQ(runBody<u64>(R"(
    mov.u64 %rd2, 0x1122334455667788;
    mul.wide.u32 %rd1, %t, 8;
    add.u64 %mine, %out, %rd1;
    st.global.u32 [%mine+4], %rd2;
    st.global.u32 [%mine], 0x12345678;
)"),
              expected<u64>([](u32) { return 0x5566778812345678; }));
}

TEST(Vectors, OfEveryWidth) {
    // Each thread copies 16 bytes with one vector load and one vector store, scaled by type.
    struct Case {
        const char *type, *registers;
        unsigned bytes;
    };
    const Case cases[] = {
        {"v2.u8", "%h1, %h2", 2},           {"v4.u8", "%h1, %h2, %h3, %h4", 4},
        {"v2.u16", "%h1, %h2", 4},          {"v4.b16", "%h1, %h2, %h3, %h4", 8},
        {"v2.u32", "%r1, %r2", 8},          {"v4.f32", "%f1, %f2, %f3, %f4", 16},
        {"v2.b64", "%rd8, %rd9", 16},       {"v2.f64", "%fd1, %fd2", 16},
        {"v4.u8", "%r1, %r2, %r3, %r4", 4},
    };
    for (const Case& c : cases) {
        for (const bool reversed : {false, true}) {
            const std::string bytes = std::to_string(c.bytes);
            Runner r(kernelWith(std::string(reversed ? "sub.u32 %r9, 31, %t;" : "mov.u32 %r9, %t;") +
                                "mul.wide.u32 %rd1, %r9, " + bytes + "; add.u64 %rd2, %out, %rd1; ld.global." + c.type +
                                " {" + c.registers + "}, [%rd2]; mul.wide.u32 %rd1, %t, " + bytes +
                                "; add.u64 %rd2, %out, %rd1; st.global." + c.type + " [%rd2+512], {" + c.registers +
                                "};"));
            std::vector<u8> data(1024);
            std::iota(data.begin(), data.begin() + 512, u8{3});
            const auto out = r.upload(data);
            r.launch("k", {{}, {32}}, out);
            const auto result = r.download<u8>(out, 1024);
            for (unsigned t = 0; t < 32; ++t)
                for (unsigned b = 0; b < c.bytes; ++b)
                    ASSERT_EQ(result[512 + t * c.bytes + b], data[(reversed ? 31 - t : t) * c.bytes + b])
                        << c.type << " thread " << t << " byte " << b;
        }
    }
}

TEST(Vectors, SinkTakesNothing) {
    EXPECT_EQ(runBody<u32>("ld.global.v4.b32 {_, %r1, _, _}, [data];" + kStore32, 32, kData),
              expected<u32>([](u32) { return 0xF7E6D5C4; }));
}

TEST(Vectors, ALoadMayOverwriteItsOwnAddress) {
    EXPECT_EQ(
        runBody<u64>("mov.u64 %rd8, data; ld.global.v2.b64 {%rd8, %rd9}, [%rd8]; xor.b64 %rd9, %rd9, %rd8;" + kStore64,
                     32, kData),
        expected<u64>([](u32) { return 0xF7E6D5C4B3A29180 ^ 0xF8E7D6C5B4A39281; }));
}

TEST(Vectors, RegistersDeclaredAsVectors) {
    EXPECT_EQ(runBody<u32>(".reg .v4 .b32 %v; ld.global.v4.b32 %v, [data]; mov.u32 %r1, %v.y;" + kStore32, 32, kData),
              expected<u32>([](u32) { return 0xF7E6D5C4; }));
}

TEST(CacheOperators, AndHintsAreAcceptedAndPassedOn) {
    Runner r(kernelWith(R"(
    ld.global.ca.u32 %r1, [%out];
    ld.global.cg.u32 %r1, [%out];
    ld.global.cs.u32 %r1, [%out];
    ld.global.lu.u32 %r1, [%out];
    ld.global.cv.u32 %r1, [%out];
    st.global.wb.u32 [%out], %r1;
    st.global.wt.u32 [%out], %r1;
    ld.volatile.global.u32 %r1, [%out];
    ld.relaxed.gpu.global.u32 %r1, [%out];
    ld.acquire.sys.global.u32 %r1, [%out];
    st.release.cta.global.u32 [%out], %r1;
    ld.weak.global.L1::evict_last.L2::128B.u32 %r1, [%out];
    ld.global.L1::no_allocate.u32 %r1, [%out];
    createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0;
    ld.global.L2::cache_hint.u32 %r1, [%out], %rd3;
    ld.global.unified.u32 %r1, [%out];
    prefetch.global.L2 [%out];
    prefetchu.L1 [%out];
    discard.global.L2 [%out], 128;
    applypriority.global.L2::evict_normal [%out], 128;
)"));
    r.recordAccesses = true;
    r.launch("k", {{}, {32}}, r.upload(std::vector<u32>(32)));
    using enum CacheOp;
    const CacheOp wanted[] = {none, ca, cg, cs, lu, cv, wb, wt, none, none, none, none, none, none, none, none};
    ASSERT_EQ(r.accesses.size(), std::size(wanted));
    for (std::size_t i = 0; i < std::size(wanted); ++i) EXPECT_EQ(r.accesses[i].cacheOp, wanted[i]) << i;
}

TEST(Patterns, AreNamedWhereTheyAreKnown) {
    Runner r(kernelWith(R"(
    mul.wide.u32 %rd1, %t, 4;
    add.u64 %rd2, %out, %rd1;
    ld.global.u32 %r1, [%rd2];
    ld.global.u32 %r1, [%out+8];
    mul.wide.u32 %rd1, %t, 8;
    add.u64 %rd2, %out, %rd1;
    ld.global.u32 %r1, [%rd2];
    setp.lt.u32 %p1, %t, 16;
    @%p1 ld.global.u64 %rd9, [%rd2];
)"));
    r.recordAccesses = true;
    r.launch("k", {{}, {32}}, r.upload(std::vector<u64>(32)));
    ASSERT_EQ(r.accesses.size(), 5u);
    EXPECT_EQ(r.accesses[0].space, ptx::Space::param);
    EXPECT_EQ(r.accesses[1].pattern, AccessPattern::consecutive);
    EXPECT_EQ(r.accesses[2].pattern, AccessPattern::uniform);
    EXPECT_EQ(r.accesses[3].pattern, AccessPattern::scattered);
    EXPECT_EQ(r.accesses[4].pattern, AccessPattern::scattered);
    EXPECT_EQ(r.accesses[4].lanes, 0xFFFFu);
    EXPECT_EQ(r.accesses[4].bytes, 8);
    EXPECT_EQ(r.accesses[4].address[3], r.accesses[4].address[0] + 24);
    EXPECT_EQ(r.accesses[4].address[20], r.accesses[4].address[0]);
}

TEST(Masks, LanesOutsideKeepTheirRegisters) {
    // Scattered, uniform and consecutive addresses, each under a mask with holes.
    for (const char* address : {"mul.wide.u32 %rd2, %t, 12;", "mov.u64 %rd2, 0;", "mul.wide.u32 %rd2, %t, 4;"}) {
        Runner r(kernelWith(std::string(address) + R"(
    add.u64 %rd2, %rd2, %out;
    mov.u32 %r1, 7777;
    and.b32 %r2, %t, 5;
    setp.eq.u32 %p1, %r2, 5;
    @%p1 ld.global.u32 %r1, [%rd2];
    mul.wide.u32 %rd1, %t, 4; add.u64 %mine, %out, %rd1; st.global.u32 [%mine+512], %r1;
)"));
        std::vector<u32> data(256);
        std::iota(data.begin(), data.end(), 0);
        const auto out = r.upload(data);
        r.launch("k", {{}, {32}}, out);
        const unsigned stride = address[0] == 'm' && address[1] == 'o'                 ? 0
                                : std::string(address).find("12") != std::string::npos ? 3
                                                                                       : 1;
        EXPECT_EQ(r.download<u32>(out + 512, 32),
                  expected<u32>([&](u32 t) { return (t & 5) == 5 ? t * stride : 7777; }))
            << address;
    }
}

TEST(Stores, ToOneAddressTheHighestLaneWins) {
    Runner r(kernelWith("setp.ne.u32 %p1, %t, 31; @%p1 st.global.u32 [%out], %t;"));
    const auto out = r.upload(std::vector<u32>(1));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 1)[0], 30u);
}

TEST(Spaces, SharedVariablesOfKernelsDoNotAddUp) {
    Runner r(R"(
.shared .align 4 .b8 a[1000];
.shared .align 16 .b8 b[64];
.shared .align 4 .b8 c[8];
.extern .shared .align 4 .b8 dynamic[];
.visible .entry one() { .reg .b32 %r<3>; mov.u32 %r1, a; mov.u32 %r2, c; ret; }
.visible .entry two() { .reg .b32 %r<3>; mov.u32 %r1, b; mov.u32 %r2, c; mov.u32 %r2, dynamic; ret; }
)");
    EXPECT_EQ(r.program->kernel("one")->sharedBytes, 1008u);  // a, then c
    // c has one place in both; b goes below it; dynamic memory begins at a multiple of 16.
    EXPECT_EQ(r.program->kernel("two")->sharedBytes, 1008u);
}

TEST(Spaces, StaticAndDynamicSharedMemory) {
    Runner r(kernelWith(R"(
    mov.u32 %r2, fixed;
    mov.u32 %r3, dynamic;
    shl.b32 %r4, %t, 2;
    add.u32 %r5, %r2, %r4;
    add.u32 %r6, %r3, %r4;
    st.shared.u32 [%r5], %t;
    add.u32 %r7, %t, 100;
    st.shared.u32 [%r6], %r7;
    ld.shared.u32 %r8, [fixed+4];
    ld.shared.u32 %r9, [dynamic+8];
    mov.u32 %r10, %dynamic_smem_size;
    mov.u32 %r11, %total_smem_size;
    add.u32 %r1, %r8, %r9;
    mad.lo.u32 %r1, %r10, 1000, %r1;
    mad.lo.u32 %r1, %r11, 1000000, %r1;
)" + kStore32,
                        ".shared .align 4 .b8 fixed[132]; .extern .shared .align 16 .b8 dynamic[];"));
    EXPECT_EQ(r.program->kernel("k")->sharedBytes, 144u);
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}, 128}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected<u32>([](u32) { return 1 + 102 + 128000 + 272000000; }));
}

TEST(Shared, Of64BitAddresses32Count) {
    // a[t - 1] with an unsigned t: of thread 0, the address is 2^34 - 4 beyond a. Local memory is addressed alike.
    const auto out = runBody<u32>(
        ".shared .align 4 .b8 s[132]; .local .align 4 .b8 l[8];"
        R"(
    mul.lo.u32 %r2, %t, 4;
    mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2;
    mul.lo.u32 %r4, %t, 7;
    st.shared.u32 [%r3], %r4;
    mov.u64 %rd2, l;
    st.local.u32 [%rd2], 1000;
    bar.sync 0;
    sub.u32 %r5, %t, 1;
    mul.wide.u32 %rd3, %r5, 4;
    mov.u64 %rd4, s;
    add.u64 %rd4, %rd4, %rd3;
    ld.shared.u32 %r1, [%rd4+4];
    mul.wide.u32 %rd3, -1, 4;
    add.u64 %rd2, %rd2, %rd3;
    ld.local.u32 %r6, [%rd2+4];
    add.u32 %r1, %r1, %r6;
)" + kStore32);
    EXPECT_EQ(out, expected<u32>([](u32 t) { return 7 * t + 1000; }));
}

TEST(Spaces, DynamicSharedMemoryInAFunction) {
    Runner r(kernelWith("st.shared.u32 [fixed], 1; call (%r1), read, ();" + kStore32, R"(
.shared .align 4 .b8 fixed[20];
.extern .shared .align 16 .b8 dynamic[];
.func (.reg .u32 r) read() { st.shared.u32 [dynamic+12], 42; .reg .u32 %a; mov.u32 %a, dynamic;
    ld.shared.u32 r, [%a+12]; ret; })"));
    EXPECT_EQ(r.program->kernel("k")->sharedBytes, 32u);
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}, 16}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected<u32>([](u32) { return 42; }));
}

TEST(Spaces, LocalMemoryIsPrivateAndZeroAtFirst) {
    EXPECT_EQ(runBody<u32>(R"(
    .local .align 8 .b8 depot[48];
    .reg .b64 %SP, %SPL;
    mov.u64 %SPL, depot;
    cvta.local.u64 %SP, %SPL;
    ld.local.u32 %r1, [depot+20];
    st.local.u32 [%SPL+4], %t;
    st.u8 [%SP+40], %t;
    ld.u32 %r2, [%SP+4];
    ld.local.u8 %r3, [%SPL+40];
    mul.wide.u32 %rd2, %t, 1;
    and.b64 %rd2, %rd2, 7;
    add.u64 %rd3, %SPL, %rd2;
    st.local.u8 [%rd3+24], 9;
    ld.local.u8 %r4, [%rd3+24];
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
)" + kStore32),
              expected<u32>([](u32 t) { return 2 * t + 9; }));
}

TEST(Spaces, ConstantVariables) {
    EXPECT_EQ(runBody<u32>(R"(
    ld.const.u32 %r2, [numbers+4];
    mov.u64 %rd2, numbers;
    ld.const.u32 %r3, [%rd2+8];
    cvta.const.u64 %rd3, %rd2;
    ld.u32 %r4, [%rd3];
    add.u32 %r1, %r2, %r3;
    add.u32 %r1, %r1, %r4;
)" + kStore32,
                           32, ".const .align 4 .u32 numbers[3] = {1, 20, 300};"),
              expected<u32>([](u32) { return 321; }));
}

TEST(Spaces, KernelParametersByNameByRegisterAndGeneric) {
    Runner r(R"(
.visible .entry k(.param .u64 out, .param .u8 small, .param .align 8 .b8 s[16], .param .f64 d)
{
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f64 %fd;
    ld.param.u64 %rd1, [out];
    ld.param.u8 %r1, [small];
    ld.param.v2.u32 {%r2, %r3}, [s];
    mov.b64 %rd2, s;
    mov.u32 %r4, %tid.x;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd3, %rd3, %rd2;
    ld.param.u32 %r5, [%rd3];
    cvta.param.u64 %rd4, %rd2;
    ld.u32 %r6, [%rd4+12];
    ld.param.f64 %fd, [d];
    cvt.rzi.u32.f64 %r7, %fd;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r6;
    add.u32 %r1, %r1, %r7;
    mad.lo.u32 %r1, %r5, 1000, %r1;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd1, %rd1, %rd3;
    st.global.u32 [%rd1], %r1;
    ret;
})");
    const Code& code = *r.program->kernel("k");
    EXPECT_EQ(code.kernelParamBytes, 40u);
    EXPECT_EQ(code.params[1].offset, 8u);
    EXPECT_EQ(code.params[2].offset, 16u);
    EXPECT_EQ(code.params[3].offset, 32u);
    struct {
        u32 v[4] = {1, 2, 3, 4};
    } s;
    const auto out = r.upload(std::vector<u32>(4));
    r.launch("k", {{}, {4}}, out, u8{200}, s, 50.5);
    EXPECT_EQ(r.download<u32>(out, 4), expected<u32>([](u32 t) { return (t + 1) * 1000 + 200 + 1 + 2 + 4 + 50; }, 4));
}

TEST(Generic, LanesInFourSpacesAtOnce) {
    // Lane t % 4 reads shared, local, global or parameter memory by one instruction.
    Runner r(kernelWith(R"(
    .shared .align 4 .u32 box;
    .local .align 4 .u32 mine;
    st.shared.u32 [box], 11;
    st.local.u32 [mine], 22;
    cvta.shared.u64 %rd2, box;
    cvta.local.u64 %rd3, mine;
    cvta.global.u64 %rd4, data;
    mov.u64 %rd5, out_param;
    cvta.param.u64 %rd5, %rd5;
    and.b32 %r2, %t, 3;
    setp.eq.u32 %p1, %r2, 1;
    setp.eq.u32 %p2, %r2, 2;
    setp.eq.u32 %p3, %r2, 3;
    @%p1 mov.u64 %rd2, %rd3;
    @%p2 mov.u64 %rd2, %rd4;
    @%p3 mov.u64 %rd2, %rd5;
    ld.u32 %r1, [%rd2];
    isspacep.shared %p4, %rd2;
    isspacep.local %p5, %rd2;
    isspacep.global %p6, %rd2;
    isspacep.param %p7, %rd2;
    selp.u32 %r3, 1, 0, %p4;
    @%p5 add.u32 %r3, %r3, 2;
    @%p6 add.u32 %r3, %r3, 4;
    @%p7 add.u32 %r3, %r3, 8;
    shl.b32 %r3, %r3, 28;
    xor.b32 %r1, %r1, %r3;
)" + kStore32,
                        ".global .u32 data = 33;"));
    r.recordAccesses = true;
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    const u32 values[] = {11, 22, 33, static_cast<u32>(out)};
    EXPECT_EQ(r.download<u32>(out, 32), expected<u32>([&](u32 t) { return values[t % 4] ^ (1u << (28 + t % 4)); }));
    // Parameter, two stores, the four parts of the generic load, the final store.
    ASSERT_EQ(r.accesses.size(), 8u);
    EXPECT_EQ(r.accesses[3].space, ptx::Space::shared);
    EXPECT_EQ(r.accesses[3].lanes, 0x11111111u);
    EXPECT_EQ(r.accesses[4].space, ptx::Space::local);
    EXPECT_EQ(r.accesses[5].space, ptx::Space::global);
    EXPECT_EQ(r.accesses[6].space, ptx::Space::param);
    EXPECT_EQ(r.accesses[6].lanes, 0x88888888u);
}

TEST(Generic, StoresAndCvtaTo) {
    EXPECT_EQ(runBody<u32>(R"(
    .shared .align 4 .b8 buffer[128];
    mov.u32 %r2, buffer;
    cvt.u64.u32 %rd2, %r2;
    cvta.shared.u64 %rd3, %rd2;
    mul.wide.u32 %rd4, %t, 4;
    add.u64 %rd3, %rd3, %rd4;
    mul.lo.u32 %r3, %t, 5;
    st.u32 [%rd3], %r3;
    cvta.to.shared.u64 %rd5, %rd3;
    ld.shared.u32 %r1, [%rd5];
)" + kStore32),
              expected<u32>([](u32 t) { return 5 * t; }));
}

TEST(Generic, IsspacepConst) {
    EXPECT_EQ(runBody<u32>(R"(
    mov.u64 %rd2, c;
    mov.u64 %rd3, g;
    isspacep.const %p1, %rd2;
    isspacep.const %p2, %rd3;
    isspacep.global %p3, %rd2;
    isspacep.global %p4, %rd3;
    selp.u32 %r1, 1, 0, %p1;
    @%p2 add.u32 %r1, %r1, 2;
    @%p3 add.u32 %r1, %r1, 4;
    @%p4 add.u32 %r1, %r1, 8;
)" + kStore32,
                           32, ".const .u32 c = 1; .global .u32 g = 2;"),
              expected<u32>([](u32) { return 9; }));
}

TEST(Globals, InitialisersAndRelocations) {
    Runner r(R"(
.global .align 4 .u32 numbers[4] = {1, 2, 3};
.global .align 8 .u64 pointers[3] = {numbers, numbers+8, generic(numbers)+4};
.global .align 8 .u64 functions[2] = {g, f};
.global .align 1 .b8 bytes[8] = {0xFF(numbers), 0xFF00(numbers), 0xFF0000(numbers), 0xFF000000(numbers),
    0xFF00000000(numbers), 0xFF0000000000(numbers), 0xFF000000000000(numbers), 0xFF00000000000000(numbers)};
.global .f32 half = 0f3F000000;
.func f() { ret; }
.func g() { ret; }
.visible .entry k(.param .u64 out) { .reg .b64 %rd<4>; ld.param.u64 %rd1, [out]; ld.global.u64 %rd2, [pointers+8];
    ld.global.u64 %rd3, [%rd2]; st.global.u64 [%rd1], %rd3; ret; }
)");
    const auto numbers = r.addressOf("numbers");
    EXPECT_EQ(r.download<u32>(numbers, 4), (std::vector<u32>{1, 2, 3, 0}));
    EXPECT_EQ(r.download<u64>(r.addressOf("pointers"), 3), (std::vector<u64>{numbers, numbers + 8, numbers + 4}));
    EXPECT_EQ(r.download<u64>(r.addressOf("bytes"), 1)[0], numbers);
    EXPECT_EQ(r.download<float>(r.addressOf("half"), 1)[0], 0.5f);
    const auto functions = r.download<u64>(r.addressOf("functions"), 2);
    EXPECT_EQ(functions[0], kCodeWindow + 16 * r.program->codeByName.at("g"));
    EXPECT_EQ(functions[1], kCodeWindow + 16 * r.program->codeByName.at("f"));
    const auto out = r.upload(std::vector<u64>(1));
    r.launch("k", {}, out);
    EXPECT_EQ(r.download<u64>(out, 1)[0], 3u);
}

TEST(Globals, AddressWithOffsetAsAValue) {
    Runner r(kernelWith("mov.u64 %rd9, numbers+12;" + kStore64, ".global .align 4 .u32 numbers[4];"));
    const auto out = r.upload(std::vector<u64>(32));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u64>(out, 32)[5], r.addressOf("numbers") + 12);
}

// ------------------------------------------------------------------ cp.async

TEST(AsyncCopy, WholePartialAndIgnored) {
    Runner r(kernelWith(R"(
    .shared .align 16 .b8 buffer[1024];
    mov.u32 %r2, buffer;
    shl.b32 %r3, %t, 4;
    add.u32 %r4, %r2, %r3;
    mov.u64 %rd2, data;
    mul.wide.u32 %rd3, %t, 16;
    add.u64 %rd4, %rd2, %rd3;
    cp.async.cg.shared.global [%r4], [%rd4], 16;
    and.b32 %r5, %t, 15;
    cp.async.ca.shared.global.L2::128B [%r4+512], [%rd4], 16, %r5;
    cp.async.commit_group;
    cp.async.wait_group 0;
    add.u32 %r6, %r2, 516;
    add.u32 %r6, %r6, %r3;
    ld.shared.u32 %r7, [%r6];
    ld.shared.u32 %r8, [%r4+4];
    setp.lt.u32 %p1, %t, 16;
    cp.async.ca.shared.global [%r4], [%rd4+4], 4, %p1;
    cp.async.wait_all;
    ld.shared.u32 %r9, [%r4];
    xor.b32 %r1, %r7, %r8;
    xor.b32 %r1, %r1, %r9;
)" + kStore32,
                        ".global .align 16 .u32 data[128];"));
    std::vector<u32> data(128);
    for (u32 i = 0; i < 128; ++i) data[i] = 0x01010101u * (i + 1);
    std::memcpy(r.memory.resolve(r.addressOf("data"), 512), data.data(), 512);
    r.recordAccesses = true;
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected<u32>([&](u32 t) {
                  const u32 word = data[4 * t + 1], bytes = t % 16;
                  const u32 kept = bytes >= 8 ? 4 : bytes > 4 ? bytes - 4 : 0;
                  const u32 partial = kept == 0 ? 0 : kept == 4 ? word : word & ((1u << 8 * kept) - 1);
                  return partial ^ word ^ (t < 16 ? 0 : word);
              }));
    ASSERT_GE(r.accesses.size(), 3u);
    EXPECT_EQ(r.accesses[1].kind, AccessKind::asyncCopy);
    EXPECT_EQ(r.accesses[1].space, ptx::Space::global);
    EXPECT_EQ(r.accesses[2].space, ptx::Space::shared);
    EXPECT_EQ(r.accesses[2].bytes, 16);
}

TEST(AsyncCopy, ACopyCutShortMayReachPastTheEnd) {
    const std::string before = ".global .align 16 .b8 data[20];";
    const std::string body = R"(
    .shared .align 16 .b8 buffer[16];
    mov.u32 %r2, buffer;
    mov.u64 %rd2, data+16;
    cp.async.cg.shared.global [%r2], [%rd2], 16, )";
    EXPECT_NO_THROW(runBody<u32>(body + "4;", 1, before));
    try {
        runBody<u32>(body + "8;", 1, before);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalAddress);
    }
}

TEST(AsyncCopy, WaitAndCommitAreStepsOfTheirOwn) {
    SingleWarp single("cp.async.commit_group; cp.async.wait_group 3; cp.async.wait_all;");
    Warp& w = single.warp;
    w.step();
    w.step();
    EXPECT_EQ(w.step().kind, StepKind::asyncCommit);
    const Step wait = w.step();
    EXPECT_EQ(wait.kind, StepKind::asyncWait);
    EXPECT_EQ(wait.groups, 3u);
    EXPECT_EQ(w.step().kind, StepKind::asyncCommit);
    const Step all = w.step();
    EXPECT_EQ(all.kind, StepKind::asyncWait);
    EXPECT_EQ(all.groups, 0u);
    EXPECT_EQ(w.step().kind, StepKind::finished);
}

// ------------------------------------------------------------------ errors

void expectError(const std::string& body, LaunchError::Cause cause, const std::string& message, unsigned threads = 32,
                 const std::string& before = {}) {
    Runner r(kernelWith(body, before));
    const auto out = r.upload(std::vector<u32>(threads));
    try {
        r.launch("k", {{4}, {threads}}, out);
        FAIL() << "no error: " << body;
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, cause);
        EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
    }
}

TEST(Errors, NameKernelLineInstructionBlockThreadAndAddress) {
    Runner r(R"(
.visible .entry vectorAdd(.param .u64 a)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32   %r1,
        [%rd3+0];
    ret;
})");
    const auto a = r.upload(std::vector<u32>(64 * 3 + 17));
    try {
        r.launch("vectorAdd", {{4}, {64}}, a);
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_EQ(e.cause, LaunchError::Cause::illegalAddress);
        EXPECT_EQ(e.address, a + 4 * (64 * 3 + 17));
        EXPECT_EQ(std::string(e.what()),
                  fmt::format(
                      "illegal address: kernel vectorAdd, PTX line 11 (ld.global.u32 %r1, [%rd3+0]), block "
                      "(3,0,0), thread (17,0,0), address {0:#x}: 0 bytes past the nearest allocation [{1:#x}, {0:#x})",
                      a + 4 * 209, a));
    }
    // The program goes on.
    EXPECT_NO_THROW(r.launch("vectorAdd", {{3}, {64}}, a));
}

TEST(Errors, ThreadsOfABlockInThreeDimensions) {
    Runner r(kernelWith("mov.u64 %rd2, 4; setp.eq.u32 %p1, %t, 1; @%p1 st.global.u32 [%rd2], %t;"));
    try {
        r.launch("k", {{1, 2, 1}, {2, 3, 4}}, r.upload(std::vector<u32>(1)));
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_NE(std::string(e.what()).find("block (0,0,0), thread (1,0,0), address 0x4"), std::string::npos)
            << e.what();
    }
}

TEST(Errors, MisalignedGlobalSharedLocalAndGeneric) {
    using enum LaunchError::Cause;
    expectError("add.u64 %rd2, %out, 2; ld.global.u32 %r1, [%rd2];", misalignedAddress, "misaligned address: kernel k");
    expectError(
        "setp.eq.u32 %p1, %t, 9; add.u64 %rd2, %out, 4; selp.b64 %rd3, %rd2, %out, %p1; ld.global.u64 %rd4, [%rd3];",
        misalignedAddress, "thread (9,0,0)");
    expectError("ld.global.v2.u32 {%r1, %r2}, [%out+4];", misalignedAddress, "thread (0,0,0)");
    expectError(".shared .align 8 .b8 s[64]; mov.u32 %r2, s; add.u32 %r2, %r2, 1; st.shared.u16 [%r2], %r1;",
                misalignedAddress, "address 0x1");
    expectError(".local .align 8 .b8 s[64]; mov.u64 %rd2, s; ld.local.u64 %rd3, [%rd2+4];", misalignedAddress,
                "address 0x4");
    expectError("add.u64 %rd2, %out, 1; ld.u16 %h1, [%rd2];", misalignedAddress, "(ld.u16 %h1, [%rd2])");
    expectError("atom.global.add.u32 %r1, [%out+2], 1;", misalignedAddress, "misaligned");
}

TEST(Errors, OutsideEachSpace) {
    using enum LaunchError::Cause;
    expectError("mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2];", illegalAddress, "address 0x0: ");
    expectError("ld.global.u32 %r1, [%out-4];", illegalAddress, "4 bytes before the nearest allocation");
    expectError("ld.global.u64 %rd2, [%out+128];", illegalAddress, "0 bytes past the nearest allocation");
    expectError(
        ".shared .align 4 .b8 s[64]; st.shared.u32 [s], 0; mov.u32 %r2, s; mad.lo.u32 %r2, %t, 4, %r2; st.shared.u32 "
        "[%r2], 1;",
        illegalAddress, "thread (16,0,0), address 0x40: outside the 64 bytes of the block's shared memory");
    expectError("mov.u32 %r2, -4; ld.shared.u32 %r1, [%r2];", illegalAddress,
                "address 0xfffffffc: outside the 0 bytes of the block's shared memory");
    expectError(".local .align 4 .b8 s[20]; mov.u64 %rd2, s; st.local.u32 [%rd2+32], 1;", illegalAddress,
                "outside the 32 bytes of the thread's local memory");
    expectError("mov.u64 %rd2, out_param; ld.param.u32 %r1, [%rd2+8];", illegalAddress,
                "outside the 8 bytes of the kernel's parameters");
    expectError("mov.u64 %rd2, k; ld.u32 %r1, [%rd2];", illegalAddress, "code, not data");
    expectError("cvta.param.u64 %rd2, out_param; st.u32 [%rd2], 1;", illegalAddress, "parameters cannot be written");
    expectError("mov.u64 %rd2, c; st.global.u32 [%rd2], 1;", illegalAddress, "may only be read", 32,
                ".const .u32 c = 1;");
    expectError("red.global.add.u32 [%out+128], 1;", illegalAddress, "(red.global.add.u32 [%out+128], 1)");
    expectError("cp.async.cg.shared.global [%t], [%out], 16;", illegalAddress, "outside the 0 bytes");
}

TEST(Errors, AVectorThatStraddlesTheEnd) {
    expectError("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out+16];", LaunchError::Cause::illegalAddress,
                "the last 8 of 16 bytes lie past the allocation", 6);
}

TEST(Errors, TrapNamesTheThread) {
    expectError("setp.eq.u32 %p1, %t, 13; @%p1 trap;", LaunchError::Cause::trap,
                "trap: kernel k, PTX line 14 (@%p1 trap), block (0,0,0), thread (13,0,0)");
}

TEST(Accesses, SpanSeveralAllocations) {
    // Odd lanes read one array, even lanes another.
    Runner r(kernelWith(R"(
    mov.u64 %rd2, a;
    mov.u64 %rd3, b;
    and.b32 %r2, %t, 1;
    setp.eq.u32 %p1, %r2, 1;
    selp.b64 %rd4, %rd2, %rd3, %p1;
    ld.global.u32 %r1, [%rd4];
)" + kStore32,
                        ".global .u32 a = 5; .global .u32 b = 6;"));
    const auto out = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 32), expected<u32>([](u32 t) { return t % 2 ? 5 : 6; }));
}

}  // namespace
}  // namespace bulkhead::sim
