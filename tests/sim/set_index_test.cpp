// Sets of L1D, against the XOR of groups of bits taken one after the other.

#include "sim/sm/set_index.h"

#include <gtest/gtest.h>

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

TEST(SetIndex, FoldedSetsThatAreNotThereAreOthers) {
    // Line numbers up to 63 are their own fold in 6 bits; 48 sets take 48 to 63 as 0 to 15.
    const SetIndex index(SetIndex::Hash::xorFold, 128, 48);
    for (std::uint32_t line = 0; line < 64; ++line) EXPECT_EQ(index.of(128 * line), line % 48);
}

}  // namespace
}  // namespace bulkhead::sim
