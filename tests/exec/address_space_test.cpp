#include "sim/mem/address_space.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace bulkhead::sim {
namespace {

struct Ranges {
    std::uint8_t storage[4][256] = {};
    AddressSpace space;

    void map(VirtualAddress base, Bytes bytes, int index) {
        Mapping m;
        m.base = base;
        m.bytes = bytes;
        m.host = storage[index];
        space.map(m);
    }
};

TEST(AddressSpace, FindsEachMappingWhateverWasLookedUpBefore) {
    Ranges r;
    r.map(0x3000, 16, 0);
    r.map(0x1000, 256, 1);
    r.map(0x2000, 1, 2);
    EXPECT_EQ(r.space.resolve(0x3004, 4), r.storage[0] + 4);
    EXPECT_EQ(r.space.resolve(0x1000, 256), r.storage[1]);
    EXPECT_EQ(r.space.resolve(0x2000, 1), r.storage[2]);
    EXPECT_EQ(r.space.resolve(0x3000, 16), r.storage[0]);
}

TEST(AddressSpace, NothingOutsideOrAcrossTheEnd) {
    Ranges r;
    r.map(0x1000, 100, 0);
    r.map(0x2000, 100, 1);
    EXPECT_EQ(r.space.resolve(0xFFF, 1), nullptr);
    EXPECT_EQ(r.space.resolve(0x1064, 1), nullptr);
    EXPECT_EQ(r.space.resolve(0x1060, 8), nullptr);
    EXPECT_EQ(r.space.resolve(0x3000, 1), nullptr);
    EXPECT_EQ(r.space.resolve(~VirtualAddress{0}, 4), nullptr);
    EXPECT_EQ(AddressSpace{}.find(0), nullptr);
}

TEST(AddressSpace, RefusesOverlaps) {
    Ranges r;
    r.map(0x1000, 100, 0);
    EXPECT_THROW(r.map(0x1063, 1, 1), Error);
    EXPECT_THROW(r.map(0xFFF, 2, 1), Error);
    EXPECT_THROW(r.map(0x1010, 4, 1), Error);
    EXPECT_THROW(r.map(0x800, 0x2000, 1), Error);
    EXPECT_THROW(r.map(0x5000, 0, 1), Error);
    EXPECT_THROW(r.map(~VirtualAddress{0} - 10, 100, 1), Error);
    EXPECT_NO_THROW(r.map(0x1064, 4, 1));
    EXPECT_NO_THROW(r.map(0xFFF, 1, 2));
}

TEST(AddressSpace, UnmapsByBase) {
    Ranges r;
    r.map(0x1000, 100, 0);
    r.map(0x2000, 100, 1);
    EXPECT_NE(r.space.find(0x2000), nullptr);
    EXPECT_THROW(r.space.unmap(0x1004), Error);
    EXPECT_THROW(r.space.unmap(0x4000), Error);
    r.space.unmap(0x2000);
    EXPECT_EQ(r.space.find(0x2000), nullptr);
    EXPECT_NE(r.space.find(0x1000), nullptr);
    r.space.unmap(0x1000);
    EXPECT_EQ(r.space.find(0x1000), nullptr);
}

TEST(AddressSpace, AnyHintGivesTheSameAnswer) {
    Ranges r;
    r.map(0x1000, 100, 0);
    r.map(0x2000, 100, 1);
    for (const std::uint32_t stale : {0u, 1u, 2u, 77u}) {
        std::uint32_t hint = stale;
        EXPECT_EQ(r.space.find(0x2004, hint)->base, 0x2000u);
        EXPECT_EQ(hint, 1u);
        hint = stale;
        EXPECT_EQ(r.space.find(0x1800, hint), nullptr);
    }
}

TEST(AddressSpace, NearestForMessages) {
    Ranges r;
    EXPECT_EQ(r.space.nearest(5), nullptr);
    r.map(0x1000, 0x100, 0);
    r.map(0x2000, 0x100, 1);
    EXPECT_EQ(r.space.nearest(0)->base, 0x1000u);
    EXPECT_EQ(r.space.nearest(0x1100)->base, 0x1000u);
    EXPECT_EQ(r.space.nearest(0x1FFF)->base, 0x2000u);
    EXPECT_EQ(r.space.nearest(0x9000)->base, 0x2000u);
}

TEST(AddressSpace, PhysicalAddressesFollowThePages) {
    Ranges r;
    const arch::PhysicalAddress frames[] = {0x70000, 0x10000};
    Mapping m;
    m.base = 0x100000;
    m.bytes = 0x1800;
    m.host = r.storage[0];
    m.pageShift = 12;
    m.frames = frames;
    r.space.map(m);
    EXPECT_EQ(r.space.physical(0x100123), 0x70123u);
    EXPECT_EQ(r.space.physical(0x101004), 0x10004u);
}

}  // namespace
}  // namespace bulkhead::sim
