#include "arch/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <vector>

#include "arch/device_profile.h"
#include "base/error.h"

namespace bulkhead::arch {
namespace {

using nlohmann::json;
using Function = std::vector<int>;  // address bits whose XOR it is

// The published hashes, as the public documentation of Fractional GPUs lists them.
const std::vector<Function> kPascalModule = {{10, 12, 16, 20, 23, 26, 29, 30},
                                             {11, 12, 13, 15, 17, 20, 21, 23, 25, 26, 30},
                                             {12, 13, 18, 19, 22, 25, 26, 27, 30, 31}};
const std::vector<Function> kPascalBank = {{13, 15, 20, 24, 26, 29, 32},
                                           {15, 16, 21, 22, 23, 25, 26, 28, 29},
                                           {16, 19, 23, 27, 30},
                                           {17, 20, 22, 23, 24, 27, 28, 29, 31}};
const std::vector<Function> kPascalSet = {{7, 8, 16, 17, 23, 26, 31},
                                          {8, 10, 12, 16, 17, 21, 24, 25, 26, 27},
                                          {9, 10, 18, 25, 29, 30, 31},
                                          {13, 14, 20, 23, 28, 29, 30},
                                          {14, 15, 17, 20, 21, 23, 24, 28, 31},
                                          {15, 16, 19, 20, 23, 24, 25, 26, 28, 29, 30, 32},
                                          {16, 17, 18, 19, 21, 22, 23, 25, 27, 28, 30}};
const std::vector<Function> kVoltaModule = {{10, 13, 17, 19, 24, 25, 26, 29, 30, 32, 33},
                                            {11, 13, 15, 23, 24, 26, 27, 29, 30, 31},
                                            {12, 15, 16, 18, 20, 21, 23, 26, 28, 29, 30},
                                            {13, 19, 20, 22, 25, 27, 28, 29},
                                            {15, 18, 22, 23, 26, 29, 30, 31, 32, 33}};
const std::vector<Function> kVoltaBank = {
    {10, 11, 20, 23, 25, 28, 30, 33},        {11, 12, 16, 20, 25, 26, 29, 30, 32, 33},
    {12, 16, 17, 19, 23, 25, 26, 27, 31},    {13, 24, 26, 27, 28, 30, 31, 33},
    {15, 17, 19, 20, 27, 28, 30, 31, 32},    {16, 19, 20, 23, 27, 29, 31, 33},
    {17, 18, 23, 24, 25, 27, 28, 30, 31},    {18, 21, 25, 29, 32},
    {19, 20, 22, 24, 25, 26, 29, 30, 31, 33}};
const std::vector<Function> kVoltaSet = {
    {10, 17, 20, 22, 24, 26, 27, 28, 30, 32, 33},     {11, 12, 18, 24, 26, 28, 29, 30, 31, 32},
    {12, 13, 22, 26, 27, 28, 29, 30, 31, 33},         {13, 14, 22, 24, 30, 31, 32, 33},
    {15, 18, 22, 23, 26, 29, 30, 31, 32, 33},         {7, 15, 21, 23, 24, 25, 28, 32},
    {8, 9, 15, 19, 21, 23, 24, 25, 28, 29, 31},       {9, 15, 19, 21, 22, 24, 25, 26, 27, 30, 31, 32, 33},
    {14, 19, 20, 24, 25, 27, 28, 29, 30, 31, 32, 33}, {16, 19, 21, 22, 25, 26, 28, 30, 32}};

/// Bit by bit, on purpose nothing like the program's tables.
unsigned evaluate(const std::vector<Function>& functions, std::uint64_t address) {
    unsigned number = 0;
    for (std::size_t i = 0; i < functions.size(); ++i) {
        bool value = false;
        for (int bit : functions[i])
            if ((address / (std::uint64_t{1} << bit)) % 2 == 1) value = !value;
        if (value) number += 1u << i;
    }
    return number;
}

std::uint64_t maskOf(const Function& f) {
    std::uint64_t mask = 0;
    for (int bit : f) mask += std::uint64_t{1} << bit;
    return mask;
}

std::vector<std::uint64_t> masksOf(std::initializer_list<std::vector<Function>> lists) {
    std::vector<std::uint64_t> masks;
    for (const auto& list : lists)
        for (const Function& f : list) masks.push_back(maskOf(f));
    return masks;
}

std::vector<std::uint64_t> masksOf(std::initializer_list<std::vector<Digit>> lists) {
    std::vector<std::uint64_t> masks;
    for (const auto& digits : lists)
        for (const Digit& d : digits) masks.insert(masks.end(), d.bits.begin(), d.bits.end());
    return masks;
}

/// Rank over GF(2) by elimination, one bit position after another.
int rank(std::vector<std::uint64_t> rows) {
    int r = 0;
    for (int bit = 63; bit >= 0; --bit) {
        std::size_t pivot = static_cast<std::size_t>(r);
        while (pivot < rows.size() && ((rows[pivot] >> bit) & 1) == 0) ++pivot;
        if (pivot == rows.size()) continue;
        std::swap(rows[pivot], rows[static_cast<std::size_t>(r)]);
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (i != static_cast<std::size_t>(r) && ((rows[i] >> bit) & 1) != 0)
                rows[i] ^= rows[static_cast<std::size_t>(r)];
        ++r;
    }
    return r;
}

bool sameSpan(const std::vector<std::uint64_t>& a, std::vector<std::uint64_t> b) {
    const int rankA = rank(a), rankB = rank(b);
    b.insert(b.end(), a.begin(), a.end());
    return rankA == rankB && rank(b) == rankA;
}

std::vector<std::uint64_t> addressesBelow(std::uint64_t limit) {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> addresses = {0, 1, 127, 128, limit - 1};
    for (std::uint64_t bit = 1; bit < limit; bit *= 2) addresses.push_back(bit);
    while (addresses.size() < 20000) addresses.push_back(random() % limit);
    return addresses;
}

class Pascal : public testing::TestWithParam<const char*> {};

TEST_P(Pascal, LocateIsThePublishedHash) {
    const AddressMap map = findProfile(GetParam()).map;
    for (std::uint64_t a : addressesBelow(8_GiB)) {
        const AddressMap::Location l = map.locate(a);
        ASSERT_EQ(l.slice, evaluate(kPascalModule, a)) << a;
        ASSERT_EQ(l.channel, evaluate(kPascalModule, a)) << a;
        ASSERT_EQ(l.bank, evaluate(kPascalBank, a)) << a;
        ASSERT_EQ(l.set, evaluate(kPascalSet, a)) << a;
        ASSERT_EQ(l.row, a / (256 * 1024)) << a;
    }
}

TEST_P(Pascal, ColorsByPageSize) {
    const AddressMap map = findProfile(GetParam()).map;
    EXPECT_EQ(map.colors(1_KiB), 8u);
    EXPECT_EQ(map.colors(2_KiB), 4u);
    EXPECT_EQ(map.colors(4_KiB), 2u);
    for (Bytes page = 8_KiB; page <= 2_MiB; page *= 2) EXPECT_EQ(map.colors(page), 1u) << page;
}

INSTANTIATE_TEST_SUITE_P(Profiles, Pascal, testing::Values("gtx1070", "gtx1080"),
                         [](const auto& i) { return i.param; });

TEST(Volta, ModulesAreThePublishedHash) {
    const AddressMap map = findProfile("v100").map;
    for (std::uint64_t a : addressesBelow(16_GiB)) ASSERT_EQ(map.locate(a).slice, evaluate(kVoltaModule, a)) << a;
}

TEST(Volta, BanksAndSetsSpanThePublishedOnes) {
    const AddressMap::Roles roles = findProfile("v100").map.roles();
    EXPECT_TRUE(sameSpan(masksOf({roles.slice, roles.bank}), masksOf({kVoltaBank})));
    EXPECT_TRUE(sameSpan(masksOf({roles.slice, roles.set}), masksOf({kVoltaSet})));
}

TEST(Volta, ColorsByPageSize) {
    const AddressMap map = findProfile("v100").map;
    const std::vector<std::pair<Bytes, unsigned>> expected = {{1_KiB, 32}, {2_KiB, 16}, {4_KiB, 8},  {8_KiB, 4},
                                                              {16_KiB, 2}, {32_KiB, 2}, {64_KiB, 1}, {2_MiB, 1}};
    for (const auto& [page, colors] : expected) EXPECT_EQ(map.colors(page), colors) << page;
}

TEST(PublishedHashes, SpansMeetInTheModules) {
    // dim(A) + dim(B) - dim(A + B) = dim of the intersection.
    const auto meet = [](const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
        std::vector<std::uint64_t> both = a;
        both.insert(both.end(), b.begin(), b.end());
        return rank(a) + rank(b) - rank(both);
    };
    const auto pascal = findProfile("gtx1080").map.roles();
    EXPECT_EQ(meet(masksOf({pascal.slice, pascal.bank}), masksOf({pascal.slice, pascal.set})), 3);
    EXPECT_TRUE(sameSpan(masksOf({pascal.slice, pascal.bank}), masksOf({kPascalModule, kPascalBank})));
    EXPECT_TRUE(sameSpan(masksOf({pascal.slice, pascal.set}), masksOf({kPascalModule, kPascalSet})));
    const auto volta = findProfile("v100").map.roles();
    EXPECT_EQ(meet(masksOf({volta.slice, volta.bank}), masksOf({volta.slice, volta.set})), 5);
}

class EveryProfile : public testing::TestWithParam<std::string> {};

/// Counts, rather than reasons about, what a row of a bank holds.
TEST_P(EveryProfile, RowsHaveTheirSize) {
    const DeviceProfile p = findProfile(GetParam());
    // As many whole rounds over all banks as fit about 32 MB, somewhere in the middle of memory.
    const std::uint64_t round =
        std::uint64_t{p.map.channels()} * p.map.banksPerChannel() * static_cast<std::uint64_t>(p.dram.rowBytes);
    const std::uint64_t first = static_cast<std::uint64_t>(p.dram.bytes) / 2 / round * round, chunk = 128;
    std::map<std::tuple<unsigned, unsigned, std::uint64_t>, std::uint64_t> bytes;
    for (std::uint64_t a = first; a < first + round * std::max<std::uint64_t>(1, 32_MiB / round); a += chunk) {
        const auto l = p.map.locate(a);
        bytes[{l.channel, l.bank, l.row}] += chunk;
    }
    std::uint64_t largest = 0;
    for (const auto& [place, n] : bytes) largest = std::max(largest, n);
    EXPECT_EQ(largest, static_cast<std::uint64_t>(p.dram.rowBytes));
}

TEST_P(EveryProfile, LocateAgreesWithTheDigits) {
    const DeviceProfile p = findProfile(GetParam());
    const auto combine = [](const std::vector<Digit>& digits, std::uint64_t a) {
        std::uint64_t result = 0, weight = 1;
        for (const Digit& d : digits) {
            result += d.evaluate(a) * weight;
            weight *= d.radix();
        }
        return result;
    };
    for (std::uint64_t a : addressesBelow(static_cast<std::uint64_t>(p.dram.bytes))) {
        const auto l = p.map.locate(a);
        ASSERT_EQ(l.slice, combine(p.map.roles().slice, a)) << a;
        ASSERT_EQ(l.set, combine(p.map.roles().set, a)) << a;
        ASSERT_EQ(l.bank, combine(p.map.roles().bank, a)) << a;
        ASSERT_EQ(l.row, combine(p.map.roles().row, a)) << a;
        ASSERT_EQ(l.channel, l.slice / p.map.roles().slicesPerChannel) << a;
        ASSERT_LT(l.slice, p.map.slices());
        ASSERT_LT(l.set, p.map.setsPerSlice());
        ASSERT_LT(l.bank, p.map.banksPerChannel());
    }
}

TEST_P(EveryProfile, LinesSpreadOverSlicesAndSets) {
    const DeviceProfile p = findProfile(GetParam());
    std::map<std::pair<unsigned, unsigned>, int> lines;
    const std::uint64_t bytes = static_cast<std::uint64_t>(p.l2.bytes) * 16;
    for (std::uint64_t a = 0; a < bytes; a += 128) {
        const auto l = p.map.locate(a);
        ++lines[{l.slice, l.set}];
    }
    ASSERT_EQ(lines.size(), std::size_t{p.map.slices()} * p.map.setsPerSlice());
    // 16 times the ways on average; a set far from it would be a hole in the cache.
    for (const auto& [place, n] : lines) {
        ASSERT_GT(n, 16 * p.l2.ways * 6 / 10);
        ASSERT_LT(n, 16 * p.l2.ways * 14 / 10);
    }
}

TEST_P(EveryProfile, PagesOfDifferentColorsShareNoSlice) {
    const DeviceProfile p = findProfile(GetParam());
    std::mt19937_64 random(3);
    for (Bytes page : {256_KiB / 1024, 1_KiB, 4_KiB, 16_KiB, 64_KiB}) {
        std::vector<std::set<unsigned>> slices(p.map.colors(page));
        for (int i = 0; i < 600; ++i) {
            const std::uint64_t base = random() % static_cast<std::uint64_t>(p.dram.bytes) / page * page;
            const unsigned color = p.map.color(base + random() % page, page);
            ASSERT_LT(color, slices.size());
            for (std::uint64_t a = base; a < base + page; a += 128) slices[color].insert(p.map.locate(a).slice);
        }
        std::size_t together = 0;
        std::set<unsigned> all;
        for (const auto& of : slices) {
            ASSERT_FALSE(of.empty()) << "a color that no page has, page size " << page;
            together += of.size();
            all.insert(of.begin(), of.end());
        }
        EXPECT_EQ(together, all.size()) << page;
    }
}

TEST_P(EveryProfile, MapSurvivesJson) {
    const AddressMap map = findProfile(GetParam()).map;
    EXPECT_EQ(AddressMap::fromJson(json::parse(map.toJson().dump())).roles(), map.roles());
}

INSTANTIATE_TEST_SUITE_P(Profiles, EveryProfile, testing::ValuesIn(profileNames()),
                         [](const auto& i) { return i.param; });

TEST(AddressMap, DigitsCombineInMixedRadix) {
    const AddressMap map = AddressMap::fromJson(json::parse(
        R"({"slice":[{"bits":[8,20],"mod":5},{"xor":[[7,9]]},{"bits":[8,20],"div":5,"mod":3}],
            "set":[{"bits":[0,3],"div":3,"table":[5,0,4,1,3,2]}],"bank":[],"row":[{"bits":[10,63]}],
            "slicesPerChannel":3})"));
    EXPECT_EQ(map.slices(), 30u);
    EXPECT_EQ(map.channels(), 10u);
    EXPECT_EQ(map.banksPerChannel(), 1u);
    EXPECT_EQ(map.setsPerSlice(), 6u);
    const std::uint64_t table[] = {5, 0, 4, 1, 3, 2};
    for (std::uint64_t a = 0; a < 1 << 16; ++a) {
        const std::uint64_t n = (a >> 8) % 8192, x = ((a >> 7) ^ (a >> 9)) & 1;
        const auto l = map.locate(a);
        ASSERT_EQ(l.slice, n % 5 + 5 * x + 10 * (n / 5 % 3));
        ASSERT_EQ(l.channel, l.slice / 3);
        ASSERT_EQ(l.set, table[a % 16 / 3]);
        ASSERT_EQ(l.bank, 0u);
        ASSERT_EQ(l.row, a >> 10);
    }
    EXPECT_EQ(map.locate(~std::uint64_t{0}).row, ~std::uint64_t{0} >> 10);
}

TEST(AddressMap, LargeNumbersAreDividedExactly) {
    // 60-bit numbers are beyond the reciprocal's reach.
    const AddressMap map = AddressMap::fromJson(
        json::parse(R"({"slice":[{"bits":[0,59],"mod":1000003}],"set":[{"bits":[0,31],"mod":4294967291}],"bank":[],
                        "row":[{"bits":[0,59],"div":1000003}]})"));
    std::mt19937_64 random(5);
    for (int i = 0; i < 100000; ++i) {
        const std::uint64_t a = random() >> 4;
        ASSERT_EQ(map.locate(a).slice, a % 1000003);
        ASSERT_EQ(map.locate(a).row, a / 1000003);
        ASSERT_EQ(map.locate(a).set, (a & 0xffffffff) % 4294967291);
    }
    EXPECT_EQ(map.locate(0xffffffff).set, 4u);
}

TEST(AddressMap, MoreParitiesThanTheTablesHoldStillWork) {
    AddressMap::Roles roles;
    for (int i = 0; i < 12; ++i) {
        Digit d;
        for (int bit = 0; bit < 60; ++bit)
            d.bits.push_back((std::uint64_t{3} << bit) | (std::uint64_t{1} << (63 - i % 3)));
        d.bits[0] ^= std::uint64_t{1} << (20 + i);
        d.modulus = 2 + static_cast<std::uint64_t>(i % 2);
        roles.slice.push_back(d);
    }
    const AddressMap map(roles);
    std::mt19937_64 random(7);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t a = random();
        std::uint64_t expected = 0, weight = 1;
        for (const Digit& d : roles.slice) {
            expected += d.evaluate(a) * weight;
            weight *= d.modulus;
        }
        ASSERT_EQ(map.locate(a).slice, expected);
    }
}

TEST(AddressMap, ModulusLeavesOneColorUnlessThePageIsInsideTheChunk) {
    const AddressMap map = AddressMap::fromJson(
        json::parse(R"({"slice":[{"bits":[8,39],"mod":12}],"set":[],"bank":[],"row":[{"bits":[20,39]}]})"));
    EXPECT_EQ(map.colors(256), 12u);
    EXPECT_EQ(map.colors(512), 1u);
    EXPECT_EQ(map.colors(4096), 1u);
    EXPECT_EQ(map.color(25 * 256 + 17, 256), 1u);  // chunk 25
}

TEST(AddressMap, AParityBesideAModulusStillColors) {
    const AddressMap map = AddressMap::fromJson(json::parse(
        R"({"slice":[{"bits":[8,39],"mod":47},{"xor":[[12,15,17]]}],"set":[],"bank":[],"row":[{"bits":[20,39]}]})"));
    EXPECT_EQ(map.colors(4096), 2u);
    EXPECT_EQ(map.colors(8192), 1u);
    EXPECT_NE(map.color(0, 4096), map.color(4096, 4096));
}

TEST(AddressMap, DependentDigitsDoNotInventColors) {
    // Both parities are the same: two of the four slices are never used, and there are two colors.
    const AddressMap map = AddressMap::fromJson(
        json::parse(R"({"slice":[{"xor":[[12,13]]},{"xor":[[12,13]]}],"set":[],"bank":[],"row":[{"bits":[20,39]}]})"));
    EXPECT_EQ(map.colors(4096), 2u);
    // Four numbers, but the table makes two slices of them.
    const AddressMap table = AddressMap::fromJson(
        json::parse(R"({"slice":[{"bits":[12,13],"table":[0,0,1,1]}],"set":[],"bank":[],"row":[{"bits":[20,39]}]})"));
    EXPECT_EQ(table.colors(4096), 2u);
}

TEST(AddressMap, PageSizeMustBeAPowerOfTwo) {
    EXPECT_THROW(findProfile("gtx1080").map.colors(3000), Error);
    EXPECT_THROW(findProfile("gtx1080").map.colors(0), Error);
}

TEST(AddressMap, RefusesWhatCannotBe) {
    const std::vector<const char*> broken = {
        R"([])",
        R"({})",
        R"({"slice":[],"set":[],"bank":[]})",
        R"({"slice":[],"set":[],"bank":[],"row":[],"column":[]})",
        R"({"slice":{},"set":[],"bank":[],"row":[]})",
        R"({"slice":[{}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[7],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[[]]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[[64]]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[[-1]]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[[1.5]]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[[9,9]]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"xor":[[9]],"bits":[1,2]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[9,8]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[9]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[0,63]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[0,39]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[8,9],"mod":0}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[8,9],"div":0}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[8,9],"times":2}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[8,9],"table":[0,1,2]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[8,9],"table":[]}],"set":[],"bank":[],"row":[]})",
        R"({"slice":[{"bits":[8,9]}],"set":[],"bank":[],"row":[],"slicesPerChannel":3})",
        R"({"slice":[{"bits":[8,9]}],"set":[],"bank":[],"row":[],"slicesPerChannel":0})",
        R"({"slice":[],"set":[],"bank":[],"row":[{"bits":[0,40]},{"bits":[0,40]}]})",
    };
    for (const char* text : broken) EXPECT_THROW(AddressMap::fromJson(json::parse(text)), Error) << text;
}

}  // namespace
}  // namespace bulkhead::arch
