#include <gtest/gtest.h>

#include <set>

#include "sim/sm/shared_cache.h"

namespace bulkhead::sim {
namespace {

constexpr std::uint32_t kShared = 48 * 1024;
constexpr std::uint64_t kRow = 16 * 1024;  // of a matrix of 4096 floats, as ATAX's

SharedCache withBlock(bool hashed) {
    SharedCache cache(kShared, hashed);
    cache.blockStarted(0, 0);
    return cache;
}

std::size_t placesOfRows(const SharedCache& cache, std::uint64_t rows) {
    std::set<std::uint32_t> places;
    for (std::uint64_t row = 0; row < rows; ++row) places.insert(cache.placeOf(row * kRow));
    return places.size();
}

// 48 KB unused make 256 blocks, so that lines 128 apart share two of them unless their index is hashed.
TEST(SharedCacheHash, spreadsRowsAPowerOfTwoApart) {
    EXPECT_EQ(placesOfRows(withBlock(false), 32), 2u);
    EXPECT_EQ(placesOfRows(withBlock(true), 32), 32u);
}

TEST(SharedCacheHash, neighboursStillHaveBlocksOfTheirOwn) {
    const SharedCache cache = withBlock(true);
    std::set<std::uint32_t> places;
    for (std::uint64_t line = 0; line < 256; ++line) places.insert(cache.placeOf(5 * kRow * 256 + line * 128));
    EXPECT_EQ(places.size(), 256u);
}

TEST(SharedCacheHash, aLineIsFoundWhereItWasFilledAndDroppedThere) {
    SharedCache cache = withBlock(true);
    const std::uint64_t line = 77 * kRow + 128;
    EXPECT_FALSE(cache.fill(cache.placeOf(line), line, 0xf, 3));
    EXPECT_EQ(cache.valid(line), 0xf);
    cache.drop(line);
    EXPECT_EQ(cache.valid(line), 0);
    EXPECT_EQ(cache.usedBytes(), 0u);
}

}  // namespace
}  // namespace bulkhead::sim
