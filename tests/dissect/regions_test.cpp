#include "dissect/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "dissect/memory_view.h"
#include "hidden_maps.h"
#include "temporary_directory.h"

namespace bulkhead::dissect {
namespace {

constexpr unsigned kSms = 132, kSlices = 94, kModulus = 47;

/// As the H200 gave them.
const SliceLatencies& recorded() {
    static const SliceLatencies latencies = [] {
        const std::string path = BULKHEAD_SOURCE_DIR "/results/h200/dissect-latency.json";
        SliceLatencies l;
        l.cycles.assign(kSms, Times(kSlices, 0));
        for (unsigned sm = 0; sm < kSms; ++sm) l.sms.push_back(sm);
        const nlohmann::json file = parseJson(readFile(path), path);
        for (const auto& row : file.at("rows")) l.cycles.at(row.at("SM")).at(row.at("slice")) = row.at("latency");
        return l;
    }();
    return latencies;
}

/// What findSides() would have from addresses of these slices.
Sides sidesFrom(const SliceLatencies& latencies, const std::vector<unsigned>& slices) {
    constexpr double kBetween = 400;  // near atomics take 270 to 340 cycles, far ones 460 to 530
    Sides sides;
    sides.addresses.resize(slices.size());
    for (const Times& all : latencies.cycles) {
        Times& some = sides.latencies.emplace_back();
        for (const unsigned slice : slices) some.push_back(all[slice]);
        sides.ofSm.push_back(all[0] < kBetween ? 0 : 1);
        sides.threshold.push_back(kBetween);
    }
    return sides;
}

std::vector<unsigned> randomSlices(std::uint64_t seed) {
    Random random(seed);
    std::vector<unsigned> slices;
    for (int i = 0; i < 64; ++i) slices.push_back(static_cast<unsigned>(random.below(kSlices)));
    return slices;
}

TEST(L2Regions, AnySixtyFourAddressesOfAnH200GiveTheSame) {
    std::map<L2Region, int> sizes;
    const auto first = findRegions(sidesFrom(recorded(), randomSlices(1)));
    ASSERT_TRUE(first);
    EXPECT_GT(first->leastCorrelation, 0.7);
    for (std::uint64_t seed = 2; seed < 12; ++seed) {
        const auto again = findRegions(sidesFrom(recorded(), randomSlices(seed)));
        ASSERT_TRUE(again);
        EXPECT_EQ(again->ofSm, first->ofSm);
    }
    for (const L2Region region : first->ofSm) ++sizes[region];
    EXPECT_EQ(sizes, (std::map<L2Region, int>{{{0, 0}, 30}, {{0, 1}, 36}, {{1, 0}, 34}, {{1, 1}, 32}}));
    EXPECT_EQ(first->ofSm[0], L2Region());
    // No TPC is divided.
    for (unsigned sm = 0; sm < kSms; sm += 2) EXPECT_EQ(first->ofSm[sm], first->ofSm[sm + 1]);
}

TEST(L2Regions, AnSmThatIsMetAgainIsInTheSameOne) {
    const Sides sides = sidesFrom(recorded(), randomSlices(1));
    const auto regions = findRegions(sides);
    ASSERT_TRUE(regions);
    for (unsigned sm = 0; sm < kSms; ++sm) {
        Times slower = sides.latencies[sm];
        for (std::uint32_t& cycles : slower) cycles = cycles * 3 / 4 + sm % 3;
        EXPECT_EQ(regionOf(sides, regions, slower), regions->ofSm[sm]) << sm;
        EXPECT_EQ(regionOf(sides, {}, slower), (L2Region{sides.ofSm[sm], 0})) << sm;
    }
}

TEST(L2Regions, ASliceBelongsToTheSmsThatAreNearerToIt) {
    const auto regions = findRegions(sidesFrom(recorded(), randomSlices(1)));
    ASSERT_TRUE(regions);
    const auto ofSlice = regionsOfSlices(*regions, recorded(), kModulus);
    std::map<L2Region, int> sizes;
    for (unsigned slice = 0; slice < kSlices; ++slice) {
        ++sizes[ofSlice[slice]];
        EXPECT_EQ(ofSlice[slice].side, slice / kModulus);
        std::map<L2Region, double> sum, count;
        for (unsigned sm = 0; sm < kSms; ++sm) {
            sum[regions->ofSm[sm]] += recorded().cycles[sm][slice];
            ++count[regions->ofSm[sm]];
        }
        const L2Region own = ofSlice[slice], other = {own.side, static_cast<std::uint8_t>(1 - own.half)};
        EXPECT_LT(sum[own] / count[own] + 15, sum[other] / count[other]) << slice;
    }
    EXPECT_EQ(sizes, (std::map<L2Region, int>{{{0, 0}, 24}, {{0, 1}, 23}, {{1, 0}, 24}, {{1, 1}, 23}}));
}

// Of eight SMs of a side, the first four are in half 0, as is the first half of its slices.
TEST(L2Regions, OfASimulatedGpuAreThoseOfItsCrossbar) {
    const TemporaryDirectory directory;
    const std::string name = writeResidueMap((directory / "residue.json").string(), 5, 1);
    const arch::DeviceProfile profile = arch::findProfile(name);
    gpu::Gpu gpu = gpu::Gpu::open(name);
    Probe probe(gpu);
    const MemoryView memory(gpu, 1_GiB);
    Random random(1);
    std::vector<std::uint64_t> lines(profile.map.slices(), 0), some;
    while (some.size() < 64 || std::count(lines.begin(), lines.end(), 0) != 0) {
        const arch::PhysicalAddress at = memory.random(random, 128);
        some.push_back(*memory.reach(at));
        lines[profile.map.locate(at).slice] = some.back();
    }
    const auto sides = findSides(probe, some, 3);
    ASSERT_TRUE(sides);
    const auto regions = findRegions(*sides);
    ASSERT_TRUE(regions);
    for (unsigned sm = 0; sm < 16; ++sm) EXPECT_EQ(regions->ofSm[sm], kL2Regions[sm / 4]) << sm;
    const auto [a, b, c, d] = kL2Regions;
    EXPECT_EQ(regionsOfSlices(*regions, timeSlices(probe, lines), 5),
              (std::vector<L2Region>{a, a, a, b, b, c, c, c, d, d}));
}

TEST(L2Regions, SidesWhoseSlicesAreEquallyFarHaveNone) {
    SliceLatencies flat = recorded();
    for (Times& row : flat.cycles)
        for (std::uint32_t& cycles : row) cycles = cycles < 400 ? 280 : 480;
    EXPECT_FALSE(findRegions(sidesFrom(flat, randomSlices(1))));
    Random random(1);
    for (Times& row : flat.cycles)
        for (std::uint32_t& cycles : row) cycles += static_cast<std::uint32_t>(random.below(20));
    EXPECT_FALSE(findRegions(sidesFrom(flat, randomSlices(1))));
}

/// How a process may number things, and what it measures then, while clocks rise.
struct Process {
    unsigned first = 0;
    bool down = false, otherSideFirst = false;
    unsigned firstSm = 0;

    SliceLatencies measure(Random& random) const {
        SliceLatencies measured = recorded();
        for (unsigned sm = 0; sm < kSms; ++sm) {
            const Times& cycles = recorded().cycles[(sm + firstSm) % kSms];
            const double clock = 0.6 + 0.4 * sm / kSms;
            for (unsigned slice = 0; slice < kSlices; ++slice) {
                const unsigned side = slice / kModulus ^ (otherSideFirst ? 1 : 0), steps = slice % kModulus,
                               own = (first + (down ? kModulus - steps : steps)) % kModulus;
                measured.cycles[sm][slice] =
                    static_cast<std::uint32_t>(clock * cycles[side * kModulus + own] + 5 * random.uniform());
            }
        }
        return measured;
    }
};

TEST(SliceLatencies, TellWhichNumberASliceHasInAnotherProcess) {
    Random random(3);
    for (const Process& process : {Process{0}, Process{1}, Process{46}, Process{20, true}, Process{7, false, true},
                                   Process{33, true, true, 10}, Process{12, false, false, 75}}) {
        const RenumberingFit fit = findRenumbering(recorded(), process.measure(random), kModulus);
        EXPECT_TRUE(fit.clear()) << fit.left << " " << fit.leftByNext;
        EXPECT_EQ(fit.best, (Renumbering{process.first, process.down}));
    }
}

TEST(SliceLatencies, AreRenumberedWithinTheirSides) {
    SliceLatencies l;
    l.sms = {0};
    l.cycles = {{0, 1, 2, 3, 4, 10, 11, 12, 13, 14}};
    EXPECT_EQ(renumbered(l, {2, false}, 5).cycles[0], (Times{3, 4, 0, 1, 2, 13, 14, 10, 11, 12}));
    EXPECT_EQ(renumbered(l, {2, true}, 5).cycles[0], (Times{2, 1, 0, 4, 3, 12, 11, 10, 14, 13}));
}

TEST(SliceLatencies, ThatAreAllAlikeTellNothing) {
    SliceLatencies flat = recorded();
    for (Times& row : flat.cycles) row.assign(kSlices, 280);
    EXPECT_FALSE(findRenumbering(flat, flat, kModulus).clear());
    // Two halves look the same from either end.
    for (Times& row : flat.cycles)
        for (unsigned slice = 0; slice < kSlices; ++slice) row[slice] = slice % kModulus < 24 ? 280 : 310;
    EXPECT_FALSE(findRenumbering(flat, flat, kModulus).clear());
    SliceLatencies fewer = recorded();
    for (Times& row : fewer.cycles) row.pop_back();
    EXPECT_FALSE(findRenumbering(recorded(), fewer, kModulus).clear());
}

}  // namespace
}  // namespace bulkhead::dissect
