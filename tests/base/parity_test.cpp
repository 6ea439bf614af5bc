#include "base/parity.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace bulkhead {
namespace {

bool byCounting(std::uint64_t word) {
    bool odd = false;
    for (; word; word &= word - 1) odd = !odd;
    return odd;
}

TEST(Parity, IsThatOfTheBitsCountedOneByOne) {
    EXPECT_FALSE(parity(0));
    for (unsigned bit = 0; bit < 64; ++bit) EXPECT_TRUE(parity(std::uint64_t{1} << bit)) << bit;
    Random random(1);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t word = random.next() >> random.below(64);
        EXPECT_EQ(parity(word), byCounting(word)) << word;
    }
}

/// What g++ 12 has been seen to get wrong.
TEST(Parity, CanBeComparedWithACondition) {
    Random random(2);
    std::uint64_t sum = 0, wanted = 0;
    for (unsigned i = 0; i < 10'000; ++i) {
        const std::uint64_t word = random.next(), flips = random.next();
        if (parity(word) != ((flips >> i % 64 & 1) != 0)) sum += i;
        if (byCounting(word) ? (flips >> i % 64 & 1) == 0 : (flips >> i % 64 & 1) != 0) wanted += i;
    }
    EXPECT_EQ(sum, wanted);
}

}  // namespace
}  // namespace bulkhead
