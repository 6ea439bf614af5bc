#include "dissect/residue_hash.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include "base/random.h"

namespace bulkhead::dissect {
namespace {

constexpr unsigned kPageShift = 21;

/// A hidden hash of the H200's form: a parity for the side, then an index modulo n whose low bits are scrambled.
struct Hidden {
    std::uint32_t modulus = 0;
    unsigned granularity = 0;          ///< lowest address bit
    arch::Digit index, side;           ///< no bits: one side
    std::vector<std::uint32_t> names;  ///< what the slices are called in labels

    std::uint32_t sideOf(std::uint64_t address) const {
        return side.bits.empty() ? 0 : static_cast<std::uint32_t>(side.evaluate(address));
    }
    std::uint32_t slice(std::uint64_t address) const {
        return names[sideOf(address) * modulus + index.evaluate(address)];
    }
    Labelled label(std::uint64_t address) const {
        return {address & ((std::uint64_t{1} << kPageShift) - 1), slice(address)};
    }
    std::vector<Labelled> page(std::uint64_t base, double wrong, Random& random) const {
        std::vector<Labelled> labels;
        for (std::uint64_t o = 0; o < std::uint64_t{1} << kPageShift; o += std::uint64_t{1} << granularity) {
            Labelled l = label(base + o);
            if (random.uniform() < wrong) l.slice = static_cast<std::uint32_t>(random.below(names.size()));
            labels.push_back(l);
        }
        return labels;
    }
};

void shuffle(std::vector<std::uint32_t>& v, Random& random) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[random.below(i)]);
}

/// Blocks of 32 to 128 KB; in a block, the index's low bits are independent parities of its address bits and of higher
/// ones.
Hidden randomHidden(std::uint32_t modulus, bool sided, Random& random) {
    Hidden h;
    h.modulus = modulus;
    h.granularity = 8 + static_cast<unsigned>(random.below(2));
    const unsigned blockShift = 15 + static_cast<unsigned>(random.below(3));
    const Mask low = bitRange(h.granularity, blockShift), high = bitRange(blockShift, 37);
    const unsigned unused = static_cast<unsigned>(random.below(2));  // address bits that change nothing
    const unsigned scrambled = blockShift - h.granularity - (sided ? 1 : 0) - unused;
    Subspace independent;
    const auto draw = [&] {
        Mask m = 0;
        do m = random.next() & low;
        while (!independent.add(m));
        return m;
    };
    for (unsigned i = 0; i < scrambled; ++i) h.index.bits.push_back(draw() | (random.next() & random.next() & high));
    for (unsigned b = blockShift; b < 37; ++b) h.index.bits.push_back(Mask{1} << b);
    h.index.modulus = modulus;
    if (sided) h.side.bits = {draw() | (random.next() & high)};
    h.names.resize(sided ? 2 * modulus : modulus);
    std::iota(h.names.begin(), h.names.end(), 0u);
    shuffle(h.names, random);
    return h;
}

/// Digits in the order index, groups; either may be missing.
std::uint32_t sliceNumber(const std::vector<arch::Digit>& digits, std::uint64_t address) {
    std::uint64_t number = 0, weight = 1;
    for (const arch::Digit& d : digits) {
        number += d.evaluate(address) * weight;
        weight *= d.radix();
    }
    return static_cast<std::uint32_t>(number);
}

std::uint32_t sliceNumber(const ResidueHash& hash, std::uint32_t slice) {
    return hash.residueOf[slice] + hash.modulus * hash.groupOf[slice];
}

std::optional<ResidueHash> fitPageOf(const Hidden& hidden, std::uint64_t base, double wrong, Random& random) {
    const Mask bits = bitRange(hidden.granularity, kPageShift);
    const Mask side = hidden.side.bits.empty() ? 0 : hidden.side.bits[0] & bits;
    std::string why;
    auto fit = fitResidueHash(hidden.page(base, wrong, random), bits, side, why);
    EXPECT_TRUE(fit) << why;
    return fit;
}

/// Fits a page and the labels of others, and says how many addresses of other pages the digits then classify right.
double shareRight(const Hidden& hidden, double wrong, Random& random) {
    auto hash = fitPageOf(hidden, std::uint64_t{5} << kPageShift, wrong, random);
    if (!hash) return 0;
    EXPECT_EQ(hash->slices(), hidden.names.size());
    const auto digits = residueDigits(*hash, kPageShift);
    EXPECT_TRUE(digits);
    if (!digits) return 0;
    int right = 0, total = 0;
    for (int p = 0; p < 12; ++p) {
        const std::uint64_t base = random.below(1 << 15) << kPageShift;
        std::vector<Labelled> few;
        for (int i = 0; i < 40; ++i) few.push_back(hidden.label(base + random.below(1 << kPageShift)));
        const auto label = fitPage(*hash, few);
        for (int i = 0; i < 200; ++i, ++total) {
            const std::uint64_t offset = random.below(1 << kPageShift);
            if (label && sliceNumber(digits->slice, digits->pageAddress(*label) | offset) ==
                             sliceNumber(*hash, hidden.slice(base + offset)))
                ++right;
        }
    }
    return static_cast<double>(right) / total;
}

TEST(ResidueHash, RandomHashesOfTheH200sFormAreFoundWithTwoPercentOfLabelsWrong) {
    const std::vector<std::uint32_t> moduli = {3, 5, 6, 7, 11, 12, 24, 40, 47};
    for (std::uint64_t seed = 1; seed <= 27; ++seed) {
        Random random(seed);
        const std::uint32_t modulus = moduli[seed % moduli.size()];
        const Hidden hidden = randomHidden(modulus, seed % 3 != 0, random);
        EXPECT_EQ(shareRight(hidden, 0.02, random), 1.0) << "seed " << seed << ", modulus " << modulus;
    }
}

TEST(ResidueHash, KnownPageAddressesGiveTheWholeFormula) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Random random(100 + seed);
        const Hidden hidden = randomHidden(seed % 2 != 0 ? 47 : 12, seed % 3 != 0, random);
        const std::uint64_t base = std::uint64_t{6} << kPageShift;
        auto hash = fitPageOf(hidden, base, 0, random);
        ASSERT_TRUE(hash);
        std::vector<KnownPage> pages = {{base, hash->page}};
        for (unsigned b = kPageShift; b < 37; ++b) {
            const std::uint64_t other = base ^ (std::uint64_t{1} << b);
            std::vector<Labelled> few;
            for (int i = 0; i < 60; ++i) few.push_back(hidden.label(other + random.below(1 << kPageShift)));
            const auto label = fitPage(*hash, few);
            ASSERT_TRUE(label) << "seed " << seed << ", bit " << b;
            pages.push_back({other, *label});
        }
        ASSERT_TRUE(extendToPages(*hash, pages));
        const auto digits = residueDigits(*hash, std::nullopt);
        ASSERT_TRUE(digits) << "seed " << seed;
        for (int i = 0; i < 2000; ++i) {
            const std::uint64_t address = random.next() & bitRange(0, 37);
            ASSERT_EQ(sliceNumber(digits->slice, address), sliceNumber(*hash, hidden.slice(address)))
                << "seed " << seed;
        }
    }
}

TEST(ResidueHash, SlicesThatAreParitiesAloneHaveAModulusOfOne) {
    Random random(5);
    Hidden hidden;
    hidden.modulus = 8;
    hidden.granularity = 8;
    hidden.index.bits = {0x100900, 0x42400, 0x1a1000};
    hidden.names = {3, 1, 4, 0, 5, 7, 2, 6};
    const auto hash = fitPageOf(hidden, 0, 0.02, random);
    ASSERT_TRUE(hash);
    EXPECT_EQ(hash->modulus, 1u);
    EXPECT_EQ(Subspace(hash->groups), Subspace(hidden.index.bits));
}

TEST(ResidueHash, SlicesWithoutAnyFormAreRefused) {
    Random random(3);
    std::vector<Labelled> labels;
    for (std::uint64_t o = 0; o < 1 << 18; o += 256)
        labels.push_back({o, static_cast<std::uint32_t>(random.below(12))});
    std::string why;
    EXPECT_FALSE(fitResidueHash(labels, bitRange(8, 18), 0, why));
    EXPECT_FALSE(why.empty());
}

TEST(ResidueHash, SidesThatFollowNoParityAreRefused) {
    Random random(4);
    std::vector<Labelled> labels;
    for (std::uint64_t o = 0; o < 1 << 18; o += 256) labels.push_back({o, static_cast<std::uint32_t>(random.below(2))});
    EXPECT_FALSE(fitSide(labels, bitRange(8, 18)));
}

constexpr std::uint32_t kSlicesOfASide = 47;

struct Measured {
    std::vector<Labelled> labels, sides;
};

/// One page of an H200, every 256 B in order, as RED contention classified it.
Measured measuredPage() {
    std::ifstream file(BULKHEAD_SOURCE_DIR "/tests/dissect/h200_page0.csv");
    std::string line;
    std::getline(file, line);
    Measured page;
    std::uint64_t offset = 0;
    for (; std::getline(file, line); offset += 256) {
        std::uint32_t side = 0, slice = 0;
        char comma = 0;
        std::istringstream(line) >> side >> comma >> slice;
        page.labels.push_back({offset, side * kSlicesOfASide + slice});
        page.sides.push_back({offset, side});
    }
    return page;
}

/// Labels of 32 pages of the same allocation, by page.
std::map<unsigned, std::vector<Labelled>> measuredSamples() {
    std::ifstream file(BULKHEAD_SOURCE_DIR "/tests/arch/h200_slices.csv");
    std::string line;
    std::getline(file, line);
    std::map<unsigned, std::vector<Labelled>> pages;
    while (std::getline(file, line)) {
        std::uint32_t side = 0, slice = 0;
        unsigned page = 0;
        std::uint64_t offset = 0;
        char comma = 0;
        std::istringstream(line) >> side >> comma >> page >> comma >> offset >> comma >> slice;
        pages[page].push_back({offset, side * kSlicesOfASide + slice});
    }
    return pages;
}

TEST(ResidueHash, OnePageOfAnH200ExplainsThirtyOneOthers) {
    const Measured page = measuredPage();
    ASSERT_EQ(page.labels.size(), 8192u);
    const Mask bits = bitRange(8, kPageShift);
    const auto side = fitSide(page.sides, bits);
    ASSERT_TRUE(side);
    EXPECT_EQ(side->mask, 0xAB000u);  // as a million chunks say that were classified by latency
    std::string why;
    const auto hash = fitResidueHash(page.labels, bits, side->mask, why);
    ASSERT_TRUE(hash) << why;
    EXPECT_EQ(hash->modulus, kSlicesOfASide);
    EXPECT_EQ(hash->agreement, 1.0);
    std::size_t right = 0, total = 0;
    for (const auto& [number, samples] : measuredSamples()) {
        // The label comes from one half of the samples, the check from the other.
        std::vector<Labelled> known, fresh;
        for (std::size_t i = 0; i < samples.size(); ++i) (i % 2 == 0 ? known : fresh).push_back(samples[i]);
        const auto label = fitPage(*hash, known);
        ASSERT_TRUE(label) << "page " << number;
        total += fresh.size();
        for (const Labelled& l : fresh) right += hash->explains(l, *label) ? 1 : 0;
    }
    EXPECT_GT(total, 1000u);
    EXPECT_EQ(right, total);
}

}  // namespace
}  // namespace bulkhead::dissect
