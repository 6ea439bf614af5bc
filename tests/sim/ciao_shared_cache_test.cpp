// Shared memory as a cache (CIAO III-B, IV-B): the table of reservations, the address translation of Figure 7, and the
// rule that a line has one copy.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "harness.h"
#include "sim/sm/shared_cache.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

constexpr std::uint32_t kKiB = 1024;

// ---- SMMT

TEST(Smmt, anEmptyMemoryIsAllUnused) {
    EXPECT_EQ(Smmt(48 * kKiB).largestUnused(), (Smmt::Range{0, 48 * kKiB}));
}

TEST(Smmt, whatBlocksLeaveIsUnused) {
    Smmt table(48 * kKiB);
    table.reserve(0, 10 * kKiB);
    table.reserve(1, 10 * kKiB);
    EXPECT_EQ(table.reserved(), 20 * kKiB);
    EXPECT_EQ(table.largestUnused(), (Smmt::Range{20 * kKiB, 28 * kKiB}));
}

TEST(Smmt, aBlockTakesTheHoleThatOneLeft) {
    Smmt table(48 * kKiB);
    for (std::uint32_t block = 0; block < 3; ++block) table.reserve(block, 8 * kKiB);
    table.release(1);
    table.reserve(7, 8 * kKiB);
    EXPECT_EQ(table.largestUnused(), (Smmt::Range{24 * kKiB, 24 * kKiB}));
}

TEST(Smmt, aBlockThatFitsNoHoleIsPlacedInPieces) {
    Smmt table(32 * kKiB);
    for (std::uint32_t block = 0; block < 4; ++block) table.reserve(block, 8 * kKiB);
    table.release(0);
    table.release(2);
    table.reserve(9, 16 * kKiB);
    EXPECT_EQ(table.reserved(), 32 * kKiB);
    EXPECT_EQ(table.largestUnused().bytes, 0u);
    table.release(9);
    EXPECT_EQ(table.reserved(), 16 * kKiB);
}

TEST(Smmt, aBlockWithoutSharedMemoryTakesNothing) {
    Smmt table(kKiB);
    table.reserve(0, 0);
    EXPECT_EQ(table.largestUnused(), (Smmt::Range{0, kKiB}));
}

// ---- Figure 7c

TEST(AddressTranslation, theFieldsOfABlockAddressAreThoseOfTheFigure) {
    // 256 rows from row 8 on would need 64 KB and more; the whole of 72 KB gives the full 8 bits of R.
    const AddressTranslation full(Smmt::Range{0, 72 * kKiB});
    ASSERT_EQ(full.mask(), 0xffu);
    ASSERT_EQ(full.tagOffset(), 0u);
    ASSERT_EQ(full.blockOffset(), 8u);  // 512 tags, 64 to a row of both groups
    // R = 0xa5, G = 1, B = 0b0110, F = 0b101 in the address's low 16 bits; the 16 bits above are tag only.
    const std::uint64_t address = 0xdead'0000 | 0xa5 << 8 | 1 << 7 | 0b0110 << 3 | 0b101;
    const auto place = full.translate(address);
    EXPECT_EQ(place.block >> 8, 0xa5u + 8);          // R and the data block offset register
    EXPECT_EQ(place.block >> 7 & 1, 1u);             // G
    EXPECT_EQ(place.block >> 3 & 0xf, 0b0110u);      // B
    EXPECT_EQ(place.block & 7, 0b101u);              // F
    EXPECT_EQ(place.tag >> 7 & 1, 0u);               // the other group
    EXPECT_EQ(place.tag >> 2 & 0x1f, 0xa5u & 0x1f);  // F and B: the low 5 bits of R
    EXPECT_EQ(place.tag & 3, 0u);                    // a tag has 4 bytes
    EXPECT_EQ(place.tag >> 8, 0xa5u >> 5);           // its row: the rest of R, and the tag offset register
}

TEST(AddressTranslation, theMaskLeavesOutRowsThatAreInUse) {
    // 48 KB less 32 KB in use: 64 rows of 256 bytes. 32 rows of blocks and one of tags fit, 64 and two do not.
    const AddressTranslation part(Smmt::Range{32 * kKiB, 16 * kKiB});
    EXPECT_EQ(part.rows(), 32u);
    EXPECT_EQ(part.mask(), 0x1fu);
    EXPECT_EQ(part.tagOffset(), 128u);
    EXPECT_EQ(part.blockOffset(), 129u);
    EXPECT_EQ(part.translate(0xff00).block, part.translate(0x1f00).block);
    EXPECT_EQ(part.translate(0xff00).block, (0x1fu + 129) << 8);
}

TEST(AddressTranslation, anUnevenRangeIsUsedFromItsFirstWholeRow) {
    const AddressTranslation part(Smmt::Range{100, 1024});  // rows 1 to 3: one of tags, two of blocks
    EXPECT_EQ(part.tagOffset(), 1u);
    EXPECT_EQ(part.blockOffset(), 2u);
    EXPECT_EQ(part.rows(), 2u);
}

TEST(AddressTranslation, tooLittleSpaceGivesNothing) {
    EXPECT_EQ(AddressTranslation(Smmt::Range{0, 256}).rows(), 0u);
    EXPECT_EQ(AddressTranslation(Smmt::Range{1, 512}).rows(), 0u);
    EXPECT_EQ(AddressTranslation(Smmt::Range{0, 512}).rows(), 1u);
}

TEST(AddressTranslation, blocksAndTagsOfEverySizeShareNoByteAndNoGroup) {
    for (std::uint32_t bytes = 512; bytes <= 72 * kKiB; bytes += 256) {
        const Smmt::Range range{3 * kKiB, bytes};
        const AddressTranslation unit(range);
        std::set<std::uint32_t> taken;  // in units of the 4 bytes of a tag
        for (std::uint32_t block = 0; block < unit.blocks(); ++block) {
            const auto place = unit.translate(std::uint64_t{block} << 7);
            EXPECT_EQ(unit.blockIndex(place.block), block);
            EXPECT_NE(place.block >> 7 & 1, place.tag >> 7 & 1);
            EXPECT_GE(std::min(place.block, place.tag), range.start);
            EXPECT_LE(std::max(place.block + 128, place.tag + 4), range.start + range.bytes);
            for (std::uint32_t word = 0; word < 32; ++word) EXPECT_TRUE(taken.insert(place.block / 4 + word).second);
            EXPECT_TRUE(taken.insert(place.tag / 4).second);
        }
    }
}

// ---- the cache

TEST(SharedCache, holdsWhatWasFilledUntilAnotherLineTakesThePlace) {
    SharedCache cache(48 * kKiB);
    EXPECT_FALSE(cache.usable());
    EXPECT_TRUE(cache.blockStarted(0, 0));
    // 192 rows: 128 of blocks, 4 of tags. Lines 32 KB apart share a place.
    EXPECT_EQ(cache.capacityBytes(), 32 * kKiB);
    const std::uint64_t first = 0x1'0000, second = first + 32 * kKiB;
    const auto place = [&](std::uint64_t line) { return cache.translation().translate(line).block; };
    EXPECT_FALSE(cache.fill(place(first), first, 0xf, 5));
    EXPECT_EQ(cache.valid(first), 0xf);
    EXPECT_EQ(cache.valid(second), 0);
    EXPECT_EQ(cache.usedBytes(), 128u);
    const auto victim = cache.fill(place(second), second, 0xf, 6);
    ASSERT_TRUE(victim);
    EXPECT_EQ(victim->line, first);
    EXPECT_EQ(victim->owner, 5u);
    EXPECT_EQ(cache.valid(first), 0);
    EXPECT_EQ(cache.valid(second), 0xf);
    cache.drop(second);
    EXPECT_EQ(cache.valid(second), 0);
    EXPECT_EQ(cache.usedBytes(), 0u);
}

TEST(SharedCache, aBlockThatNeedsTheSpaceGetsIt) {
    SharedCache cache(48 * kKiB);
    cache.blockStarted(0, 0);
    cache.fill(cache.translation().translate(0).block, 0, 1, 0);
    EXPECT_FALSE(cache.blockStarted(1, 0));  // wants nothing: the line stays
    EXPECT_EQ(cache.valid(0), 1);
    EXPECT_TRUE(cache.blockStarted(2, 40 * kKiB));
    EXPECT_EQ(cache.valid(0), 0);
    EXPECT_EQ(cache.capacityBytes(), 4 * kKiB);  // 32 rows are left: 16 of blocks and one of tags fit
    EXPECT_TRUE(cache.blockStarted(3, 8 * kKiB));
    EXPECT_FALSE(cache.usable());
}

TEST(SharedCache, aBlockThatEndsAndIsReplacedLosesNothing) {
    SharedCache cache(48 * kKiB);
    cache.blockStarted(0, 8 * kKiB);
    cache.blockStarted(1, 8 * kKiB);
    cache.fill(cache.translation().translate(0).block, 0, 1, 0);
    cache.blockEnded(0);
    EXPECT_FALSE(cache.blockStarted(2, 8 * kKiB));
    EXPECT_EQ(cache.valid(0), 1);
}

// ---- on an SM

/// Looks at every SM at every sample: no line may be in L1D and in shared memory.
class CopyChecker final : public Observer {
  public:
    Cycles sampleInterval() const override { return 16; }
    void sampleSm(Cycles, std::uint32_t sm, const SmSample& sample) override {
        const LoadStore& unit = gpu->sm(context, sm).loadStore();
        const CacheTags& l1 = unit.l1();
        std::set<std::uint64_t> lines;
        for (std::uint32_t way = 0; way < l1.sets() * l1.ways(); ++way)
            if (l1.line(way) != CacheTags::kNoLine) lines.insert(l1.line(way));
        unit.sharedCache()->eachLine([&](std::uint64_t line) {
            ++seen;
            twice += lines.count(line);
        });
        mostIsolated = std::max(mostIsolated, sample.isolatedWarps);
    }
    const Machine* gpu = nullptr;
    ContextId context = 0;
    std::uint64_t seen = 0, twice = 0;
    std::uint32_t mostIsolated = 0;
};

constexpr std::uint32_t kWords = 16384, kCounters = 256, kRounds = 40;

/// Every thread reads words of a at random, keeps a sum in its own word of b, and counts its reads in c. It may do
/// something else beside, in every round.
std::string randomReads(const std::string& beside = "", const std::string& declarations = "") {
    return kernelText(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.s32 %r1, %r2, %r3, %r1;\n"
        "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd4, %rd2, %rd4; mov.u32 %r5, %r1; mov.u32 %r6, 0;\n"
        "loop: mad.lo.s32 %r5, %r5, 1664525, 1013904223;\n"
        "shr.u32 %r7, %r5, 10; and.b32 %r7, %r7, " +
            std::to_string(kWords - 1) +
            "; mul.wide.u32 %rd5, %r7, 4; add.s64 %rd5, %rd1, %rd5;\n"
            "ld.global.u32 %r8, [%rd5]; ld.global.u32 %r9, [%rd4]; add.s32 %r9, %r9, %r8; st.global.u32 [%rd4], %r9;\n"
            "and.b32 %r7, %r7, " +
            std::to_string(kCounters - 1) +
            "; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd6, %rd3, %rd6; red.global.add.u32 [%rd6], 1;\n"
            "ld.global.u32 %r10, [%rd6];\n" +
            beside + "add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, " + std::to_string(kRounds) + "; @%p1 bra loop;\n",
        declarations);
}

/// Redirects as often as it can: any interference counts, and epochs are short.
std::vector<std::string> nervous(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"ciao.highEpoch=64", "ciao.lowEpoch=64", "ciao.highCutoff=0.002", "ciao.lowCutoff=0.002",
                             "sm.count=2"});
    return more;
}

struct Stress {
    CopyChecker checker;
    Counters counters;
    std::vector<std::uint32_t> sums, counts;
};

void stress(Stress& s, const std::string& scheduler, const std::vector<std::string>& settings, Dim3 grid, Dim3 block,
            std::uint32_t sharedBytes, const std::string& kernel = randomReads()) {
    Machine::Options options;
    options.scheduler = scheduler;
    options.observer = scheduler.starts_with("ciao") ? &s.checker : nullptr;
    Harness h("gtx480", settings, options);
    s.checker.gpu = &h.gpu;
    s.checker.context = h.context;
    const std::uint32_t threads = grid.x * block.x;
    const VirtualAddress a = h.buffer(kWords * 4), b = h.buffer(threads * 4), c = h.buffer(kCounters * 4);
    for (std::uint32_t i = 0; i < kWords; ++i) h.data<std::uint32_t>(a, kWords)[i] = i * i;
    const LaunchId launch = h.run(kernel, {grid, block, sharedBytes, {}, 0}, {a, b, c});
    ASSERT_FALSE(h.gpu.record(launch).error);
    s.counters = h.gpu.counters(launch);
    s.sums.assign(h.data<std::uint32_t>(b, threads), h.data<std::uint32_t>(b, threads) + threads);
    s.counts.assign(h.data<std::uint32_t>(c, kCounters), h.data<std::uint32_t>(c, kCounters) + kCounters);
}

void expectSums(const Stress& s) {
    std::vector<std::uint32_t> counts(kCounters, 0);
    for (std::uint32_t thread = 0; thread < s.sums.size(); ++thread) {
        std::uint32_t x = thread, sum = 0;
        for (std::uint32_t round = 0; round < kRounds; ++round) {
            x = x * 1664525 + 1013904223;
            const std::uint32_t word = x >> 10 & (kWords - 1);
            sum += word * word;
            ++counts[word & (kCounters - 1)];
        }
        ASSERT_EQ(s.sums[thread], sum) << thread;
    }
    EXPECT_EQ(s.counts, counts);
}

class Redirection : public testing::TestWithParam<std::string> {};

TEST_P(Redirection, keepsOneCopyAndTheResultsUnderRandomAccess) {
    Stress s;
    stress(s, GetParam(), nervous(), {6}, {256}, 0);
    expectSums(s);
    EXPECT_EQ(s.checker.twice, 0u);
    EXPECT_GT(s.checker.seen, 1000u);
    EXPECT_GT(s.checker.mostIsolated, 0u);
    EXPECT_GT(s.counters.sharedCacheHits, 0u);
    EXPECT_GT(s.counters.sharedCacheEvictions, 0u);
    EXPECT_GT(s.counters.movedToShared, 0u);
    EXPECT_GT(s.counters.movedToL1, 0u);
}

TEST_P(Redirection, keepsOneCopyWithSectorsAndAllocationOnFill) {
    Stress s;
    stress(s, GetParam(), nervous({"l1.sectorBytes=32", "l2.sectorBytes=32", "dram.burstBytes=32", "l1.allocate=fill"}),
           {6}, {256}, 0);
    expectSums(s);
    EXPECT_EQ(s.checker.twice, 0u);
    EXPECT_GT(s.counters.movedToShared, 0u);
    EXPECT_GT(s.counters.movedToL1, 0u);
}

TEST_P(Redirection, makesRoomForBlocksThatComeLater) {
    // Two blocks of 20 KB fill the SM's shared memory but for 8 KB; before and after them there is more.
    Stress s;
    stress(s, GetParam(), nervous(), {11}, {256}, 20 * kKiB);
    expectSums(s);
    EXPECT_EQ(s.checker.twice, 0u);
    EXPECT_GT(s.counters.sharedCacheHits, 0u);
}

TEST_P(Redirection, withoutUnusedSharedMemoryGoesOnWithL1) {
    Stress s;
    stress(s, GetParam(), nervous(), {6}, {256}, 48 * kKiB);
    expectSums(s);
    EXPECT_EQ(s.counters.sharedCacheHits + s.counters.sharedCacheMisses, 0u);
    EXPECT_GT(s.counters.l1Hits, 0u);
}

/// Reads shared memory in every round: each lane its own word, or all of them words of the same bank.
std::string withShared(bool conflicts) {
    return randomReads(
        "mov.u32 %r11, %tid.x; and.b32 %r11, %r11, 31; mov.u32 %r12, buffer;\n"
        "mad.lo.s32 %r12, %r11, " +
            std::string(conflicts ? "128" : "4") + ", %r12; ld.shared.u32 %r13, [%r12];\n",
        ".shared .align 128 .b8 buffer[4096];");
}

// The cache lies in the same banks as what programs have in shared memory.
TEST_P(Redirection, takesTurnsAtTheBanksWithPrograms) {
    Stress alone, beside;
    stress(alone, "gto", nervous(), {6}, {256}, 0, withShared(false));
    EXPECT_EQ(alone.counters.sharedConflicts, 0u);
    stress(beside, GetParam(), nervous(), {6}, {256}, 0, withShared(false));
    expectSums(beside);
    EXPECT_GT(beside.counters.sharedConflicts, 0u);
}

TEST_P(Redirection, movesThroughAShortQueueWhileBanksAreBusy) {
    Stress s;
    stress(s, GetParam(), nervous({"ciao.moveQueue=1", "l1.hitLatency=40", "shared.latency=30"}), {6}, {256}, 0,
           withShared(true));
    expectSums(s);
    EXPECT_EQ(s.checker.twice, 0u);
    EXPECT_GT(s.counters.movedToShared, 0u);
    EXPECT_GT(s.counters.movedToL1, 0u);
}

INSTANTIATE_TEST_SUITE_P(Policies, Redirection, testing::Values("ciao-p", "ciao-c"),
                         [](const auto& info) { return info.param == "ciao-p" ? "p" : "c"; });

TEST(SharedCache, linesOfAnotherSizeAreRefused) {
    Machine::Options options;
    options.scheduler = "ciao-c";
    const std::vector<std::string> small = {"l1.lineBytes=64", "l1.sectorBytes=64", "l2.lineBytes=64",
                                            "l2.sectorBytes=64", "l2.bytes=393216"};
    EXPECT_THROW(Harness("gtx480", small, options), Error);
}

}  // namespace
}  // namespace bulkhead::sim
