// Accesses moved to where their bytes are: kernels see one array, memory holds it in pieces.

#include "ptx/translated_accesses.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "harness.h"

namespace bulkhead::sim::test {
namespace {

/// Piece i of 4 KB goes to piece 2 i + the parity of bits of 2 i: one half of the memory, chosen as a hash would.
constexpr std::uint64_t kPiece = 4096, kMask = 0xAB000;

std::uint64_t movedOffset(std::uint64_t offset) {
    const std::uint64_t doubled = offset / kPiece * 2 * kPiece;
    return doubled + static_cast<std::uint64_t>(std::popcount(doubled & kMask) & 1) * kPiece + offset % kPiece;
}

/// The window's addresses hold nothing themselves: `real` is where the bytes are.
constexpr std::uint64_t kWindow = std::uint64_t{5} << 32;

ptx::AccessTranslation translationTo(VirtualAddress real, std::uint64_t bytes) {
    ptx::AccessTranslation t;
    t.base = kWindow;
    t.bytes = bytes;
    t.declarations = ".reg .b64 %mv<3>; .reg .b32 %mw;";
    t.translate = [real](const ptx::AccessTranslation::Registers& r) {
        return fmt::format(
            "mov.b64 %mv0, {{{2}, {3}}}; and.b64 %mv1, %mv0, -4096; and.b64 %mv0, %mv0, 4095; shl.b64 %mv1, %mv1, 1; "
            "and.b64 %mv2, %mv1, {4}; popc.b64 %mw, %mv2; and.b32 %mw, %mw, 1; shl.b32 %mw, %mw, 12; "
            "cvt.u64.u32 %mv2, %mw; add.u64 %mv0, %mv0, %mv1; add.u64 %mv0, %mv0, {5}; {1} add.u64 {0}, %mv0, %mv2;",
            r.address, r.inside.empty() ? "" : fmt::format("@{}", r.inside), r.low, r.high, kMask, real);
    };
    return t;
}

std::string translated(const std::string& text, const ptx::AccessTranslation& t) {
    return ptx::withTranslatedAccesses(ptx::parse(text, "test.ptx"), t).text;
}

TEST(TranslatedAccesses, KernelsReadAndWriteWhereTheBytesAre) {
    // a[i] += 7, by one thread an element; c[0] counts the threads, outside the window.
    const std::string body =
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 128, %r2; mul.wide.u32 %rd4, %r3, 4;\n"
        "add.u64 %rd5, %rd1, %rd4; ld.global.u32 %r4, [%rd5]; add.u32 %r4, %r4, 7; st.global.u32 [%rd5+0], %r4;\n"
        "red.global.add.u32 [%rd3], 1;";
    Harness h;
    const std::uint32_t n = 256 * 1024;
    const VirtualAddress real = h.buffer(8 * n), counter = h.buffer(4);
    const auto element = [&](std::uint64_t i) { return h.data<std::uint32_t>(real + movedOffset(4 * i), 1); };
    for (std::uint32_t i = 0; i < n; ++i) *element(i) = i;
    const std::string text = translated(kernelText(body), translationTo(real, 4 * n));
    const LaunchRecord& record = h.gpu.record(h.run(text, {{n / 128}, {128}}, {kWindow, 0, counter}));
    ASSERT_FALSE(record.error) << record.error->what();
    for (std::uint32_t i = 0; i < n; ++i) ASSERT_EQ(*element(i), i + 7) << "element " << i;
    EXPECT_EQ(*h.data<std::uint32_t>(counter), n);
}

TEST(TranslatedAccesses, SharedMemoryAndParametersStayWhereTheyAre) {
    const std::string body =
        "mov.u32 %r1, 5; st.shared.u32 [tile], %r1; ld.shared.u32 %r2, [tile]; st.global.u32 [%rd1], %r2;";
    Harness h;
    const VirtualAddress real = h.buffer(4 * kPiece);
    const std::string text =
        translated(kernelText(body, ".shared .align 4 .u32 tile;"), translationTo(real, 2 * kPiece));
    h.run(text, {{1}, {1}}, {kWindow + kPiece});
    EXPECT_EQ(*h.data<std::uint32_t>(real + movedOffset(kPiece)), 5u);
}

TEST(TranslatedAccesses, AnAddressMayBeANumberOrStandBesideBracketsInComments) {
    const std::string body = fmt::format(
        "mov.u32 %r1, 5; st.global.u32 [{}], %r1;\nst.global.u32 /* ] [ */ [%rd1+4] // [ ]\n, %r1;", kWindow + kPiece);
    Harness h;
    const VirtualAddress real = h.buffer(4 * kPiece);
    const LaunchRecord& record =
        h.gpu.record(h.run(translated(kernelText(body), translationTo(real, 2 * kPiece)), {{1}, {1}}, {kWindow}));
    ASSERT_FALSE(record.error) << record.error->what();
    EXPECT_EQ(*h.data<std::uint32_t>(real + movedOffset(kPiece)), 5u);
    EXPECT_EQ(*h.data<std::uint32_t>(real + movedOffset(4)), 5u);
}

TEST(TranslatedAccesses, A32BitAddressIsExtendedWithZeros) {
    // It is below the window, and means itself: the message has the address that was meant.
    Harness h;
    const VirtualAddress real = h.buffer(4 * kPiece);
    const std::string body = "mov.u32 %r1, 0xfffffff0; ld.global.u32 %r2, [%r1+32]; st.global.u32 [%rd1], %r2;";
    const LaunchRecord& record =
        h.gpu.record(h.run(translated(kernelText(body), translationTo(real, 2 * kPiece)), {{1}, {1}}, {kWindow}));
    ASSERT_TRUE(record.error);
    EXPECT_NE(std::string(record.error->what()).find("0x100000010"), std::string::npos) << record.error->what();
}

TEST(TranslatedAccesses, AWindowOfWholeMultiplesEndsWhereItShould) {
    // Just before the window and just behind it, addresses mean themselves: nothing is there, and the kernel faults.
    Harness h;
    const VirtualAddress real = h.buffer(4 * kPiece);
    const std::uint64_t all = ptx::AccessTranslation::kAlignment;
    const std::string text =
        translated(kernelText("mov.u32 %r1, 5; st.global.u32 [%rd1+4], %r1;"), translationTo(real, all));
    EXPECT_FALSE(h.gpu.record(h.run(text, {{1}, {1}}, {kWindow})).error);
    EXPECT_EQ(*h.data<std::uint32_t>(real + 4), 5u);
    EXPECT_TRUE(h.gpu.record(h.run(text, {{1}, {1}}, {kWindow - 8})).error);
    EXPECT_TRUE(h.gpu.record(h.run(text, {{1}, {1}}, {kWindow + all - 4})).error);
}

TEST(TranslatedAccesses, AsynchronousCopiesReadWhereTheBytesAre) {
    const std::string body =
        "mov.u32 %r1, tile; cp.async.ca.shared.global [%r1], [%rd1+4096], 4; cp.async.wait_all;\n"
        "ld.shared.u32 %r2, [tile]; st.global.u32 [%rd2], %r2;";
    Harness h;
    const VirtualAddress real = h.buffer(4 * kPiece), result = h.buffer(4);
    *h.data<std::uint32_t>(real + movedOffset(kPiece)) = 9;
    const std::string text =
        translated(kernelText(body, ".shared .align 4 .u32 tile;"), translationTo(real, 2 * kPiece));
    h.run(text, {{1}, {1}}, {kWindow, result});
    EXPECT_EQ(*h.data<std::uint32_t>(result), 9u);
}

/// b[i] = a[i] + 1, through pointers that are marked as those of global memory.
const char* const kIncrement =
    "cvta.to.global.u64 %rd4, %rd1; cvta.to.global.u64 %rd5, %rd2; mov.u32 %r1, %tid.x; mul.wide.u32 %rd6, %r1, 4;\n"
    "add.s64 %rd4, %rd4, %rd6; add.s64 %rd5, %rd5, %rd6; setp.gt.u32 %p1, %r1, 63; @%p1 bra end;\n"
    "ld.global.u32 %r2, [%rd4+4096]; add.u32 %r2, %r2, 1; st.global.u32 [%rd5], %r2;\nend:";

/// All four ways, for a window of so many bytes.
void expectIncremented(std::uint64_t windowBytes) {
    Harness h;
    const VirtualAddress real = h.buffer(8 * kPiece), plain = h.buffer(4 * kPiece);
    const std::string text = translated(kernelText(kIncrement), translationTo(real, windowBytes));
    const auto word = [&](std::uint64_t address) {
        const bool inside = address >= kWindow && address < kWindow + windowBytes;
        return h.data<std::uint32_t>(inside ? real + movedOffset(address - kWindow) : address, 1);
    };
    for (const std::uint64_t from : {kWindow, std::uint64_t{plain}})
        for (const std::uint64_t to : {kWindow + 2 * kPiece, std::uint64_t{plain} + 2 * kPiece}) {
            for (std::uint64_t i = 0; i < 64; ++i) *word(from + kPiece + 4 * i) = static_cast<std::uint32_t>(from + i);
            const LaunchRecord& record = h.gpu.record(h.run(text, {{1}, {96}}, {from, to}));
            ASSERT_FALSE(record.error) << record.error->what();
            for (std::uint64_t i = 0; i < 64; ++i)
                ASSERT_EQ(*word(to + 4 * i), static_cast<std::uint32_t>(from + i + 1)) << from << " to " << to;
        }
}

TEST(TranslatedAccesses, PointersOfALaunchMayBeInTheWindowOrNot) {
    expectIncremented(ptx::AccessTranslation::kAlignment);
}

TEST(TranslatedAccesses, PointersOfALaunchMayBeInAWideWindowOrNot) {
    expectIncremented(3 * ptx::AccessTranslation::kAlignment);
}

TEST(TranslatedAccesses, PointersOfALaunchMayBeInANarrowWindowOrNot) {
    expectIncremented(4 * kPiece);
}

}  // namespace
}  // namespace bulkhead::sim::test
