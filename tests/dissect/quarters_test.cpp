#include "dissect/quarters.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/random.h"

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

/// Slice r of the result is slice r + shift.
SliceLatencies renumbered(SliceLatencies l, unsigned shift) {
    const SliceLatencies old = l;
    for (std::size_t sm = 0; sm < l.cycles.size(); ++sm)
        for (unsigned slice = 0; slice < kSlices; ++slice)
            l.cycles[sm][slice] = old.cycles[sm][slice / kModulus * kModulus + (slice % kModulus + shift) % kModulus];
    return l;
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

TEST(SliceLatencies, TellByHowMuchSlicesAreNumberedDifferently) {
    Random random(3);
    for (unsigned shift = 0; shift < kModulus; ++shift) {
        SliceLatencies measured = renumbered(recorded(), shift);
        const auto clock = static_cast<std::uint32_t>(random.below(30));
        for (Times& row : measured.cycles)
            for (std::uint32_t& cycles : row) cycles += clock + static_cast<std::uint32_t>(random.below(5));
        EXPECT_EQ(findShift(recorded(), measured, kModulus), shift);
    }
}

TEST(SliceLatencies, ThatCountBackwardsOrAreAllAlikeHaveNoShift) {
    SliceLatencies backwards = recorded(), flat = recorded();
    for (Times& row : backwards.cycles)
        for (unsigned side = 0; side < 2; ++side)
            std::reverse(row.begin() + side * kModulus, row.begin() + (side + 1) * kModulus);
    EXPECT_FALSE(findShift(recorded(), backwards, kModulus));
    for (Times& row : flat.cycles) row.assign(kSlices, 280);
    EXPECT_FALSE(findShift(flat, flat, kModulus));
    SliceLatencies fewer = recorded();
    fewer.multiprocessors.pop_back();
    fewer.cycles.pop_back();
    EXPECT_FALSE(findShift(recorded(), fewer, kModulus));
}

}  // namespace
}  // namespace bulkhead::dissect
