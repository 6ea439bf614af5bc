// Rows of the memory of some slices, for hashes, pages and sets of slices of all kinds, against the hash's own
// arithmetic.

#include "walls/slice_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "walls/page_pool.h"
#include "walls/survey.h"

namespace bulkhead::walls {
namespace {

using dissect::PageLabel;
using dissect::ResidueHash;

constexpr SpanSize kPool = 0x7f00'0200'0000;
constexpr Bytes kPage = PagePool::kPageBytes, kRow = 4_GiB;

/// Independent parities of offset bits from `unitShift` on.
std::vector<dissect::Mask> independentMasks(Random& random, std::size_t count, unsigned unitShift) {
    std::vector<dissect::Mask> masks;
    dissect::Subspace known;
    while (masks.size() < count) {
        dissect::Mask mask = random.below(kPage) & ~((dissect::Mask{1} << unitShift) - 1);
        if (masks.empty()) mask |= dissect::Mask{1} << unitShift;
        if (known.add(mask)) masks.push_back(mask);
    }
    return masks;
}

ResidueHash indexModulo(Random& random, std::uint32_t modulus, std::size_t bits, std::size_t groups,
                        unsigned unitShift) {
    ResidueHash hash;
    hash.modulus = modulus;
    const auto masks = independentMasks(random, bits + groups, unitShift);
    std::uint32_t weight = 1;
    for (std::size_t i = 0; i < bits; ++i, weight = weight * 2 % modulus) hash.parities.push_back({masks[i], weight});
    hash.groups.assign(masks.begin() + static_cast<std::ptrdiff_t>(bits), masks.end());
    return hash;
}

/// Pages that lie one after the other in physical memory, but for what upper address bits invert.
std::vector<PageLabel> pagesInOrder(Random& random, const ResidueHash& hash, std::size_t count) {
    std::vector<PageLabel> pages;
    for (std::size_t i = 0; i < count; ++i)
        pages.push_back({static_cast<std::uint32_t>(random.below(std::uint64_t{1} << hash.groups.size())),
                         static_cast<std::uint32_t>(random.below(std::uint64_t{1} << hash.parities.size())),
                         static_cast<std::uint32_t>((i << hash.parities.size()) % hash.modulus)});
    return pages;
}

unsigned sliceAt(const ResidueHash& hash, const std::vector<PageLabel>& pages, Bytes offset) {
    const PageLabel& page = pages.at(offset / kPage);
    return hash.residue(offset % kPage, page) + hash.modulus * hash.group(offset % kPage, page);
}

/// A layout with its tables.
struct Row {
    SliceLayout layout;
    std::size_t perBlock;
    std::vector<std::uint32_t> blocks;
    SliceColor color;

    Row(const ResidueHash& hash, const std::vector<PageLabel>& labels, const std::vector<unsigned>& slices)
        : Row(SliceLayout(hash, labels, slices), 1) {}
    Row(SliceLayout made, std::size_t pagesPerBlock)
        : layout(std::move(made)), perBlock(pagesPerBlock), blocks(layout.inversions(kRow)), color(layout.color(kRow)) {
        color.base = kPool;
        color.offsets = layout.offsets().data();
        color.blocks = blocks.data();
        color.list = layout.list().empty() ? nullptr : layout.list().data();
    }
    /// Where in the pages an offset of the row is, one page after the other; none where nothing is.
    std::optional<Bytes> at(Bytes offset) const {
        const Bytes real = color.address(offset) - kPool, block = perBlock * kPage;
        EXPECT_LT(real, layout.reachOf(kRow)) << offset;
        if (real / block >= layout.places().size() || !layout.places()[real / block]) return std::nullopt;
        return *layout.places()[real / block] * block + real % block;
    }
};

/// Every unit of these slices, once each, and nothing else: wherever an offset of the row leads.
void expectExact(const ResidueHash& hash, const std::vector<PageLabel>& pages, const std::vector<unsigned>& slices,
                 const Row& row, const std::vector<ColoredHeap::Piece>& pieces) {
    const std::set<unsigned> wanted(slices.begin(), slices.end());
    const Bytes unit = Bytes{1} << SliceLayout::unitShift(hash);
    std::vector<bool> met(pages.size() * kPage / unit, false);
    for (const ColoredHeap::Piece& piece : pieces)
        for (Bytes offset = piece.offset; offset < piece.offset + piece.bytes; offset += unit) {
            const auto at = row.at(offset);
            ASSERT_TRUE(at) << offset;
            ASSERT_LT(*at, pages.size() * kPage) << offset;
            ASSERT_EQ(*at % unit, 0u) << offset;
            ASSERT_EQ(row.at(offset + unit - 1), *at + unit - 1) << offset;
            const unsigned slice = sliceAt(hash, pages, *at);
            ASSERT_TRUE(wanted.count(slice)) << offset;
            ASSERT_EQ(row.layout.sliceOf(offset), slice) << offset;
            ASSERT_FALSE(met[*at / unit]) << "two offsets have the same memory: " << offset;
            met[*at / unit] = true;
        }
    for (std::size_t u = 0; u < met.size(); ++u)
        ASSERT_EQ(met[u], wanted.count(sliceAt(hash, pages, u * unit)) != 0) << "unit " << u << " of the pool";
    Random random(3);
    for (int i = 0; i < 2000; ++i) {
        const auto at = row.at(random.below(kRow));
        if (!at) continue;
        ASSERT_LT(*at, pages.size() * kPage);
        ASSERT_TRUE(wanted.count(sliceAt(hash, pages, *at)));
    }
}

void expectExact(const ResidueHash& hash, const std::vector<PageLabel>& pages, const std::vector<unsigned>& slices) {
    const Row row(hash, pages, slices);
    expectExact(hash, pages, slices, row, row.layout.pieces());
}

std::vector<unsigned> randomSlices(Random& random, unsigned of) {
    std::vector<unsigned> slices;
    while (slices.empty())
        for (unsigned slice = 0; slice < of; ++slice)
            if (random.below(3) == 0) slices.push_back(slice);
    return slices;
}

TEST(SliceLayouts, AnySetOfSlicesOfAnyIndexIsExact) {
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const std::uint32_t moduli[] = {3, 5, 7, 13, 47};
        const std::uint32_t modulus = moduli[random.below(5)];
        const std::size_t bits = 3 + random.below(6), groups = random.below(3);
        const ResidueHash hash =
            indexModulo(random, modulus, bits, groups, 7 + static_cast<unsigned>(random.below(21 - 7 - bits - groups)));
        auto pages = pagesInOrder(random, hash, 1 + random.below(4));
        if (seed % 2 != 0)
            for (PageLabel& page : pages) page.addend = static_cast<std::uint32_t>(random.below(modulus));
        expectExact(hash, pages, randomSlices(random, hash.slices()));
    }
}

TEST(SliceLayouts, SlicesThatFollowEachOtherNeedNoList) {
    Random random(1);
    const ResidueHash hash = indexModulo(random, 47, 10, 1, 8);
    const auto pages = pagesInOrder(random, hash, 3);
    // In the second group, and round the end.
    for (const std::pair<unsigned, unsigned>& run : {std::pair(15u, 23u), {38u, 24u}, {0u, 47u}, {46u, 1u}}) {
        std::vector<unsigned> slices;
        for (unsigned i = 0; i < run.second; ++i) slices.push_back(47 + (run.first + i) % 47);
        EXPECT_TRUE(SliceLayout(hash, pages, slices).list().empty()) << run.first;
        expectExact(hash, pages, slices);
    }
    EXPECT_FALSE(SliceLayout(hash, pages, {1, 3}).list().empty());
    EXPECT_FALSE(SliceLayout(hash, pages, {1, 48}).list().empty()) << "of two groups";
}

TEST(SliceLayouts, PlainXorHashesHaveGroupsAlone) {
    Random random(2);
    const ResidueHash hash = indexModulo(random, 1, 0, 4, 10);
    expectExact(hash, pagesInOrder(random, hash, 3), {0, 5, 6, 15});
    expectExact(hash, pagesInOrder(random, hash, 3), {9});
}

TEST(SliceLayouts, SlicesOfNoFormAreFoundByTheirPatterns) {
    Random random(4);
    ResidueHash hash = indexModulo(random, 6, 5, 1, 9);
    hash.parities.push_back({hash.groups.front(), 0});  // what tells the sides is a parity like any other
    for (std::uint32_t pattern = 0; pattern < 64; ++pattern)
        hash.table.push_back(static_cast<std::uint32_t>(random.below(6)));
    std::vector<PageLabel> pages(3);
    pages[1] = {1, 0b101101, 0};
    pages[2] = {0, 0b010010, 0};
    expectExact(hash, pages, {0, 3, 7});
    pages[2].groupFlips = 1;
    EXPECT_THROW(SliceLayout(hash, pages, {0}), Error) << "the page's parities contradict its group";
}

TEST(SliceLayouts, PagesInAnyOrderMakeOnePiece) {
    Random random(5);
    const ResidueHash hash = indexModulo(random, 47, 10, 1, 8);
    auto pages = pagesInOrder(random, hash, 47 * 3 + 20);
    for (std::size_t i = pages.size(); i > 1; --i) std::swap(pages[i - 1], pages[random.below(i)]);
    for (const unsigned first : {0u, 20u, 40u}) {
        const SliceLayout run(hash, pages, {first, first + 1, first + 2, first + 3});
        EXPECT_EQ(run.pieces().size(), 1u) << "with slices from " << first;
    }
    EXPECT_EQ(SliceLayout(hash, pages, {3, 7, 50}).pieces().size(), 1u);
}

TEST(SliceLayouts, WherePagesOfAKindRunOutNoMemoryIsLost) {
    Random random(6);
    const ResidueHash hash = indexModulo(random, 5, 4, 0, 16);
    std::vector<PageLabel> pages(10);  // all of one addend
    const SliceLayout layout(hash, pages, {2, 3});
    EXPECT_GT(layout.pieces().size(), 1u);
    expectExact(hash, pages, {2, 3});
}

/// Blocks of pages that follow each other, in physical memory too: what bits above a block invert is the block's own.
TEST(SliceLayouts, RowsGrowByBlocks) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const std::uint32_t modulus = seed % 2 == 0 ? 7 : 13;
        const ResidueHash hash = indexModulo(random, modulus, 4 + random.below(3), 1, 12);
        const auto inPages = [&](std::size_t page) { return (page << hash.parities.size()) % modulus; };
        const std::size_t perBlock = std::size_t{1} << random.below(4), count = modulus + random.below(5);
        std::vector<PageLabel> inBlock = pagesInOrder(random, hash, perBlock);
        inBlock.front() = {};
        // What address bits invert, they invert together.
        for (std::size_t page = 1; page < perBlock; ++page) {
            const std::size_t low = page & (~page + 1), rest = page ^ low;
            if (rest == 0) continue;
            inBlock[page].groupFlips = inBlock[low].groupFlips ^ inBlock[rest].groupFlips;
            inBlock[page].flips = inBlock[low].flips ^ inBlock[rest].flips;
        }
        const std::vector<unsigned> slices = randomSlices(random, hash.slices());
        // In every second trial blocks invert no more than the first parities.
        const std::uint32_t few = seed % 2 == 0 ? ~0u : 3;
        SliceLayout layout(hash, inBlock, {~0u, few, 0}, slices, 2 * count * perBlock * kPage);
        std::vector<PageLabel> pages;
        Bytes before = 0;
        for (std::size_t block = 0; block < count; ++block) {
            PageLabel label = pagesInOrder(random, hash, 1).front();
            label.addend = layout.kindAt(block);
            label.flips &= few;
            EXPECT_EQ((layout.kindAt(block + 1) + modulus - layout.kindAt(block)) % modulus, inPages(perBlock));
            layout.append(label);
            for (const PageLabel& place : inBlock)
                pages.push_back({label.groupFlips ^ place.groupFlips, label.flips ^ place.flips,
                                 (label.addend + place.addend) % modulus});
            EXPECT_GT(layout.bytesBefore(block + 1), before);
            before = layout.bytesBefore(block + 1);
        }
        expectExact(hash, pages, slices, Row(layout, perBlock), {{0, before}});
        PageLabel other;
        other.addend = (layout.kindAt(count) + 1) % modulus;
        EXPECT_THROW(layout.append(other), Error) << "a block of another kind";
    }
}

TEST(SliceLayouts, SlicesThatAreNumberedBackwardsAreTurnedRound) {
    Random random(8);
    const ResidueHash hash = indexModulo(random, 47, 10, 1, 8);
    SliceSurvey rising;
    rising.hash = hash;
    for (unsigned slice = 0; slice < hash.slices(); ++slice)
        rising.regionOfSlice.push_back(dissect::kL2Regions[random.below(dissect::kL2Regions.size())]);
    for (std::uint32_t page = 0; page < 4; ++page) rising.inBlock.push_back({page & 1, 5 * page, (page << 10) % 47});
    std::vector<std::optional<PageLabel>> labels(6);
    for (std::size_t block = 0; block < labels.size(); ++block)
        if (block != 2) labels[block] = PageLabel{1, static_cast<std::uint32_t>(random.below(1024)), 7};

    // A slice has the negative number, so the sum at any offset is the negative one.
    SliceSurvey falling = rising;
    auto fallingLabels = labels;
    for (PageLabel& place : falling.inBlock) place.addend = (47 - place.addend) % 47;
    for (auto& label : fallingLabels)
        if (label) {
            const std::uint32_t wanted = 47 - hash.residue(0, *label);
            label->flips ^= 1023;
            label->addend = 0;
            label->addend = (wanted + 47 - hash.residue(0, *label)) % 47;
        }
    for (std::uint32_t slice = 0; slice < hash.slices(); ++slice)
        falling.regionOfSlice[slice / 47 * 47 + (47 - slice % 47) % 47] = rising.regionOfSlice[slice];
    EXPECT_THROW(SliceLayout(hash, falling.inBlock, {}, {0}, kRow), Error);

    for (SliceSurvey* survey : {&rising, &falling}) {
        auto& ofBlocks = survey == &rising ? labels : fallingLabels;
        const auto inBlock = rising.inBlock;
        letIndexRise(*survey, ofBlocks);
        EXPECT_EQ(survey->inBlock, inBlock);
        EXPECT_EQ(survey->regionOfSlice, rising.regionOfSlice);
        EXPECT_EQ(ofBlocks, labels);
        EXPECT_NO_THROW(SliceLayout(hash, survey->inBlock, {}, {0}, kRow));
    }
}

TEST(SliceLayouts, ReciprocalsAreExactForRowsOfAnySize) {
    Random random(7);
    const ResidueHash hash = indexModulo(random, 47, 10, 1, 8);
    const auto pages = pagesInOrder(random, hash, 2);
    for (const Bytes row : {4_GiB, 16_GiB, 128_GiB})
        for (unsigned count = 1; count <= 47; ++count) {
            std::vector<unsigned> slices(count);
            std::iota(slices.begin(), slices.end(), 0u);
            if (row > kRow && row / count > 3_GiB) continue;  // more than a GPU has
            const SliceColor color = SliceLayout(hash, pages, slices).color(row);
            const std::uint64_t units = row >> 8, perTurn = count * 4, turns = units / perTurn;
            ASSERT_EQ(color.turnUnits, perTurn);
            // Quotients go wrong just before a multiple, if anywhere, and at the end first.
            for (std::uint64_t turn = 1; turn <= turns; turn += 1 + turns / 1000)
                for (const std::uint64_t unit : {turn * perTurn - 1, turn * perTurn})
                    ASSERT_EQ(unit * color.magic >> color.magicShift, unit / perTurn) << unit << " / " << perTurn;
            ASSERT_EQ((turns * perTurn - 1) * color.magic >> color.magicShift, turns - 1) << count;
        }
}

TEST(SliceLayouts, OtherSumsOfParitiesAreRefused) {
    Random random(8);
    ResidueHash hash = indexModulo(random, 7, 4, 1, 8);
    const auto pages = pagesInOrder(random, hash, 2);
    EXPECT_NO_THROW(SliceLayout(hash, pages, {1}));
    EXPECT_THROW(SliceLayout(hash, pages, {}), Error);
    EXPECT_THROW(SliceLayout(hash, {}, {1}), Error);
    hash.parities[2].weight = 5;
    EXPECT_THROW(SliceLayout(hash, pages, {1}), Error);
}

}  // namespace
}  // namespace bulkhead::walls
