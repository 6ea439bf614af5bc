#include "dissect/quarters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "arch/device_profile.h"
#include "base/files.h"
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

std::vector<std::uint8_t> sidesOfSlices() {
    std::vector<std::uint8_t> sides;
    for (unsigned slice = 0; slice < kSlices; ++slice) sides.push_back(slice < kModulus ? 0 : 1);
    return sides;
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

TEST(Quarters, ASliceBelongsToTheMultiprocessorsThatAreNearerToIt) {
    const auto quarters = findQuarters(sidesFrom(recorded(), randomSlices(1)));
    ASSERT_TRUE(quarters);
    const auto ofSlice = quartersOfSlices(*quarters, recorded(), sidesOfSlices());
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
    const std::vector<std::uint8_t> sideOfSlice = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    EXPECT_EQ(quartersOfSlices(*quarters, timeSlices(probe, lines), sideOfSlice),
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

/// What a process measures that counts slices from `first`, up or down.
SliceLatencies countedFrom(unsigned first, bool down, Random& random) {
    SliceLatencies measured = recorded();
    const auto clock = static_cast<std::uint32_t>(random.below(30));
    for (unsigned sm = 0; sm < kSms; ++sm)
        for (unsigned slice = 0; slice < kSlices; ++slice) {
            const unsigned side = slice / kModulus, steps = slice % kModulus,
                           own = (first + (down ? kModulus - steps : steps)) % kModulus;
            measured.cycles[sm][slice] =
                recorded().cycles[sm][side * kModulus + own] + clock + static_cast<std::uint32_t>(random.below(5));
        }
    return measured;
}

TEST(SliceLatencies, TellWhichNumberASliceHasInAnotherProcess) {
    Random random(3);
    for (unsigned first = 0; first < kModulus; first += 3)
        for (const bool down : {false, true}) {
            const SliceLatencies measured = countedFrom(first, down, random);
            const auto how = findRenumbering(recorded(), measured, kModulus);
            ASSERT_TRUE(how) << first;
            EXPECT_EQ(*how, (Renumbering{first, down}));
            const Times again = renumbered(measured, *how, kModulus).cycles[7], known = recorded().cycles[7];
            for (unsigned slice = 0; slice < kSlices; ++slice)
                EXPECT_NEAR(static_cast<double>(again[slice]) - again[0], static_cast<double>(known[slice]) - known[0],
                            5);
        }
}

TEST(SliceLatencies, ThatAreAllAlikeTellNothing) {
    SliceLatencies flat = recorded();
    for (Times& row : flat.cycles) row.assign(kSlices, 280);
    EXPECT_FALSE(findRenumbering(flat, flat, kModulus));
    // Two halves look the same from either end.
    for (Times& row : flat.cycles)
        for (unsigned slice = 0; slice < kSlices; ++slice) row[slice] = slice % kModulus < 24 ? 280 : 310;
    EXPECT_FALSE(findRenumbering(flat, flat, kModulus));
    SliceLatencies fewer = recorded();
    fewer.multiprocessors.pop_back();
    fewer.cycles.pop_back();
    EXPECT_FALSE(findRenumbering(recorded(), fewer, kModulus));
}

}  // namespace
}  // namespace bulkhead::dissect
