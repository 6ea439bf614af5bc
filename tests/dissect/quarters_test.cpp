#include "dissect/quarters.h"

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
        for (unsigned sm = 0; sm < kSms; ++sm) l.multiprocessors.push_back(sm);
        const nlohmann::json file = parseJson(readFile(path), path);
        for (const auto& row : file.at("rows"))
            l.cycles.at(row.at("multiprocessor")).at(row.at("slice")) = row.at("latency");
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
        sides.ofMultiprocessor.push_back(all[0] < kBetween ? 0 : 1);
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

TEST(Quarters, AnySixtyFourAddressesOfAnH200GiveTheSame) {
    std::map<unsigned, int> sizes;
    const auto first = findQuarters(sidesFrom(recorded(), randomSlices(1)));
    ASSERT_TRUE(first);
    EXPECT_GT(first->leastCorrelation, 0.7);
    for (std::uint64_t seed = 2; seed < 12; ++seed) {
        const auto again = findQuarters(sidesFrom(recorded(), randomSlices(seed)));
        ASSERT_TRUE(again);
        EXPECT_EQ(again->ofMultiprocessor, first->ofMultiprocessor);
    }
    for (const std::uint8_t quarter : first->ofMultiprocessor) ++sizes[quarter];
    EXPECT_EQ(sizes, (std::map<unsigned, int>{{0, 30}, {1, 36}, {2, 34}, {3, 32}}));
    EXPECT_EQ(first->ofMultiprocessor[0], 0);
    // No TPC is divided.
    for (unsigned sm = 0; sm < kSms; sm += 2) EXPECT_EQ(first->ofMultiprocessor[sm], first->ofMultiprocessor[sm + 1]);
}

TEST(Quarters, AMultiprocessorThatIsMetAgainIsInTheSameOne) {
    const Sides sides = sidesFrom(recorded(), randomSlices(1));
    const auto quarters = findQuarters(sides);
    ASSERT_TRUE(quarters);
    for (unsigned sm = 0; sm < kSms; ++sm) {
        Times slower = sides.latencies[sm];
        for (std::uint32_t& cycles : slower) cycles = cycles * 3 / 4 + sm % 3;
        EXPECT_EQ(quarterOf(sides, quarters, slower), quarters->ofMultiprocessor[sm]) << sm;
        EXPECT_EQ(quarterOf(sides, {}, slower), 2u * sides.ofMultiprocessor[sm]) << sm;
    }
}

TEST(Quarters, ASliceBelongsToTheMultiprocessorsThatAreNearerToIt) {
    const auto quarters = findQuarters(sidesFrom(recorded(), randomSlices(1)));
    ASSERT_TRUE(quarters);
    const auto ofSlice = quartersOfSlices(*quarters, recorded(), kModulus);
    std::map<unsigned, int> sizes;
    for (unsigned slice = 0; slice < kSlices; ++slice) {
        ++sizes[ofSlice[slice]];
        EXPECT_EQ(ofSlice[slice] / 2, slice / kModulus);
        std::map<unsigned, double> sum, count;
        for (unsigned sm = 0; sm < kSms; ++sm) {
            sum[quarters->ofMultiprocessor[sm]] += recorded().cycles[sm][slice];
            ++count[quarters->ofMultiprocessor[sm]];
        }
        const unsigned own = ofSlice[slice], other = own ^ 1;
        EXPECT_LT(sum[own] / count[own] + 15, sum[other] / count[other]) << slice;
    }
    EXPECT_EQ(sizes, (std::map<unsigned, int>{{0, 24}, {1, 23}, {2, 24}, {3, 23}}));
}

// Of eight multiprocessors of a side, the first four are in half 0, as is the first half of its slices.
TEST(Quarters, OfASimulatedGpuAreThoseOfItsCrossbar) {
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
    const auto quarters = findQuarters(*sides);
    ASSERT_TRUE(quarters);
    for (unsigned sm = 0; sm < 16; ++sm) EXPECT_EQ(quarters->ofMultiprocessor[sm], sm / 4) << sm;
    EXPECT_EQ(quartersOfSlices(*quarters, timeSlices(probe, lines), 5),
              (std::vector<std::uint8_t>{0, 0, 0, 1, 1, 2, 2, 2, 3, 3}));
}

TEST(Quarters, SidesWhoseSlicesAreEquallyFarHaveNone) {
    SliceLatencies flat = recorded();
    for (Times& row : flat.cycles)
        for (std::uint32_t& cycles : row) cycles = cycles < 400 ? 280 : 480;
    EXPECT_FALSE(findQuarters(sidesFrom(flat, randomSlices(1))));
    Random random(1);
    for (Times& row : flat.cycles)
        for (std::uint32_t& cycles : row) cycles += static_cast<std::uint32_t>(random.below(20));
    EXPECT_FALSE(findQuarters(sidesFrom(flat, randomSlices(1))));
}

/// How a process may number things, and what it measures then, while clocks rise.
struct Process {
    unsigned first = 0;
    bool down = false, otherSideFirst = false;
    unsigned firstMultiprocessor = 0;

    SliceLatencies measure(Random& random) const {
        SliceLatencies measured = recorded();
        for (unsigned sm = 0; sm < kSms; ++sm) {
            const Times& cycles = recorded().cycles[(sm + firstMultiprocessor) % kSms];
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
    l.multiprocessors = {0};
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
