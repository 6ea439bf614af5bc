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
    EXPECT_EQ((kFirst + seen->leaveOut.pages) % 16, 0u);
}

TEST(SideRows, AParityOfTheOffsetTellsTheSideInARowOfBlocks) {
    for (const unsigned pages : {1u, 2u, 4u, 8u, 16u, 32u}) {
        const unsigned first = (kFirst + pages - 1) / pages * pages;
        const std::size_t blocks = 4096 / pages;
        const std::vector<bool> sides = sidesFrom(first, blocks * pages);
        const auto seen = seeBlocks(kInPage, sides, pages);
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->leaveOut.pages, 0u);
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
    EXPECT_EQ(seen->leaveOut.pages, 0u);
    EXPECT_EQ(seen->kinds[10], SeenBlocks::kOdd);
    EXPECT_EQ(std::count(seen->kinds.begin(), seen->kinds.end(), SeenBlocks::kOdd), 1);
}

/// Memory as an H200 gave it after programs had left: pages of small pieces, then the rest in order.
class PiecesThenTheRest {
  public:
    explicit PiecesThenTheRest(std::size_t inPieces) {
        Random random(7);
        while (pages_.size() < inPieces)
            for (const bool side : sidesFrom(static_cast<unsigned>(random.below(60000)), 1 + random.below(40)))
                pages_.push_back(side);
        const std::vector<bool> rest = sidesFrom(kFirst, 32768);
        pages_.insert(pages_.end(), rest.begin(), rest.end());
        inPieces_ = pages_.size() - rest.size();
    }
    /// Blocks lie in one piece, so the first of the rest begins where that does, and single pages come from what is
    /// left of the others.
    std::vector<bool> taken(PagesLeftOut leaveOut, unsigned pagesPerBlock) const {
        std::vector<bool> sides;
        std::size_t next = 0;
        const auto leave = [&] {
            if (sides.size() / pagesPerBlock != leaveOut.after || leaveOut.pages == 0) return;
            if (leaveOut.together && next < inPieces_ && next + pagesPerBlock + leaveOut.pages > inPieces_)
                next = inPieces_;
            if (leaveOut.together) next += pagesPerBlock + leaveOut.pages;
            if (!leaveOut.together && inPieces_ == 0) next += leaveOut.pages;
        };
        for (leave(); next + pagesPerBlock <= pages_.size(); leave()) {
            if (next < inPieces_ && next + pagesPerBlock > inPieces_) next = inPieces_;
            for (unsigned i = 0; i < pagesPerBlock; ++i) sides.push_back(pages_[next++]);
        }
        return sides;
    }

  private:
    std::vector<bool> pages_;
    std::size_t inPieces_ = 0;
};

TEST(SideRows, PagesAreLeftOutBehindTheSmallPieces) {
    for (const std::size_t inPieces : {0u, 50u, 250u, 450u}) {
        const PiecesThenTheRest memory(inPieces);
        PagesLeftOut leaveOut;
        std::optional<SeenBlocks> seen;
        int looks = 0;
        do {
            seen = seeBlocks(kInPage, memory.taken(leaveOut, 16), 16);
            ASSERT_TRUE(seen);
            if (seen->leaveOut.pages != 0) leaveOut = leaveOutMore(leaveOut, seen->leaveOut, 16);
        } while (seen->leaveOut.pages != 0 && ++looks < 5);
        EXPECT_LE(looks, inPieces == 0 ? 1 : 3);
        const auto odd = std::count(seen->kinds.begin(), seen->kinds.end(), SeenBlocks::kOdd);
        EXPECT_LE(odd, 2 * static_cast<std::ptrdiff_t>(inPieces) / 16 + 16) << inPieces;
    }
}

TEST(SideRows, WhereAllBlocksAreOfOneKindTheRowHasNoTurns) {
    const auto seen = seeBlocks(0x1000, std::vector<bool>(64, false), 4);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->row.mask, 0x1000u);
    EXPECT_FALSE(seen->row.alternates());
}

}  // namespace
}  // namespace bulkhead::walls
