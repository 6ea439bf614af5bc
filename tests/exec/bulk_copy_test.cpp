// Bulk copies of bytes and of tensors, against the same done here.

#include "sim/exec/bulk_copy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runner.h"
#include "sim/exec/tensor_map.h"

namespace bulkhead::sim {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// A kernel with pointers %rd1 and %rd2, one thread of which (%p1) makes an object at %r2 and buffers at %r3.
std::string kernelOf(const std::string& body, const std::string& before = {}) {
    return before + R"(
.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .pred %p<16>; .reg .b16 %h<8>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .b32 %t;
    .shared .align 8 .b64 object; .shared .align 1024 .b8 buffer[32768];
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %t, %tid.x; mov.u32 %r2, object; mov.u32 %r3, buffer;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    @%p1 fence.proxy.async.shared::cta;
    bar.sync 0;
)" + body + "\n    ret;\n}\n";
}

/// Waits for the object, then copies so many words of the buffer to b.
std::string waitAndWrite(u32 words) {
    return R"(
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra W;
    mov.u32 %r40, %t;
C:  shl.b32 %r41, %r40, 2; add.u32 %r42, %r3, %r41; ld.shared.u32 %r43, [%r42]; cvt.u64.u32 %rd10, %r41;
    add.u64 %rd11, %rd2, %rd10; st.global.u32 [%rd11], %r43; add.u32 %r40, %r40, 32;
    setp.lt.u32 %p3, %r40, )" +
           std::to_string(words) + "; @%p3 bra C;\n";
}

std::vector<u32> numbers(std::size_t count, u32 factor = 2654435761u) {
    std::vector<u32> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<u32>(i + 1) * factor;
    return values;
}

TEST(BulkCopy, BringsBytesAndCompletesThem) {
    for (const Loads loads : {Loads::asWritten, Loads::assembled}) {
        Runner r(kernelOf(R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 4112;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1+16], 4096, [%r2];
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r3+4096], [%rd1], 16, [%r2], %rd5;
)" + waitAndWrite(1028)),
                 loads);
        const auto in = numbers(1028);
        const VirtualAddress a = r.upload(in), b = r.upload(std::vector<u32>(1028));
        r.launch("k", {{}, {32}}, a, b);
        const auto out = r.download<u32>(b, 1028);
        for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(out[i], in[i + 4]) << i;
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out[1024 + i], in[i]);
    }
}

TEST(BulkCopy, TakesBytesAwayInGroups) {
    Runner r(kernelOf(R"(
    shl.b32 %r4, %t, 2; add.u32 %r5, %r3, %r4; mad.lo.u32 %r6, %t, 3, 7; st.shared.u32 [%r5], %r6;
    bar.sync 0;
    @!%p1 bra DONE;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2+32], [%r3], 64;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;
DONE:
)"));
    const VirtualAddress b = r.upload(std::vector<u32>(64));
    r.launch("k", {{}, {32}}, b, b);
    const auto out = r.download<u32>(b, 64);
    for (u32 i = 0; i < 64; ++i) EXPECT_EQ(out[i], i >= 8 && i < 24 ? (i - 8) * 3 + 7 : 0) << i;
}

TEST(BulkCopy, ReducesInGlobalMemory) {
    struct Case {
        std::string operation, type;
        u32 (*expected)(u32 old, u32 value);
    };
    const Case cases[] = {
        {"add", "u32", [](u32 o, u32 v) { return o + v; }},
        {"min", "s32", [](u32 o, u32 v) { return static_cast<int>(o) < static_cast<int>(v) ? o : v; }},
        {"max", "u32", [](u32 o, u32 v) { return o > v ? o : v; }},
        {"inc", "u32", [](u32 o, u32 v) { return o >= v ? 0 : o + 1; }},
        {"dec", "u32", [](u32 o, u32 v) { return o == 0 || o > v ? v : o - 1; }},
        {"and", "b32", [](u32 o, u32 v) { return o & v; }},
        {"or", "b32", [](u32 o, u32 v) { return o | v; }},
        {"xor", "b32", [](u32 o, u32 v) { return o ^ v; }},
        {"add", "f32",
         [](u32 o, u32 v) { return std::bit_cast<u32>(std::bit_cast<float>(o) + std::bit_cast<float>(v)); }},
    };
    for (const Case& c : cases) {
        Runner r(kernelOf(R"(
    shl.b32 %r4, %t, 2; cvt.u64.u32 %rd3, %r4; add.u64 %rd3, %rd1, %rd3; ld.global.u32 %r6, [%rd3];
    add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %r6; bar.sync 0;
    @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.)" +
                          c.operation + "." + c.type + R"( [%rd2], [%r3], 128;
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
)"));
        std::vector<u32> values = numbers(32, 0x3f01'4005), old = numbers(32, 0x0fff'a001);
        const VirtualAddress a = r.upload(values), b = r.upload(old);
        r.launch("k", {{}, {32}}, a, b);
        const auto out = r.download<u32>(b, 32);
        for (u32 i = 0; i < 32; ++i) {
            const u32 expected = c.expected(old[i], values[i]);
            if (c.type == "f32" && std::isnan(std::bit_cast<float>(expected))) continue;
            EXPECT_EQ(out[i], expected) << c.operation << i;
        }
    }
}

TEST(BulkCopy, GoesToAllBlocksOfAMask) {
    // Rank 1 brings 64 bytes to ranks 0, 1 and 3.
    Runner r(kernelOf(R"(
    mov.u32 %r4, %cluster_ctarank; setp.eq.u32 %p4, %r4, 1; and.pred %p5, %p4, %p1;
    setp.ne.u32 %p6, %r4, 2; and.pred %p7, %p6, %p1;
    @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;
    @!%p6 mov.u32 %r44, 0;
    barrier.cluster.arrive; barrier.cluster.wait;
    mov.u16 %h1, 11;
    @%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1], 64, [%r2], %h1;
    mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 6; cvt.u64.u32 %rd4, %r5; add.u64 %rd2, %rd2, %rd4;
    @!%p6 bra OUT;
)" + waitAndWrite(16) +
                      "OUT: barrier.cluster.arrive; barrier.cluster.wait;"));
    const auto in = numbers(16);
    const VirtualAddress a = r.upload(in), b = r.upload(std::vector<u32>(64 + 16));
    r.launch("k", {{4}, {16}, 0, {4}}, a, b);
    const auto out = r.download<u32>(b, 64);
    for (u32 i = 0; i < 64; ++i) EXPECT_EQ(out[i], i / 16 == 2 ? 0 : in[i % 16]) << i;
}

TEST(BulkCopy, GoesFromBlockToBlock) {
    Runner r(kernelOf(R"(
    mov.u32 %r4, %cluster_ctarank; setp.eq.u32 %p4, %r4, 0; and.pred %p5, %p4, %p1; setp.eq.u32 %p6, %r4, 1;
    and.pred %p7, %p6, %p1;
    shl.b32 %r5, %t, 2; add.u32 %r6, %r3, %r5; add.u32 %r7, %t, 900; @%p4 st.shared.u32 [%r6+1024], %r7;
    @%p7 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r8, %r3, 1; mapa.shared::cluster.u32 %r9, %r2, 1; add.u32 %r10, %r3, 1024;
    @%p5 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r8], [%r10], 128, [%r9];
    @%p4 bra OUT;
)" + waitAndWrite(32) +
                      "OUT: barrier.cluster.arrive; barrier.cluster.wait;"));
    const VirtualAddress b = r.upload(std::vector<u32>(32));
    r.launch("k", {{2}, {32}, 0, {2}}, b, b);
    for (u32 i = 0; i < 32; ++i) EXPECT_EQ(r.download<u32>(b, 32)[i], 900 + i);
}

void expectFailure(const std::string& body, const std::string& part) {
    Runner r(kernelOf(body));
    const VirtualAddress a = r.upload(numbers(64));
    try {
        r.launch("k", {{}, {32}}, a, a);
        FAIL() << part;
    } catch (const LaunchError& e) {
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

TEST(BulkCopy, MistakesEndTheKernel) {
    const std::string copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
    expectFailure("@%p1 " + copy + "[%r3], [%rd1], 24, [%r2];", "not a multiple of 16");
    expectFailure("@%p1 " + copy + "[%r3], [%rd1+8], 16, [%r2];", "misaligned");
    expectFailure("@%p1 " + copy + "[%r3+4], [%rd1], 16, [%r2];", "misaligned");
    expectFailure("@%p1 " + copy + "[%r3], [%rd1+128], 256, [%r2];", "past the allocation");
    expectFailure("@%p1 " + copy + "[%r3+32752], [%rd1], 32, [%r2];", "do not lie in the");
}

// ---- Tensors.

struct Tensor {
    std::vector<u32> extent, box, strides;  ///< of elements
    TensorMap::Swizzle swizzle = TensorMap::Swizzle::none;
    TensorMap::Element element = TensorMap::Element::f32;
    bool nan = false;
};

/// Rows are padded to a multiple of 16 bytes.
TensorMap mapOf(const Tensor& t, VirtualAddress address) {
    TensorMap map;
    map.element = t.element;
    map.rank = static_cast<std::uint8_t>(t.extent.size());
    map.swizzle = t.swizzle;
    map.nanFill = t.nan;
    map.address = address;
    u64 stride = map.elementBytes();
    for (std::size_t d = 0; d < t.extent.size(); ++d) {
        map.extent[d] = t.extent[d] - 1;
        map.box[d] = static_cast<u16>(t.box[d]);
        map.elementStrides[d] = static_cast<std::uint8_t>(t.strides.empty() ? 1 : t.strides[d]);
        stride = (stride * t.extent[d] + 15) / 16 * 16;
        if (d + 1 < t.extent.size()) map.stride[d] = stride;
    }
    return map;
}

struct LoadedBox {
    std::vector<std::uint8_t> shared;
    u32 bytes = 0;
};

std::string coordinates(const std::vector<int>& at) {
    std::string text = "{";
    for (std::size_t d = 0; d < at.size(); ++d) text += (d ? ", " : "") + std::to_string(at[d]);
    return text + "}";
}

constexpr u32 kTensorBytes = 1 << 20;

LoadedBox load(const Tensor& t, const std::vector<int>& at, const std::vector<std::uint8_t>& data) {
    TensorMap probe = mapOf(t, 0);
    LoadedBox result;
    result.bytes = probe.boxBytes();
    Runner r(kernelOf("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(result.bytes) +
                      ";\n@%p1 cp.async.bulk.tensor." + std::to_string(at.size()) +
                      "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, " + coordinates(at) +
                      "], [%r2];\n" + waitAndWrite(8192)));
    const VirtualAddress tensor = r.upload(data);
    const TensorMap map = mapOf(t, tensor);
    std::vector<std::uint8_t> bytes(128);
    std::memcpy(bytes.data(), &map, sizeof map);
    const VirtualAddress a = r.upload(bytes), b = r.upload(std::vector<u32>(8192));
    r.launch("k", {{}, {32}}, a, b);
    result.shared = r.download<std::uint8_t>(b, 32768);
    return result;
}

std::vector<std::uint8_t> randomBytes(std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    u64 state = 7;
    for (std::uint8_t& b : bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        b = static_cast<std::uint8_t>(state >> 56);
    }
    return bytes;
}

/// Element by element: where it is in the tensor, or what stands for it; and where the box has it, swizzled by the rule
/// of exclusive ors of the manual's tables.
void expectBox(const Tensor& t, const std::vector<int>& at) {
    const auto data = randomBytes(kTensorBytes);
    const LoadedBox loaded = load(t, at, data);
    const TensorMap map = mapOf(t, 0);
    const u32 bytes = map.elementBytes();
    const std::size_t rank = t.extent.size();
    std::vector<u32> count(5, 1), index(5, 0);
    u32 all = 1;
    for (std::size_t d = 0; d < rank; ++d) {
        const u32 step = t.strides.empty() ? 1 : t.strides[d];
        count[d] = (t.box[d] + step - 1) / step;
        all *= count[d];
    }
    ASSERT_EQ(loaded.bytes, all * bytes);
    std::vector<std::uint8_t> expected(32768);
    // A swizzle takes its whole width, whatever the row has.
    const u32 row = count[0] * bytes;
    const u32 pitch = t.swizzle == TensorMap::Swizzle::none ? row : std::max(row, 16u << static_cast<u32>(t.swizzle));
    for (u32 n = 0; n < all; ++n) {
        bool inside = true;
        u64 from = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            const std::int64_t x = at[d] + std::int64_t{index[d]} * (t.strides.empty() ? 1 : t.strides[d]);
            inside = inside && x >= 0 && x < t.extent[d];
            from += static_cast<u64>(x) * (d ? map.stride[d - 1] : bytes);
        }
        u32 to = n / count[0] * pitch + n % count[0] * bytes;
        const u32 line = to / 128;
        if (t.swizzle == TensorMap::Swizzle::bytes32) to ^= line % 2 * 16;
        if (t.swizzle == TensorMap::Swizzle::bytes64) to ^= line % 4 * 16;
        if (t.swizzle == TensorMap::Swizzle::bytes128) to ^= line % 8 * 16;
        for (u32 i = 0; i < bytes; ++i) {
            const std::uint8_t outside = !t.nan ? 0 : i % 2 == 1 ? 0x7f : 0xf7;
            expected[to + i] = inside ? data[from + i] : outside;
        }
        for (std::size_t d = 0; d < rank && ++index[d] == count[d]; ++d) index[d] = 0;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(loaded.shared[i], expected[i]) << i;
}

TEST(BulkTensor, BoxesOfOneToFiveDimensions) {
    expectBox({{1000}, {256}, {}}, {100});
    expectBox({{100, 60}, {32, 16}, {}}, {20, 7});
    expectBox({{33, 20, 10}, {16, 8, 4}, {}}, {3, 2, 1});
    expectBox({{20, 9, 8, 7}, {8, 4, 3, 2}, {}}, {1, 2, 3, 4});
    expectBox({{8, 7, 6, 5, 4}, {4, 3, 2, 2, 3}, {}}, {2, 1, 0, 2, 1});
}

TEST(BulkTensor, WhatLiesOutsideIsFilled) {
    expectBox({{100, 60}, {32, 16}, {}}, {-5, -3});
    expectBox({{100, 60}, {32, 16}, {}}, {90, 55});
    expectBox({{100, 60}, {32, 16}, {}}, {200, 10});
    Tensor nan{{50, 20}, {32, 16}, {}};
    nan.nan = true;
    expectBox(nan, {-3, 15});
    nan.element = TensorMap::Element::f16;
    expectBox(nan, {40, -2});
}

TEST(BulkTensor, Swizzles) {
    Tensor t{{512, 64}, {8, 32}, {}};
    t.swizzle = TensorMap::Swizzle::bytes32;
    expectBox(t, {16, 3});
    t.box = {16, 32};
    t.swizzle = TensorMap::Swizzle::bytes64;
    expectBox(t, {17, 3});
    t.box = {32, 40};
    t.swizzle = TensorMap::Swizzle::bytes128;
    expectBox(t, {500, 30});
    t.box = {64, 40};
    t.element = TensorMap::Element::bf16;
    expectBox(t, {-1, -1});
}

TEST(BulkTensor, SwizzlesWiderThanTheBox) {
    Tensor t{{512, 64}, {8, 32}, {}};
    t.swizzle = TensorMap::Swizzle::bytes64;
    expectBox(t, {16, 3});
    t.swizzle = TensorMap::Swizzle::bytes128;
    expectBox(t, {16, 3});
    t.box = {12, 40};
    expectBox(t, {505, 30});
    TensorMap map = mapOf(t, 0);
    EXPECT_EQ(map.boxBytes(), 48u * 40);
    EXPECT_EQ(map.sharedBytes(), 128u * 40);
    map.swizzle = TensorMap::Swizzle::none;
    EXPECT_EQ(map.sharedBytes(), 48u * 40);
}

/// What an H200 loaded, from a tensor and for an element outside of it.
TEST(BulkTensor, Tf32IsRounded) {
    const std::vector<std::pair<u32, u32>> loaded = {
        {0x00000000, 0x00000000}, {0x00000001, 0x00000000}, {0x00001000, 0x00000000}, {0x00001001, 0x00002000},
        {0x00003000, 0x00004000}, {0x007fefff, 0x007fe000}, {0x007fffff, 0x00800000}, {0x00800fff, 0x00800000},
        {0x00801001, 0x00802000}, {0x3f800000, 0x3f800000}, {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000},
        {0x3f802fff, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x3fffefff, 0x3fffe000}, {0x3ffff000, 0x40000000},
        {0x7f7fefff, 0x7f7fe000}, {0x7f7ff000, 0x7f800000}, {0x7f800000, 0x7f800000}, {0x7f800001, 0x7fffe000},
        {0x7fc01234, 0x7fffe000}, {0x80000000, 0x80000000}, {0x80000001, 0x80000000}, {0x80001001, 0x80002000},
        {0x807fffff, 0x80800000}, {0xbf801000, 0xbf800000}, {0xbf803000, 0xbf804000}, {0xff7ff000, 0xff800000},
        {0xff800000, 0xff800000}, {0xff800001, 0x7fffe000}, {0xffffffff, 0x7fffe000},
    };
    constexpr u32 kOutside = 0x7ff7'7ff7;
    std::vector<u32> words;
    for (const auto& [from, to] : loaded) words.push_back(from);
    std::vector<std::uint8_t> data(words.size() * sizeof(u32));
    std::memcpy(data.data(), words.data(), data.size());
    const auto count = static_cast<u32>(words.size());
    for (const auto element : {TensorMap::Element::tf32, TensorMap::Element::tf32Flushed, TensorMap::Element::f32,
                               TensorMap::Element::f32Flushed}) {
        const bool rounds = element == TensorMap::Element::tf32 || element == TensorMap::Element::tf32Flushed;
        const LoadedBox box = load({{count}, {32}, {}, TensorMap::Swizzle::none, element, true}, {0}, data);
        std::vector<u32> out(32);
        std::memcpy(out.data(), box.shared.data(), out.size() * sizeof(u32));
        for (u32 i = 0; i < count; ++i) EXPECT_EQ(out[i], rounds ? loaded[i].second : loaded[i].first) << i;
        EXPECT_EQ(out[count], kOutside);
    }
}

TEST(BulkTensor, ElementsAreSkippedByStrides) {
    expectBox({{64, 64, 8}, {16, 16, 4}, {1, 2, 3}}, {4, 5, 1});
}

TEST(BulkTensor, StoresLeaveWhatIsOutside) {
    // A box of 8 x 4 floats at (60, 18) of 64 x 20, and its sum a second time.
    const Tensor t{{64, 20}, {8, 4}, {}};
    for (const bool adds : {false, true}) {
        const std::string instruction = adds ? "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
                                             : "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";
        Runner r(kernelOf(R"(
    shl.b32 %r4, %t, 2; add.u32 %r5, %r3, %r4; cvt.rn.f32.u32 %r6, %t; st.shared.b32 [%r5], %r6; bar.sync 0;
    @%p1 )" + instruction +
                          R"( [%rd1, {60, 18}], [%r3];
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;
)"));
        const std::vector<float> before(64 * 20, 0.5f);
        const VirtualAddress b = r.upload(before);
        const TensorMap map = mapOf(t, b);
        std::vector<std::uint8_t> bytes(128);
        std::memcpy(bytes.data(), &map, sizeof map);
        const VirtualAddress a = r.upload(bytes);
        r.launch("k", {{}, {32}}, a, b);
        const auto out = r.download<float>(b, 64 * 20);
        for (u32 y = 0; y < 20; ++y)
            for (u32 x = 0; x < 64; ++x) {
                const bool isIn = x >= 60 && y >= 18;
                const float value = static_cast<float>((y - 18) * 8 + x - 60) + (adds ? 0.5f : 0.0f);
                EXPECT_EQ(out[y * 64 + x], isIn ? value : 0.5f) << x << ' ' << y;
            }
    }
}

TEST(BulkTensor, MapsAreChangedOnTheDevice) {
    // A map of nothing in particular becomes one of 40 x 8 numbers, of which a box of 8 x 4 is loaded: in shared
    // memory, then copied to global memory; its extents are changed there.
    Runner r(kernelOf(R"(
    @!%p1 bra REST;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
    add.u32 %r4, %r3, 1024; mov.u32 %r5, 0;
L:  cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd1, %rd5; ld.global.u64 %rd7, [%rd6]; add.u32 %r6, %r4, %r5;
    st.shared.u64 [%r6], %rd7; add.u32 %r5, %r5, 8; setp.lt.u32 %p4, %r5, 128; @%p4 bra L;
    add.u64 %rd8, %rd1, 256;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r4], %rd8;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r4], 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r4], 2;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 0, 8;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 1, 4;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r4], 0, 160;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r4], 1, 1;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r4], 0;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r4], 0;
    mov.u32 %r5, 0;
M:  cvt.u64.u32 %rd5, %r5; add.u64 %rd6, %rd1, %rd5; add.u32 %r6, %r4, %r5; ld.shared.u64 %rd7, [%r6];
    st.global.u64 [%rd6], %rd7; add.u32 %r5, %r5, 8; setp.lt.u32 %p4, %r5, 128; @%p4 bra M;
    tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 0, 40;
    tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 1, 8;
    fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {36, 3}], [%r2];
REST:
)" + waitAndWrite(32)));
    const TensorMap map = mapOf({{16}, {4}, {}, TensorMap::Swizzle::bytes32, TensorMap::Element::f32, true}, 0);
    std::vector<u32> memory(64 + 40 * 8);
    std::memcpy(memory.data(), &map, sizeof map);
    for (u32 n = 0; n < 320; ++n) memory[64 + n] = n + 1;
    const VirtualAddress a = r.upload(memory), b = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, a, b);
    const auto out = r.download<u32>(b, 32);
    for (u32 n = 0; n < 32; ++n) EXPECT_EQ(out[n], n % 8 < 4 ? (3 + n / 8) * 40 + 36 + n % 8 + 1 : 0) << n;
}

TEST(BulkTensor, MapsAreMadeOfZerosAndCopiedByAWarp) {
    // As Triton makes one: zeros in shared memory, every field by one lane, and a copy of it by the whole warp.
    Runner r(kernelOf(R"(
    add.u32 %r4, %r3, 1024; mov.u32 %r5, %tid.x; shl.b32 %r5, %r5, 2; add.u32 %r6, %r4, %r5; mov.u32 %r7, 0;
    st.shared.u32 [%r6], %r7;
    bar.warp.sync -1;
    add.u64 %rd8, %rd1, 256;
    @%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r4 + 0], %rd8;
    @%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r4], 1;
    @%p1 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 0, 8;
    @%p1 tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 1, 4;
    @%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 0, 40;
    @%p1 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 1, 8;
    @%p1 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r4], 0, 160;
    @%p1 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r4], 0, 1;
    @%p1 tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r4], 1, 1;
    @%p1 tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r4], 2;
    @%p1 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r4], 0;
    @%p1 tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r4], 0;
    @%p1 tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r4], 0;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1 + 128], [%r4 + 0], 128;
    add.u64 %rd1, %rd1, 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
    @!%p1 bra REST;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {36, 3}], [%r2];
REST:
)" + waitAndWrite(32)));
    std::vector<u32> memory(64 + 40 * 8, 0xdeadbeef);
    for (u32 n = 0; n < 320; ++n) memory[64 + n] = n + 1;
    const VirtualAddress a = r.upload(memory), b = r.upload(std::vector<u32>(32));
    r.launch("k", {{}, {32}}, a, b);
    const auto out = r.download<u32>(b, 32);
    for (u32 n = 0; n < 32; ++n) EXPECT_EQ(out[n], n % 8 < 4 ? (3 + n / 8) * 40 + 36 + n % 8 + 1 : 0) << n;
}

TEST(BulkTensor, SlicesOfInterleavedChannels) {
    // As an H200 answered: dimension 0 counts slices, the last but one has one slice in a box, whatever the box says.
    struct Case {
        TensorMap::Interleave interleave;
        TensorMap::Swizzle swizzle;
        std::vector<u32> extent, box, every;
        std::vector<u32> strides, at;
        std::vector<std::int64_t> pieces;  ///< where in the tensor each 16 bytes come from; -1: outside
    };
    constexpr auto k16 = TensorMap::Interleave::bytes16, k32 = TensorMap::Interleave::bytes32;
    using Swizzle = TensorMap::Swizzle;
    const std::vector<Case> cases = {
        {k16,
         Swizzle::none,
         {32, 64, 4},
         {8, 16, 2},
         {1, 1, 1},
         {1024, 65536},
         {1, 1, 1},
         {66576, 66592, 66608, 66624, 66640, 66656, 66672, 66688, 132112, 132128, 132144, 132160, 132176, 132192,
          132208, 132224}},
        {k16,
         Swizzle::none,
         {32, 64, 4},
         {8, 16, 1},
         {1, 1, 1},
         {1024, 65536},
         {28, 0, 0},
         {448, 464, 480, 496, -1, -1, -1, -1}},
        {k16,
         Swizzle::none,
         {32, 64, 4},
         {16, 16, 1},
         {2, 1, 1},
         {1024, 65536},
         {0, 0, 0},
         {0, 32, 64, 96, 128, 160, 192, 224}},
        {k16,
         Swizzle::none,
         {32, 6, 64, 2},
         {8, 4, 16, 1},
         {1, 2, 1, 1},
         {1024, 65536, 131072},
         {0, 0, 0, 0},
         {0, 16, 32, 48, 64, 80, 96, 112, 2048, 2064, 2080, 2096, 2112, 2128, 2144, 2160}},
        {k32,
         Swizzle::bytes32,
         {32, 64, 4},
         {16, 16, 1},
         {1, 1, 1},
         {1024, 65536},
         {3, 1, 0},
         {1120, 1136, 1152, 1168, 1184, 1200, 1216, 1232, 1264, 1248, 1296, 1280, 1328, 1312, 1360, 1344,
          1376, 1392, 1408, 1424, 1440, 1456, 1472, 1488, 1520, 1504, 1552, 1536, 1584, 1568, 1616, 1600}},
        {k32, Swizzle::bytes64, {32, 64, 4}, {16, 16, 1}, {1, 1, 1}, {1024, 65536}, {0, 0, 0}, {0,   16,  32,  48,  64,
                                                                                                80,  96,  112, 144, 128,
                                                                                                176, 160, 208, 192, 240,
                                                                                                224, 288, 304, 256, 272,
                                                                                                352, 368, 320, 336, 432,
                                                                                                416, 400, 384, 496, 480,
                                                                                                464, 448}},
    };
    for (const Case& c : cases) {
        TensorMap map;
        map.element = TensorMap::Element::u16;
        map.interleave = c.interleave;
        map.swizzle = c.swizzle;
        map.rank = static_cast<std::uint8_t>(c.extent.size());
        std::string at;
        for (unsigned d = 0; d < map.rank; ++d) {
            map.extent[d] = c.extent[d] - 1;
            map.box[d] = static_cast<std::uint16_t>(c.box[d]);
            map.elementStrides[d] = static_cast<std::uint8_t>(c.every[d]);
            if (d) map.stride[d - 1] = c.strides[d - 1];
            at += (d ? ", " : "") + std::to_string(c.at[d]);
        }
        const u32 bytes = 16 * static_cast<u32>(c.pieces.size());
        EXPECT_EQ(map.boxBytes(), bytes);
        Runner r(kernelOf("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(bytes) +
                          ";\n@%p1 cp.async.bulk.tensor." + std::to_string(map.rank) +
                          "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {" + at +
                          "}], [%r2];\n" + waitAndWrite(bytes / 4)));
        const auto data = numbers(65536);
        map.address = r.upload(data);
        std::vector<std::uint8_t> described(128);
        std::memcpy(described.data(), &map, sizeof map);
        const VirtualAddress a = r.upload(described), b = r.upload(std::vector<u32>(bytes / 4));
        r.launch("k", {{}, {32}}, a, b);
        const auto out = r.download<u32>(b, bytes / 4);
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::int64_t piece = c.pieces[i / 4];
            ASSERT_EQ(out[i], piece < 0 ? 0 : data[static_cast<std::size_t>(piece) / 4 + i % 4]) << at << ": " << i;
        }
    }
}

TEST(BulkTensor, ColumnsOfImages) {
    // NHWC: 16 channels, 7 x 6 pixels, 3 images, a filter of 3 x 3 without padding: corners (0, 0) and (-2, -2).
    TensorMap map;
    map.element = TensorMap::Element::f32;
    map.rank = 4;
    map.im2col = 1;
    const u32 extent[] = {16, 7, 6, 3};
    u32 stride = 64;
    for (unsigned d = 0; d < 4; ++d) {
        map.extent[d] = extent[d] - 1;
        map.elementStrides[d] = 1;
        if (d < 3) map.stride[d] = stride, stride *= extent[d + 1];
    }
    map.box[0] = 8;
    map.box[1] = 40;
    map.upper[0] = map.upper[1] = -2;
    Runner r(kernelOf(R"(
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1280;
    mov.u16 %h1, 2; mov.u16 %h2, 1;
    @%p1 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r3], [%rd1, {4, 3, 1, 0}], [%r2], {%h1, %h2};
)" + waitAndWrite(320)));
    const auto data = numbers(16 * 7 * 6 * 3);
    map.address = r.upload(data);
    std::vector<std::uint8_t> bytes(128);
    std::memcpy(bytes.data(), &map, sizeof map);
    const VirtualAddress a = r.upload(bytes), b = r.upload(std::vector<u32>(320));
    r.launch("k", {{}, {32}}, a, b);
    const auto out = r.download<u32>(b, 320);
    // Pixels that a filter's corner can be at are 5 x 4; from (3, 1) of the first image on, row by row.
    u32 w = 3, h = 1, n = 0;
    for (u32 pixel = 0; pixel < 40; ++pixel) {
        for (u32 c = 0; c < 8; ++c)
            ASSERT_EQ(out[pixel * 8 + c], data[((n * 6 + h + 1) * 7 + w + 2) * 16 + 4 + c]) << pixel;
        if (++w == 5) w = 0, ++h;
        if (h == 4) h = 0, ++n;
    }
}

TEST(BulkTensor, AMapOfWhichAProgramChangedBytesIsNone) {
    const auto isWholeWith = [](auto change) {
        TensorMap map;
        map.rank = 3;
        change(map);
        return map.isWhole();
    };
    EXPECT_TRUE(isWholeWith([](TensorMap&) {}));
    EXPECT_TRUE(isWholeWith([](TensorMap& m) { m.elementStrides[3] = 0; })) << "of a dimension that it has not";
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.magic ^= 1; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.rank = 6; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.rank = 2, m.im2col = 1; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.rank = 1, m.interleave = TensorMap::Interleave::bytes16; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.elementStrides[1] = 0; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.box[2] = 0xffff; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.elementStrides[2] = 9; }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.element = static_cast<TensorMap::Element>(13); }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.swizzle = static_cast<TensorMap::Swizzle>(4); }));
    EXPECT_FALSE(isWholeWith([](TensorMap& m) { m.interleave = static_cast<TensorMap::Interleave>(3); }));
}

TEST(BulkTensor, BoxesOfMoreThan32BitsOfBytes) {
    const Tensor t{{512, 512, 512, 64}, {256, 256, 256, 64}, {}};
    EXPECT_EQ(mapOf(t, 0).sharedBytes(), u64{1} << 32);
    try {
        load(t, {0, 0, 0, 0}, randomBytes(1024));
        FAIL();
    } catch (const LaunchError& e) {
        EXPECT_NE(std::string(e.what()).find("4294967296 bytes do not lie in the"), std::string::npos) << e.what();
    }
}

TEST(BulkTensor, MistakesEndTheKernel) {
    expectFailure(
        R"(@%p1 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {0}], [%r2];)",
        "there is no tensor map");
}

}  // namespace
}  // namespace bulkhead::sim
