#include <gtest/gtest.h>

#include <cmath>

#include "corruption.h"
#include "measured.h"
#include "workloads/inference/short_floats.h"

namespace bulkhead::workloads {
namespace {

constexpr std::size_t kWord = 4;
using Sizes = std::vector<std::size_t>;

TEST(Inference, ProductsChecksCatchOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("GEMM_MMA"), (Sizes{128 * 256 * kWord}));
    EXPECT_EQ(bytesOfCaught("GEMM_WGMMA"), (Sizes{128 * 256 * kWord}));
}

TEST(Inference, AttentionCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("Attention"), (Sizes{4 * 128 * 128 * kWord}));
}

TEST(Inference, DecodeCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("PagedDecode"), (Sizes{3 * 8 * 128 * kWord}));
}

TEST(Inference, GemvCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("GEMV_INT4"), (Sizes{64 * kWord}));
}

TEST(Inference, HasTheFootprintsThatItsTableSays) {
    for (const Workload& workload : all()) {
        if (!workload.inference) continue;
        SCOPED_TRACE(workload.name);
        gpu::Gpu gpu = gpu::Gpu::open("sim:h200");
        const auto instance = workload.create(gpu.context(), Size::paper, 1);
        const auto said = static_cast<double>(workload.inference->inputBytes);
        EXPECT_NEAR(static_cast<double>(instance->footprint()), said, 0.02 * said);
    }
}

TEST(Inference, ProductLoadsEachElementOncePerTile) {
    // 128 x 192 times 256 x 192 transposed, in tiles of 128 x 128: two blocks, each with all of A and half of W, in
    // rows of 32 numbers of 16 bits, which lie in one line of 128 bytes.
    const Measurement m = measured("GEMM_MMA");
    const std::uint64_t rows = 128 + 128, steps = 192 / 32;
    EXPECT_EQ(m.counters.l1Hits + m.counters.l1Misses + m.counters.l1Bypasses, 2 * rows * steps);
}

TEST(ShortFloats, AreRoundedToTheNearest) {
    EXPECT_EQ(bf16Bits(1.0f), 0x3f80);
    EXPECT_EQ(bf16Bits(1.0f + 0x1p-8f), 0x3f80);             // a tie, to even
    EXPECT_EQ(bf16Bits(1.0f + 0x3p-8f), 0x3f82);             // another
    EXPECT_EQ(bf16Bits(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);  // above a tie
    EXPECT_EQ(bf16Value(0xbf81), -1.0f - 0x1p-7f);
    EXPECT_EQ(halfBits(0), 0);
    EXPECT_EQ(halfBits(1), 0x3c00);
    EXPECT_EQ(halfBits(-1.5f), 0xbe00);
    EXPECT_EQ(halfBits(2047.0f / 2048), 0x3bff);
    EXPECT_EQ(halfBits(0x1p-14f), 0x0400);
}

}  // namespace
}  // namespace bulkhead::workloads
