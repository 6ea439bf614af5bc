// Choosing lines with a map, checked against the map itself.

#include "corun/rings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"

namespace bulkhead::corun {
namespace {

constexpr Bytes kLine = 128;

/// 4 slices of 8 sets: slice from bits 7 and 8, set from bits 9 to 11 with a bit above mixed in; 2 banks.
class SmallMemory final : public MappedMemory {
  public:
    explicit SmallMemory(Bytes bytes) : bytes_(bytes) {
        arch::AddressMap::Roles roles;
        roles.slice = {{{1u << 7, 1u << 8}, 1, 0, {}}};
        roles.set = {{{(1u << 9) | (1u << 12), 1u << 10, 1u << 11}, 1, 0, {}}};
        roles.bank = {{{1u << 13}, 1, 0, {}}};
        roles.row = {{{1u << 14, 1u << 15}, 1, 0, {}}};
        map_ = arch::AddressMap(roles);
    }
    std::uint64_t base() const override { return 1u << 20; }
    Bytes bytes() const override { return bytes_; }
    const arch::AddressMap& map() const override { return map_; }
    arch::AddressMap::Location locate(std::uint64_t address) const override { return map_.locate(address - base()); }

  private:
    Bytes bytes_;
    arch::AddressMap map_;
};

std::map<std::pair<unsigned, unsigned>, unsigned> linesOfSets(const MappedMemory& memory, const Ring& ring) {
    std::map<std::pair<unsigned, unsigned>, unsigned> lines;
    for (const std::uint64_t address : ring) {
        const auto at = memory.locate(address);
        ++lines[{at.slice, at.set}];
    }
    return lines;
}

TEST(Rings, CoverHasEveryWayOfEverySetOnce) {
    const SmallMemory memory(64 * 1024);
    const Cover cover = coverCache(memory, kLine, 4, Order::rotating);
    EXPECT_EQ(cover.missing, 0u);
    EXPECT_EQ(cover.ring.size(), 4u * 8 * 4);
    EXPECT_EQ(std::set<std::uint64_t>(cover.ring.begin(), cover.ring.end()).size(), cover.ring.size());
    const auto lines = linesOfSets(memory, cover.ring);
    EXPECT_EQ(lines.size(), 32u);
    for (const auto& [set, count] : lines) EXPECT_EQ(count, 4u);
}

TEST(Rings, CoverSaysHowManyLinesASmallRangeLacks) {
    const SmallMemory memory(4096);  // one line of each of the 32 sets
    const Cover cover = coverCache(memory, kLine, 4, Order::rotating);
    EXPECT_EQ(cover.ring.size(), 32u);
    EXPECT_EQ(cover.missing, 96u);
}

TEST(Rings, EveryRoundFillsOneSetAfterTheOtherWithLinesOfItsOwn) {
    const SmallMemory memory(64 * 1024);
    const Cover cover = coverInRounds(memory, kLine, 4, 2, 1);
    EXPECT_EQ(cover.missing, 0u);
    ASSERT_EQ(cover.ring.size(), 2u * 32 * 4);
    EXPECT_EQ(std::set<std::uint64_t>(cover.ring.begin(), cover.ring.end()).size(), cover.ring.size());
    for (const std::size_t round : {0, 1}) {
        std::set<std::pair<unsigned, unsigned>> seen;
        for (std::size_t set = 0; set < 32; ++set) {
            const auto first = cover.ring.begin() + static_cast<std::ptrdiff_t>(round * 128 + set * 4);
            const auto lines = linesOfSets(memory, Ring(first, first + 4));
            ASSERT_EQ(lines.size(), 1u);
            seen.insert(lines.begin()->first);
        }
        EXPECT_EQ(seen.size(), 32u);
    }
}

TEST(Rings, SetBySetStaysInASetAndRotatingNever) {
    const SmallMemory memory(64 * 1024);
    const auto staying = [&](Order order) {
        const Ring ring = coverCache(memory, kLine, 4, order).ring;
        unsigned same = 0;
        for (std::size_t i = 1; i < ring.size(); ++i) {
            const auto a = memory.locate(ring[i - 1]), b = memory.locate(ring[i]);
            same += a.slice == b.slice && a.set == b.set;
        }
        return same;
    };
    EXPECT_EQ(staying(Order::setBySet), 32u * 3);
    EXPECT_EQ(staying(Order::rotating), 0u);
}

TEST(Rings, TargetsAreHitByEveryLineAndMissNone) {
    const SmallMemory memory(64 * 1024);
    const Ring slice = targetRing(memory, kLine, Target::slice, 3);
    EXPECT_EQ(slice.size(), 512u / 4);
    for (const std::uint64_t address : slice) EXPECT_EQ(memory.locate(address).slice, 3u);
    const Ring bank = targetRing(memory, kLine, Target::bank, 2);  // bank 0 of channel 1
    for (const std::uint64_t address : bank) {
        EXPECT_EQ(memory.locate(address).channel, 1u);
        EXPECT_EQ(memory.locate(address).bank, 0u);
    }
    EXPECT_EQ(bank.size(), 512u / 4 / 2);
}

TEST(Rings, HotSetsAreThoseWithMostOfTheVictimsLines) {
    const SmallMemory memory(64 * 1024);
    // Ten lines of slice 1, set 2; one of each other set.
    Ring victim = targetRing(memory, kLine, Target::slice, 1);
    std::erase_if(victim, [&](std::uint64_t a) { return memory.locate(a).set != 2; });
    victim.resize(10);
    const Ring one = coverCache(memory, kLine, 1, Order::rotating).ring;
    victim.insert(victim.end(), one.begin(), one.end());
    Whereabouts places;
    for (const std::uint64_t address : victim) places.push_back(memory.locate(address));
    const Cover cover = coverHotSets(memory, kLine, 4, places, 0.2);
    const auto lines = linesOfSets(memory, cover.ring);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines.begin()->first, (std::pair<unsigned, unsigned>{1, 2}));
    EXPECT_EQ(cover.ring.size(), 4u);
    EXPECT_THROW(coverHotSets(memory, kLine, 4, {}, 0.2), Error);
}

TEST(Rings, ShufflingKeepsTheLinesAndFollowsTheSeed) {
    const Ring ring = sequentialRing(4096, 128 * 100, kLine);
    ASSERT_EQ(ring.size(), 100u);
    const Ring a = shuffled(ring, 1);
    EXPECT_NE(a, ring);
    EXPECT_EQ(a, shuffled(ring, 1));
    EXPECT_NE(a, shuffled(ring, 2));
    EXPECT_EQ(std::multiset<std::uint64_t>(a.begin(), a.end()), std::multiset<std::uint64_t>(ring.begin(), ring.end()));
}

}  // namespace
}  // namespace bulkhead::corun
