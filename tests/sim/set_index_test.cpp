// Sets of L1D: against the XOR of groups of bits taken one after the other, and by how evenly they are used.

#include "sim/sm/set_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace bulkhead::sim {
namespace {

TEST(SetIndex, LinearSetsAreNeighbours) {
    const SetIndex index(SetIndex::Hash::linear, 128, 24);
    for (std::uint32_t line = 0; line < 100; ++line) EXPECT_EQ(index.of(128 * line + 127), line % 24);
}

TEST(SetIndex, FoldsEveryGroupOfBits) {
    Random random(7);
    for (const unsigned bits : {0u, 1u, 2u, 3u, 5u, 6u, 9u, 16u}) {
        const SetIndex index(SetIndex::Hash::xorFold, 128, 1u << bits);
        for (int i = 0; i < 1000; ++i) {
            const std::uint64_t line = random.next() >> random.below(64) & ~std::uint64_t{127};
            std::uint64_t expected = 0;
            for (unsigned at = 7; bits && at < 64; at += bits)
                expected ^= line >> at & ((std::uint64_t{1} << bits) - 1);
            EXPECT_EQ(index.of(line), expected) << bits << " bits, line " << line;
        }
    }
}

TEST(SetIndex, EverySetOfAnyNumberGetsAsManyLines) {
    for (std::uint32_t sets = 1; sets <= 300; ++sets) {
        const SetIndex index(SetIndex::Hash::xorFold, 128, sets);
        // From several multiples of the number of sets on.
        for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 30}) {
            std::vector<unsigned> lines(sets);
            for (std::uint64_t i = 0; i < 8 * sets; ++i) ++lines.at(index.of(128 * (from * sets + i)));
            for (const unsigned n : lines) EXPECT_EQ(n, 8u) << sets << " sets, from " << from;
        }
    }
}

/// The most lines that one set gets of 8 for each.
unsigned most(std::uint32_t sets, std::uint64_t stride) {
    const SetIndex index(SetIndex::Hash::xorFold, 128, sets);
    std::vector<unsigned> lines(sets);
    for (std::uint64_t i = 0; i < 8 * sets; ++i) ++lines.at(index.of(128 * i * stride));
    return *std::max_element(lines.begin(), lines.end());
}

TEST(SetIndex, RowsOfMatricesFillSetsThatAreNoPowerOfTwo) {
    // 96 sets are 48 KB of 4 ways, 124 are 248 KB of 16 ways; random lines would give one set 16 or 17.
    for (const std::uint32_t sets : {48u, 96u, 112u, 124u})
        for (std::uint64_t stride = 1; stride <= 4096; stride *= 2)
            EXPECT_LE(most(sets, stride), 10u) << sets << ", " << stride;
    // Three rows of 32 sets: at multiples of three one of them is used, but all of it.
    for (const std::uint64_t stride : {3, 6, 96}) EXPECT_LE(most(96, stride), 30u) << stride;
}

}  // namespace
}  // namespace bulkhead::sim
