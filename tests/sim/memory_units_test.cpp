// Tags, MSHRs, coalescing, DRAM timing: each unit alone, against arithmetic written beside it.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness.h"
#include "sim/mem/cache_tags.h"
#include "sim/mem/dram_channel.h"
#include "sim/mem/mshr.h"
#include "sim/sm/coalescer.h"

namespace bulkhead::sim {
namespace {

using test::profileWith;

// ---- tags

TEST(CacheTags, aWayWhoseDataAreUnderWayIsNotReplaced) {
    CacheTags tags(1, 2);
    for (std::uint32_t i = 0; i < 2; ++i) {
        tags.place(0, tags.victim(0), i, 0);
        tags.state(tags.find(0, i)).pending = 1;
    }
    EXPECT_EQ(tags.victim(0), CacheTags::kNoWay);
    tags.state(tags.find(0, 1)).pending = 0;
    EXPECT_EQ(tags.line(tags.victim(0)), 1u);
}

TEST(CacheTags, aLineMadeYoungerOutlivesThatManyAccesses) {
    // Two ways. Line 0 counts as three accesses younger: stamp 1 + 3 = 4. Lines 1, 2, 3 come with stamps 2, 3, 4 and
    // replace each other, not line 0; another use of line 3 makes its stamp 5, and line 0 is the older one.
    CacheTags tags(1, 2);
    tags.place(0, tags.victim(0), 0, 0, 3);
    for (std::uint64_t line = 1; line <= 3; ++line) {
        const std::uint32_t way = tags.victim(0);
        EXPECT_NE(tags.line(way), 0u) << line;
        tags.place(0, way, line, 0);
    }
    tags.use(0, tags.find(0, 3));
    EXPECT_EQ(tags.line(tags.victim(0)), 0u);
}

// ---- MSHRs

TEST(MshrFile, requestsForOneLineShareAnEntryUpToTheMergeLimit) {
    MshrFile mshrs(2, 3);
    const std::uint32_t e = mshrs.allocate(0x1000);
    mshrs[e].pending = 1;
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(mshrs.canMerge(e));
        mshrs.wait(e, i, 1);
    }
    EXPECT_FALSE(mshrs.canMerge(e));
    EXPECT_EQ(mshrs.find(0x1000), e);
    EXPECT_FALSE(mshrs.full());
    mshrs.allocate(0x2000);
    EXPECT_TRUE(mshrs.full());
    std::vector<std::uint32_t> done;
    EXPECT_TRUE(mshrs.arrive(e, 1, [&](std::uint32_t token) { done.push_back(token); }));
    EXPECT_EQ(done, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(mshrs.find(0x1000), MshrFile::kNone);
    EXPECT_FALSE(mshrs.full());
}

TEST(MshrFile, eachCopyHasAllItsEntriesWhateverTheOtherHolds) {
    MshrFile mshrs(2, 1, 2);
    const std::uint32_t e = mshrs.allocate(0x1000, 1);
    mshrs.allocate(0x2000, 1);
    EXPECT_TRUE(mshrs.full(1));
    EXPECT_EQ(mshrs.unused(0), 2u);
    mshrs.allocate(0x3000, 0);
    mshrs.wait(e, 0, 1);
    EXPECT_TRUE(mshrs.arrive(e, 1, [](std::uint32_t) {}));
    EXPECT_EQ(mshrs.unused(1), 1u);
    EXPECT_EQ(mshrs.unused(0), 1u);
}

TEST(MshrFile, aWaiterGoesWhenItsLastSectorComes) {
    MshrFile mshrs(1, 4);
    const std::uint32_t e = mshrs.allocate(0);
    mshrs[e].pending = 0b11;
    mshrs.wait(e, 7, 0b01);
    mshrs.wait(e, 8, 0b11);
    std::vector<std::uint32_t> done;
    const auto note = [&](std::uint32_t token) { done.push_back(token); };
    EXPECT_FALSE(mshrs.arrive(e, 0b01, note));
    EXPECT_EQ(done, (std::vector<std::uint32_t>{7}));
    EXPECT_TRUE(mshrs.arrive(e, 0b10, note));
    EXPECT_EQ(done, (std::vector<std::uint32_t>{7, 8}));
}

// ---- coalescing

Access accessOf(unsigned bytes, AccessKind kind, const std::function<std::uint64_t(unsigned)>& address,
                LaneMask lanes = kAllLanes) {
    Access access{};
    access.space = ptx::Space::global;
    access.kind = kind;
    access.bytes = static_cast<std::uint8_t>(bytes);
    access.lanes = lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) access.address[lane] = address(lane);
    return access;
}

struct Gathered {
    Transactions t;
    Gathered(const Access& access, std::uint64_t sector = 32) { Coalescer(128, sector).gather(access, t); }
};

TEST(Coalescer, consecutiveWordsAreOneLineOfFourSectors) {
    const Gathered g(accessOf(4, AccessKind::load, [](unsigned l) { return 0x1000 + 4 * l; }));
    ASSERT_EQ(g.t.count, 1u);
    EXPECT_EQ(g.t.items[0].sectors, 0b1111);
    EXPECT_EQ(g.t.items[0].bytes, 128);
}

TEST(Coalescer, aWordALineTakesALineALaneAndASectorOfEach) {
    const Gathered g(accessOf(4, AccessKind::load, [](unsigned l) { return 0x1000 + 256 * l + 36; }));
    ASSERT_EQ(g.t.count, 32u);
    for (unsigned i = 0; i < 32; ++i) {
        EXPECT_EQ(g.t.items[i].line, 0x1000 + 256 * i);
        EXPECT_EQ(g.t.items[i].sectors, 0b0010);
    }
}

TEST(Coalescer, aMisalignedWarpTouchesTwoLines) {
    const Gathered g(accessOf(4, AccessKind::load, [](unsigned l) { return 0x1000 + 64 + 4 * l; }));
    ASSERT_EQ(g.t.count, 2u);
    EXPECT_EQ(g.t.items[0].sectors, 0b1100);
    EXPECT_EQ(g.t.items[1].sectors, 0b0011);
}

TEST(Coalescer, sixteenBytesALaneTakeFourLines) {
    const Gathered g(accessOf(16, AccessKind::load, [](unsigned l) { return 16 * l; }));
    EXPECT_EQ(g.t.count, 4u);
}

TEST(Coalescer, lanesInAnyOrderShareTheirLines) {
    const Gathered g(accessOf(4, AccessKind::load, [](unsigned l) { return 0x1000 + 128 * ((l * 5) % 4); }));
    EXPECT_EQ(g.t.count, 4u);
}

TEST(Coalescer, onlyActiveLanesCount) {
    const Gathered g(accessOf(
        4, AccessKind::load, [](unsigned l) { return 4096 * l; }, 0b1001));
    ASSERT_EQ(g.t.count, 2u);
    EXPECT_EQ(g.t.items[1].line, 3u * 4096);
}

TEST(Coalescer, aSectorIsCompleteOnlyWhenEveryByteIsWritten) {
    // Lanes 0..7 write sector 0 whole, lane 8 four bytes of sector 1.
    const Gathered g(accessOf(
        4, AccessKind::store, [](unsigned l) { return 4 * l; }, 0x1ff));
    ASSERT_EQ(g.t.count, 1u);
    EXPECT_EQ(g.t.items[0].sectors, 0b0011);
    EXPECT_EQ(g.t.items[0].complete, 0b0001);
    // Eight lanes on one word cover four bytes, not 32.
    const Gathered same(accessOf(
        4, AccessKind::store, [](unsigned) { return 0; }, 0xff));
    EXPECT_EQ(same.t.items[0].complete, 0);
}

TEST(Coalescer, theShortWayForKnownPatternsGivesTheSameLines) {
    for (const AccessKind kind : {AccessKind::load, AccessKind::store}) {
        for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u}) {
            for (std::uint64_t start = 0x1000; start < 0x1100; start += bytes) {
                for (const AccessPattern pattern : {AccessPattern::consecutive, AccessPattern::uniform}) {
                    const bool all = pattern == AccessPattern::consecutive;
                    Access access = accessOf(bytes, kind, [&](unsigned l) { return start + (all ? l * bytes : 0); });
                    const Gathered slow(access);
                    access.pattern = pattern;
                    const Gathered fast(access);
                    ASSERT_EQ(fast.t.count, slow.t.count);
                    for (std::size_t i = 0; i < fast.t.count; ++i) {
                        EXPECT_EQ(fast.t.items[i].line, slow.t.items[i].line);
                        EXPECT_EQ(fast.t.items[i].sectors, slow.t.items[i].sectors);
                        EXPECT_EQ(fast.t.items[i].bytes, slow.t.items[i].bytes);
                        if (kind == AccessKind::store) {
                            EXPECT_EQ(fast.t.items[i].complete, slow.t.items[i].complete);
                        }
                    }
                }
            }
        }
    }
}

TEST(Coalescer, localMemoryPutsTheSameWordOfAllLanesOnOneLine) {
    Transactions t;
    Access access = accessOf(4, AccessKind::load, [](unsigned) { return 8; });
    Coalescer(128, 32).gatherLocal(access, 0x10000, t);
    ASSERT_EQ(t.count, 1u);
    EXPECT_EQ(t.items[0].line, 0x10000 + 2u * 128);
    access = accessOf(16, AccessKind::load, [](unsigned) { return 0; });
    Coalescer(128, 32).gatherLocal(access, 0x10000, t);
    EXPECT_EQ(t.count, 4u);
}

TEST(SharedBanks, aStrideOfNWordsTakesNPasses) {
    for (unsigned stride : {1u, 2u, 4u, 8u, 16u, 32u})
        EXPECT_EQ(bankPasses(accessOf(4, AccessKind::load, [&](unsigned l) { return 4 * stride * l; }), 32, 4), stride);
    EXPECT_EQ(bankPasses(accessOf(4, AccessKind::load, [](unsigned l) { return 4 * 33 * l; }), 32, 4), 1u);
}

TEST(SharedBanks, oneWordServesAllLanesButAnAtomicTakesAPassALane) {
    EXPECT_EQ(bankPasses(accessOf(4, AccessKind::load, [](unsigned) { return 64; }), 32, 4), 1u);
    EXPECT_EQ(bankPasses(accessOf(4, AccessKind::atomic, [](unsigned) { return 64; }), 32, 4), 32u);
}

TEST(SharedBanks, eightBytesALaneTakeTwoPasses) {
    EXPECT_EQ(bankPasses(accessOf(8, AccessKind::load, [](unsigned l) { return 8 * l; }), 32, 4), 2u);
}

// ---- physical pages

TEST(PhysicalMemory, contiguousPagesAreAdjacent) {
    const auto profile = arch::findProfile("gtx1080");
    PhysicalMemory memory(profile);
    const auto pages = memory.allocate(10 << 20, 4096, PhysicalMemory::PagePlacement::contiguous);
    ASSERT_EQ(pages.size(), 2560u);
    for (std::size_t i = 1; i < pages.size(); ++i) ASSERT_EQ(pages[i], pages[i - 1] + 4096);
}

TEST(PhysicalMemory, scatteredPagesAreTheSameForTheSameSeedAndNeverGivenTwice) {
    auto profile = arch::findProfile("gtx1080");
    PhysicalMemory one(profile), two(profile);
    const auto a = one.allocate(4 << 20, 4096, PhysicalMemory::PagePlacement::scattered);
    EXPECT_EQ(a, two.allocate(4 << 20, 4096, PhysicalMemory::PagePlacement::scattered));
    const auto b = one.allocate(4 << 20, 65536, PhysicalMemory::PagePlacement::scattered);
    std::set<std::uint64_t> small(a.begin(), a.end());
    EXPECT_EQ(small.size(), a.size());
    for (std::uint64_t page : b)
        for (std::uint64_t at = page; at < page + 65536; at += 4096) EXPECT_EQ(small.count(at), 0u);
    applySettings(profile, {"memory.seed=2"});
    PhysicalMemory other(profile);
    EXPECT_NE(a, other.allocate(4 << 20, 4096, PhysicalMemory::PagePlacement::scattered));
}

TEST(PhysicalMemory, pagesOfAColorHaveThatColorAndFreedOnesComeBack) {
    const auto profile = arch::findProfile("gtx1080");
    PhysicalMemory memory(profile);
    const Bytes before = memory.freeBytes();
    const auto red = memory.allocate(1 << 20, 4096, PhysicalMemory::PagePlacement::scattered, {1});
    for (std::uint64_t page : red) {
        EXPECT_EQ(profile.map.color(page, 4096), 1u);
        // Pascal: the color is the parity of module bit 2 (published hash): bits 12,13,18,19,22,25,26,27,30,31.
        const std::uint64_t mask = 0xCE4C3000u;
        EXPECT_EQ(std::popcount(page & mask) & 1, std::popcount(red.front() & mask) & 1);
    }
    EXPECT_EQ(memory.freeBytes(), before - (1 << 20));
    memory.release(red, 4096);
    EXPECT_EQ(memory.freeBytes(), before);
}

TEST(PhysicalMemory, askingForTooMuchTakesNothing) {
    const auto profile = arch::findProfile("tx2");
    PhysicalMemory memory(profile);
    const Bytes before = memory.freeBytes();
    EXPECT_THROW(memory.allocate(before + 1, 4096, PhysicalMemory::PagePlacement::scattered), Error);
    EXPECT_THROW(memory.allocate(4096, 12345, PhysicalMemory::PagePlacement::scattered), Error);
    EXPECT_THROW(memory.allocate(4096, 4096, PhysicalMemory::PagePlacement::scattered, {99}), Error);
    EXPECT_EQ(memory.freeBytes(), before);
}

TEST(ContextMemory, smallAllocationsShareAPageAndAreCheckedOneByOne) {
    test::Harness h;
    const VirtualAddress a = h.buffer(100), b = h.buffer(100);
    EXPECT_EQ(a >> 21, b >> 21);
    EXPECT_NE(h.gpu.memory(h.context).space().resolve(a, 100), nullptr);
    EXPECT_EQ(h.gpu.memory(h.context).space().resolve(a, 101), nullptr);
    h.gpu.memory(h.context).free(a);
    EXPECT_EQ(h.gpu.memory(h.context).space().resolve(a, 1), nullptr);
    EXPECT_NE(h.gpu.memory(h.context).space().resolve(b, 100), nullptr);
    EXPECT_THROW(h.gpu.memory(h.context).free(a), Error);
}

}  // namespace
}  // namespace bulkhead::sim
