#include "gpgpusim/memory_map.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/error.h"
#include "base/random.h"

namespace bulkhead::gpgpusim {
namespace {

// The letters of GPGPU-Sim's GTX 480, with the channel taken out: 12 columns bits around bank bits 8 and 13 to 15.
const char* const kFermi = "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS";

Setting mapping(const std::string& value) {
    return {"-gpgpu_mem_addr_mapping", {value}, "a.config", 1};
}

arch::AddressMap made(const MemoryShape& shape, const std::string& text = kFermi) {
    const Setting s = mapping(text);
    return memoryMap(s, addressBits(s), shape).map;
}

std::uint64_t field(std::uint64_t value, unsigned low, unsigned count) {
    return value >> low & ((1ull << count) - 1);
}

/// Addresses of 1.5 GB, as the GTX 480 has.
template <class Check>
void forSomeAddresses(Check check) {
    std::uint64_t state = 1;
    for (int i = 0; i < 2000; ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        check((state >> 20) % (3ull << 29));
    }
}

TEST(MemoryMap, SixChannelsAreADivision) {
    MemoryShape shape;
    shape.channels = 6;
    shape.slicesPerChannel = 2;
    shape.sets = 64;
    const arch::AddressMap map = made(shape);
    EXPECT_EQ(map.slices(), 12u);
    EXPECT_EQ(map.channels(), 6u);
    EXPECT_EQ(map.banksPerChannel(), 16u);
    forSomeAddresses([&](std::uint64_t address) {
        const std::uint64_t chunk = address >> 8;
        const std::uint64_t local = (chunk / 6) << 8 | (address & 255);  // the address within the channel
        const std::uint64_t bank = field(local, 8, 1) | field(local, 13, 3) << 1;
        const auto at = map.locate(address);
        EXPECT_EQ(at.channel, chunk % 6);
        EXPECT_EQ(at.bank, bank);
        EXPECT_EQ(at.slice, chunk % 6 * 2 + bank % 2);
        EXPECT_EQ(at.row, local >> 16);
        const std::uint64_t inSlice = field(local, 0, 8) | (local >> 9) << 8;  // without the slice's bit
        EXPECT_EQ(at.set, field(inSlice, 7, 6));
    });
}

TEST(MemoryMap, EightChannelsAreThreeBits) {
    MemoryShape shape;
    shape.channels = 8;
    shape.slicesPerChannel = 2;
    shape.sets = 64;
    const arch::AddressMap map = made(shape);
    forSomeAddresses([&](std::uint64_t address) {
        const std::uint64_t local = (address >> 11) << 8 | (address & 255);
        const std::uint64_t bank = field(local, 8, 1) | field(local, 13, 3) << 1;
        const auto at = map.locate(address);
        EXPECT_EQ(at.channel, field(address, 8, 3));
        EXPECT_EQ(at.bank, bank);
        EXPECT_EQ(at.slice, field(address, 8, 3) * 2 + bank % 2);
        EXPECT_EQ(at.row, local >> 16);
    });
}

TEST(MemoryMap, LettersCanNameTheChannel) {
    MemoryShape shape;
    shape.channels = 4;
    const arch::AddressMap map = made(shape, "00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBDDCCC.CCCCSSSS");
    forSomeAddresses([&](std::uint64_t address) {
        const auto at = map.locate(address);
        EXPECT_EQ(at.channel, field(address, 11, 2));
        EXPECT_EQ(at.bank, field(address, 13, 3));
        EXPECT_EQ(at.row, address >> 16);
    });
}

/// The remainder of a polynomial over GF(2), by long division.
std::uint64_t remainderOf(std::uint64_t dividend, std::uint64_t divisor) {
    const int degree = 63 - std::countl_zero(divisor);
    for (int i = 63; i >= degree; --i)
        if (dividend >> i & 1) dividend ^= divisor << (i - degree);
    return dividend;
}

TEST(MemoryMap, PartitionsAreHashedByAPolynomial) {
    MemoryShape shape;
    shape.channels = 32;
    shape.slicesPerChannel = 2;
    shape.partitionHash = 2;
    const arch::AddressMap map = made(shape);
    EXPECT_EQ(map.slices(), 64u);
    forSomeAddresses([&](std::uint64_t address) {
        // Slice (bit 13, the lowest of the bank) and channel, then 19 bits from 14 on, modulo x^6 + x + 1.
        const std::uint64_t index = field(address, 13, 1) | field(address, 8, 5) << 1;
        EXPECT_EQ(map.locate(address).slice, remainderOf(field(address, 14, 19) << 6 | index, 0b1000011));
    });
}

TEST(MemoryMap, SetsAreHashedByAPolynomial) {
    MemoryShape shape;
    shape.channels = 8;
    shape.sets = 32;
    shape.setIndex = 'P';
    const arch::AddressMap map = made(shape);
    forSomeAddresses([&](std::uint64_t address) {
        const std::uint64_t local = (address >> 11) << 8 | (address & 255);
        EXPECT_EQ(map.locate(address).set, remainderOf(field(local, 7, 20), 0b100101));
    });
}

TEST(MemoryMap, AHashedDivisionSpreadsPowersOfTwo) {
    MemoryShape shape;
    shape.channels = 12;
    shape.slicesPerChannel = 2;
    shape.partitionHash = 2;
    const arch::AddressMap map = made(shape);
    for (unsigned stride = 8; stride < 16; ++stride) {
        std::vector<int> uses(24);
        for (std::uint64_t i = 0; i < 2400; ++i) ++uses[map.locate(i << stride).slice];
        for (const int n : uses) EXPECT_NEAR(n, 100, 60) << stride;
    }
}

TEST(MemoryMap, RefusesWhatIsNone) {
    for (const char* bad :
         {"", "dramid@8", "dramid@99;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS",
          "dramid@8;RRRR", "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSQ",
          "dramid@8;RR000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS",
          "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.BBBDDDDB.CCSSSSSS"})
        EXPECT_THROW(addressBits(mapping(bad)), Error) << bad;
    MemoryShape shape;
    shape.slicesPerChannel = 3;
    EXPECT_THROW(made(shape), Error);
}

}  // namespace
}  // namespace bulkhead::gpgpusim
