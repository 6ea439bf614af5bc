#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>

#include "runner.h"

namespace bulkhead::sim {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

/// 32 lanes in ascending order on one cell: each gets what the one before left.
template <class T>
struct Outcome {
    std::vector<T> old;
    T last;
};
template <class T>
Outcome<T> reference(T start, const std::vector<T>& operands, const std::function<T(T, T)>& operation) {
    Outcome<T> o;
    for (const T& b : operands) {
        o.old.push_back(start);
        start = operation(start, b);
    }
    o.last = start;
    return o;
}

/// Runs atom or red of 32 operands on one cell in global or shared memory.
template <class T>
Outcome<T> simulate(const std::string& operation, T start, const std::vector<T>& operands, bool shared,
                    bool reduction = false, const std::string& space = {}, std::vector<T> swaps = {}) {
    const std::string bits = std::to_string(8 * sizeof(T));
    const std::string reg = sizeof(T) == 8 ? "%rd" : sizeof(T) == 4 ? "%r" : "%h";
    const std::string where = space.empty() ? (shared ? "shared" : "global") : space;
    const std::string dot = where == "generic" ? "" : "." + where;
    const std::string b = reg + "5", c = swaps.empty() ? "" : ", " + reg + "6";
    std::string body = R"(
    .shared .align 8 .b8 cell[8];
    add.u64 %rd10, %out, 0;       // the cell
    mul.wide.u32 %rd1, %t, 8;
    add.u64 %rd11, %out, %rd1;    // operands, swaps and results, 8 bytes each
    ld.global.b)" + bits +
                       " " + b + ", [%rd11+8];\n";
    if (!swaps.empty()) body += "ld.global.b" + bits + " " + reg + "6, [%rd11+264];\n";
    body += "ld.global.b" + bits + " " + reg + "7, [%rd10];\n";
    if (shared) body += "st.shared.b" + bits + " [cell], " + reg + "7;\nmov.u64 %rd10, cell;\n";
    if (where == "generic" && shared) body += "cvta.shared.u64 %rd10, %rd10;\n";
    body += reduction ? "red" + dot + "." + operation + " [%rd10], " + b + c + ";\n"
                      : "atom" + dot + "." + operation + " " + reg + "8, [%rd10], " + b + c + ";\n";
    if (!reduction) body += "st.global.b" + bits + " [%rd11+520], " + reg + "8;\n";
    if (shared)
        body += "ld.shared.b" + bits + " " + reg + "9, [cell];\nst.global.b" + bits + " [%out], " + reg + "9;\n";
    Runner r(kernelWith(body));
    std::vector<u64> memory(1 + 96);
    std::memcpy(&memory[0], &start, sizeof start);
    for (std::size_t i = 0; i < 32; ++i) std::memcpy(&memory[1 + i], &operands[i], sizeof(T));
    for (std::size_t i = 0; i < swaps.size(); ++i) std::memcpy(&memory[33 + i], &swaps[i], sizeof(T));
    const auto out = r.upload(memory);
    r.launch("k", {{}, {32}}, out);
    memory = r.download<u64>(out, memory.size());
    Outcome<T> o;
    for (std::size_t i = 0; i < 32; ++i) {
        T v;
        std::memcpy(&v, &memory[65 + i], sizeof v);
        o.old.push_back(v);
    }
    std::memcpy(&o.last, &memory[0], sizeof o.last);
    return o;
}

template <class T>
std::vector<T> operands() {
    std::vector<T> v;
    u64 state = 88172645463325252ull;
    for (int i = 0; i < 32; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        v.push_back(static_cast<T>(state));
    }
    return v;
}

template <class T>
void check(const std::string& operation, T start, const std::function<T(T, T)>& f, bool hasReduction = true,
           std::vector<T> values = operands<T>()) {
    const Outcome<T> want = reference(start, values, f);
    for (const bool shared : {false, true}) {
        const Outcome<T> got = simulate(operation, start, values, shared);
        EXPECT_EQ(got.old, want.old) << operation;
        EXPECT_EQ(got.last, want.last) << operation;
        EXPECT_EQ(simulate(operation, start, values, shared, false, "generic").last, want.last) << operation;
        if (hasReduction) {
            EXPECT_EQ(simulate(operation, start, values, shared, true).last, want.last) << operation;
        }
    }
}

TEST(Atomics, Add) {
    check<u32>("add.u32", 5, [](u32 a, u32 b) { return a + b; });
    check<u32>("add.s32", 5, [](u32 a, u32 b) { return a + b; });
    check<u64>("add.u64", 5, [](u64 a, u64 b) { return a + b; });
    check<u32>("relaxed.gpu.add.u32", 5, [](u32 a, u32 b) { return a + b; });
}

TEST(Atomics, MinAndMax) {
    check<u32>("min.u32", ~0u, [](u32 a, u32 b) { return std::min(a, b); });
    check<s32>("min.s32", 1 << 30, [](s32 a, s32 b) { return std::min(a, b); });
    check<u64>("min.u64", ~0ull, [](u64 a, u64 b) { return std::min(a, b); });
    check<s64>("min.s64", s64{1} << 62, [](s64 a, s64 b) { return std::min(a, b); });
    check<u32>("max.u32", 0, [](u32 a, u32 b) { return std::max(a, b); });
    check<s32>("max.s32", -(1 << 30), [](s32 a, s32 b) { return std::max(a, b); });
    check<u64>("max.u64", 0, [](u64 a, u64 b) { return std::max(a, b); });
    check<s64>("max.s64", -(s64{1} << 62), [](s64 a, s64 b) { return std::max(a, b); });
}

TEST(Atomics, IncrementAndDecrementWrap) {
    // The PTX manual: inc: old >= b ? 0 : old + 1; dec: old == 0 || old > b ? b : old - 1.
    const std::vector<u32> bounds(32, 7);
    check<u32>(
        "inc.u32", 3, [](u32 a, u32 b) { return a >= b ? 0 : a + 1; }, true, bounds);
    check<u32>(
        "dec.u32", 3, [](u32 a, u32 b) { return a == 0 || a > b ? b : a - 1; }, true, bounds);
    check<u32>(
        "dec.u32", 100, [](u32 a, u32 b) { return a == 0 || a > b ? b : a - 1; }, true, bounds);
}

TEST(Atomics, Logic) {
    check<u32>(
        "and.b32", ~0u, [](u32 a, u32 b) { return a & (b | 0xF0F0F0F0); }, true,
        [] {
            auto v = operands<u32>();
            for (u32& x : v) x |= 0xF0F0F0F0;
            return v;
        }());
    check<u32>("or.b32", 0, [](u32 a, u32 b) { return a | b; });
    check<u32>("xor.b32", 9, [](u32 a, u32 b) { return a ^ b; });
    check<u64>("and.b64", ~0ull, [](u64 a, u64 b) { return a & b; });
    check<u64>("or.b64", 0, [](u64 a, u64 b) { return a | b; });
    check<u64>("xor.b64", 9, [](u64 a, u64 b) { return a ^ b; });
}

TEST(Atomics, Exchange) {
    check<u32>(
        "exch.b32", 5, [](u32, u32 b) { return b; }, false);
    check<u64>(
        "exch.b64", 5, [](u64, u64 b) { return b; }, false);
}

template <class T>
void checkCas(const std::string& operation) {
    // Lane i expects i and puts i + 1: a chain that lane 20 breaks by expecting something else.
    std::vector<T> wanted(32), swaps(32);
    for (unsigned i = 0; i < 32; ++i) {
        wanted[i] = static_cast<T>(i == 20 ? 99 : i);
        swaps[i] = static_cast<T>(i);
        ++swaps[i];
    }
    for (const bool shared : {false, true}) {
        const auto got = simulate<T>(operation, T{0}, wanted, shared, false, {}, swaps);
        EXPECT_EQ(got.last, T{20}) << operation;
        for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(got.old[i], static_cast<T>(std::min(i, 20u))) << operation;
    }
}
TEST(Atomics, CompareAndSwap) {
    checkCas<u16>("cas.b16");
    checkCas<u32>("cas.b32");
    checkCas<u64>("cas.b64");
}

TEST(Atomics, FloatAdd) {
    std::vector<float> values(32);
    for (int i = 0; i < 32; ++i) values[i] = static_cast<float>(i) * 1.7f - 20;
    check<float>(
        "add.f32", 0.5f, [](float a, float b) { return a + b; }, true, values);
    std::vector<double> doubles(32);
    for (int i = 0; i < 32; ++i) doubles[i] = i * 1.7 - 20;
    check<double>(
        "add.f64", 0.5, [](double a, double b) { return a + b; }, true, doubles);
}

TEST(Atomics, FloatAddFlushesSubnormalsInGlobalMemoryOnly) {
    const float tiny = std::numeric_limits<float>::denorm_min();
    const std::vector<float> values(32, tiny);
    EXPECT_EQ(simulate("add.f32", 0.0f, values, false).last, 0.0f);
    EXPECT_EQ(simulate("add.f32", 0.0f, values, true).last, 32 * tiny);
}

TEST(Atomics, HalfAdd) {
    // 1 + 32 x 0.5 = 17; then 2048 + 1 rounds back to 2048 in f16 (11 bits), 256 + 1 to 256 in bf16 (8 bits).
    EXPECT_EQ(simulate<u16>("add.noftz.f16", 0x3C00, std::vector<u16>(32, 0x3800), false).last, 0x4C40);
    EXPECT_EQ(simulate<u16>("add.noftz.f16", 0x6800, std::vector<u16>(32, 0x3C00), true).last, 0x6800);
    EXPECT_EQ(simulate<u16>("add.noftz.bf16", 0x4380, std::vector<u16>(32, 0x3F80), false).last, 0x4380);
    EXPECT_EQ(simulate<u16>("add.noftz.bf16", 0x3F80, std::vector<u16>(32, 0x3F80), false).last, 0x4204);  // 33
    // Subnormals stay: 32 x 2^-24.
    EXPECT_EQ(simulate<u16>("add.noftz.f16", 0, std::vector<u16>(32, 1), false).last, 32);
    // Overflow: 65504 + 65504.
    EXPECT_EQ(simulate<u16>("add.noftz.f16", 0x7BFF, std::vector<u16>(32, 0x7BFF), false).last, 0x7C00);
    // Pairs: 0 + 32 x (1, -2).
    EXPECT_EQ(simulate<u32>("add.noftz.f16x2", 0, std::vector<u32>(32, 0xC0003C00), false, true).last, 0xD4005000u);
    EXPECT_EQ(simulate<u32>("add.noftz.bf16x2", 0, std::vector<u32>(32, 0xC0003F80), true, true).last, 0xC2804200u);
}

TEST(Atomics, DifferentCellsAreIndependent) {
    const auto out = runBody<u32>(R"(
    and.b32 %r2, %t, 7;
    mul.wide.u32 %rd1, %r2, 4;
    add.u64 %rd2, %out, %rd1;
    red.global.add.u32 [%rd2], %t;
)");
    for (u32 i = 0; i < 8; ++i) EXPECT_EQ(out[i], 4 * i + 48);
}

TEST(Atomics, AResultNobodyWantsIsAReduction) {
    Runner r(kernelWith(
        "atom.global.add.u32 _, [%out], 1; atom.global.add.u32 %r1, [%out], 1; red.global.add.u32 [%out], 1;"));
    r.recordAccesses = true;
    const auto out = r.upload(std::vector<u32>(1));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<u32>(out, 1)[0], 96u);
    ASSERT_EQ(r.accesses.size(), 4u);
    EXPECT_EQ(r.accesses[1].kind, AccessKind::reduction);
    EXPECT_EQ(r.accesses[2].kind, AccessKind::atomic);
    EXPECT_EQ(r.accesses[3].kind, AccessKind::reduction);
}

TEST(Atomics, VectorsOfFloats) {
    Runner r(kernelWith(R"(
    mov.f32 %f1, 0f3F800000;
    mov.f32 %f2, 0f40000000;
    atom.global.v2.f32.add {%f3, %f4}, [%out], {%f1, %f2};
    red.global.v4.f32.add [%out], {%f1, %f2, %f1, %f2};
)"));
    const auto out = r.upload(std::vector<float>(4));
    r.launch("k", {{}, {32}}, out);
    EXPECT_EQ(r.download<float>(out, 4), (std::vector<float>{64, 128, 32, 64}));
}

TEST(Atomics, OnlyLanesThatExecute) {
    const auto out = runBody<u32>("setp.lt.u32 %p1, %t, 5; @%p1 red.global.add.u32 [%out], 2;");
    EXPECT_EQ(out[0], 10u);
}

}  // namespace
}  // namespace bulkhead::sim
