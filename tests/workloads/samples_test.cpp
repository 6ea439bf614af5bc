#include <gtest/gtest.h>

#include "corruption.h"
#include "measured.h"

namespace bulkhead::workloads {
namespace {

constexpr std::size_t kWord = 4;
using Sizes = std::vector<std::size_t>;

TEST(Samples, MatrixMultiplyCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("MM"), (Sizes{64 * 128 * kWord}));
}

TEST(Samples, SortCheckCatchesOneWrongKeyOrValue) {
    EXPECT_EQ(bytesOfCaught("SN"), (Sizes{8192 * kWord, 8192 * kWord}));
}

TEST(Samples, VectorAddCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("VA"), (Sizes{5000 * kWord}));
}

TEST(Samples, ScalarProductsCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("SP"), (Sizes{130 * kWord}));
}

TEST(Samples, FastWalshCheckCatchesOneWrongElement) {
    EXPECT_EQ(bytesOfCaught("FWT"), (Sizes{8192 * kWord}));
}

std::uint64_t launchesOf(const Measurement& m, const std::string& kernel) {
    for (const KernelMeasurement& k : m.kernels)
        if (k.kernel == kernel) return k.launches;
    return 0;
}

TEST(Samples, SortMergesInGlobalMemoryUntilStridesFitATile) {
    const Measurement m = measured("SN");
    // 8192 elements in tiles of 1024: merges of 2048, 4096 and 8192 have 1, 2 and 3 strides of a tile and more.
    EXPECT_EQ(launchesOf(m, "sortTiles"), 1u);
    EXPECT_EQ(launchesOf(m, "mergeStep"), 1u + 2 + 3);
    EXPECT_EQ(launchesOf(m, "mergeTiles"), 3u);
}

TEST(Samples, WalshTransformsUseGlobalMemoryForLongStridesOnly) {
    const Measurement m = measured("FWT");
    // Three transforms of 2^13 elements, each two levels in global memory and the other eleven in shared memory.
    EXPECT_EQ(launchesOf(m, "walshLevels"), 3u);
    EXPECT_EQ(launchesOf(m, "walshRuns"), 3u);
    EXPECT_EQ(launchesOf(m, "walshModulate"), 1u);
}

TEST(Samples, MatrixMultiplyLoadsEachElementOncePerTile) {
    const Measurement m = measured("MM");
    // 64 x 96 times 96 x 128 in tiles of 32: 2 x 4 blocks, each with 3 tiles of A and of B, each tile 32 rows of a
    // line.
    EXPECT_EQ(m.counters.l1Hits + m.counters.l1Misses, 8u * 3 * 2 * 32);
}

}  // namespace
}  // namespace bulkhead::workloads
