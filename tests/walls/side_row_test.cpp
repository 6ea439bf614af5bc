#include "walls/side_row.h"

#include <gtest/gtest.h>

#include "base/parity.h"
#include "base/random.h"

namespace bulkhead::walls {
namespace {

// An H200, as 69,713 of its pages showed: the first is page 329 of its memory, and the parity of these bits of a page's
// number is the side. Within a page, that of these bits of the offset.
constexpr std::uint32_t kPages = 0xe5eb;
constexpr dissect::Mask kInPage = 0xab000;
constexpr unsigned kFirst = 329;

std::vector<bool> sidesFrom(unsigned first, std::size_t count) {
    std::vector<bool> sides;
    for (std::size_t i = 0; i < count; ++i) sides.push_back(parity((first + i) & kPages));
    return sides;
}

TEST(SideRows, LeaveOutPagesUntilBlocksBeginWhereTheParitysDo) {
    const auto seen = seeBlocks(kInPage, sidesFrom(kFirst, 4096), 16);
    ASSERT_TRUE(seen);
    EXPECT_EQ((kFirst + seen->skip) % 16, 0u);
}

TEST(SideRows, AParityOfTheOffsetTellsTheSideInARowOfBlocks) {
    for (const unsigned pages : {1u, 2u, 4u, 8u, 16u, 32u}) {
        const unsigned first = (kFirst + pages - 1) / pages * pages;
        const std::size_t blocks = 4096 / pages;
        const std::vector<bool> sides = sidesFrom(first, blocks * pages);
        const auto seen = seeBlocks(kInPage, sides, pages);
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->skip, 0u);
        std::vector<std::size_t> ofKind[2];
        for (std::size_t i = 0; i < blocks; ++i) ofKind[seen->kinds[i]].push_back(i);
        EXPECT_EQ(ofKind[0].size(), ofKind[1].size());
        // Blocks in the places of their kinds: each page's side is the parity of its first byte's offset in the row.
        for (std::size_t place = 0; place < blocks; ++place) {
            auto& left = ofKind[seen->row.kindAt(place)];
            ASSERT_FALSE(left.empty()) << place;
            const std::size_t block = left.back();
            left.pop_back();
            for (unsigned page = 0; page < pages; ++page)
                EXPECT_EQ(sides[block * pages + page], parity((place * pages + page) * Bytes{2_MiB} & seen->row.mask));
        }
    }
}

TEST(SideRows, PagesInNoOrderFitOneByOne) {
    Random random(3);
    std::vector<bool> sides;
    for (int i = 0; i < 512; ++i) sides.push_back(random.below(2) != 0);
    EXPECT_FALSE(seeBlocks(kInPage, sides, 16));
    const auto seen = seeBlocks(kInPage, sides, 1);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->row.mask, kInPage | 2_MiB);
    for (std::size_t i = 0; i < sides.size(); ++i) EXPECT_EQ(seen->kinds[i], sides[i] ? 1 : 0);
}

TEST(SideRows, ABlockAcrossAGapInMemoryFitsNowhere) {
    std::vector<bool> sides = sidesFrom(336, 160);
    const std::vector<bool> rest = sidesFrom(1001, 16), last = sidesFrom(1024, 320);
    sides.insert(sides.end(), rest.begin(), rest.end());
    sides.insert(sides.end(), last.begin(), last.end());
    const auto seen = seeBlocks(kInPage, sides, 16);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->skip, 0u);
    EXPECT_EQ(seen->kinds[10], SeenBlocks::kOdd);
    EXPECT_EQ(std::count(seen->kinds.begin(), seen->kinds.end(), SeenBlocks::kOdd), 1);
}

TEST(SideRows, WhereAllBlocksAreOfOneKindTheRowHasNoTurns) {
    const auto seen = seeBlocks(0x1000, std::vector<bool>(64, false), 4);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->row.mask, 0x1000u);
    EXPECT_FALSE(seen->row.alternates());
}

}  // namespace
}  // namespace bulkhead::walls
